//! What is done when the store of a tag went back in time: it held a max id below one that it had
//! told of, as after a restored backup or the promotion of a replica that lagged.
//!
//! Others may have come further than this process: their segments lie from its floor on. So each
//! wish carries a margin, and a store that holds less than the floor leaves it out, in the same
//! statement: nobody can draw in between. The segment that comes of it is not issued from. Only
//! when the next one shows that the store kept it, the tag goes on; otherwise the store does not
//! keep what it acknowledges, and is left alone for a while like one that fails.
//!
//! What memory holds stays good from `found` on: the store has given nothing beyond that to
//! anybody since it went back. What lies below is dropped.

use super::refill::{Plan, RefillOutcome};
use super::state::State;
use super::{Allocator, Shared};
use crate::event::Event;
use crate::segment::Segment;
use crate::step::StepPolicy;
use crate::store::{Reserve, Reserved, StoreError, TagRecord};

/// So many of the longest segments others may have drawn since this process last did: eight servers
/// two each, as much as memory holds.
const SEGMENTS_AHEAD: u64 = 16;
/// Others may have drawn so many times what they did between two segments of this process.
const OTHERS_AHEAD: u64 = 2;

/// What is known of how long segments of a tag are, and how fast others draw them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths {
    /// The longest that any process ever said it had reserved; 0 if the store keeps no such thing.
    kept: u64,
    /// The longest that the row holds now, as far as is known here.
    written: u64,
    /// The longest that was reserved here.
    own: u64,
    /// How many numbers others drew between two segments of ours. A large one is forgotten by and
    /// by.
    others: u64,
}

impl Lengths {
    /// Takes note of a row.
    pub(super) fn read(&mut self, record: &TagRecord) {
        // A row that was put back, or to which the column was added, may hold less than before.
        self.written = record.segment_max.unwrap_or(0);
        self.kept = self.kept.max(self.written);
    }

    /// Takes note of a reservation, when `floor` was known before it.
    fn reserved(&mut self, floor: Option<u64>, reserved: &Reserved) {
        self.own = self.own.max(reserved.segment.len());
        // A longer one was written with it.
        self.written = self.written.max(reserved.segment.len());
        if let Some(floor) = floor {
            let drawn = reserved.previous.saturating_sub(floor);
            self.others = drawn.max(self.others / 2);
        }
    }

    /// Whether nothing was ever reserved here.
    pub(super) fn is_unused(&self) -> bool {
        self.own == 0
    }

    /// Whether a segment of that length has to be written down.
    pub(super) fn is_longest(&self, count: u64) -> bool {
        count > self.written
    }

    /// How far above what is known here others may have come. Not less than what the policy here
    /// allows: a server of an older version writes down no length.
    fn margin(&self, policy: StepPolicy, own_step: u64) -> u64 {
        let longest = self.kept.max(self.own).max(step_max(policy, own_step));
        let longest = longest.saturating_mul(SEGMENTS_AHEAD);
        longest.max(self.others.saturating_mul(OTHERS_AHEAD))
    }
}

/// The longest segment that a policy allows, demands apart.
fn step_max(policy: StepPolicy, own_step: u64) -> u64 {
    match policy {
        StepPolicy::Fixed => own_step,
        StepPolicy::Leaf { step_max } | StepPolicy::Cover { step_max, .. } => {
            step_max.max(own_step)
        }
    }
}

impl State {
    /// Takes note of a reservation, when `floor` was known before it.
    pub(super) fn note_reserved(
        &mut self,
        shared: &Shared,
        floor: Option<u64>,
        reserved: &Reserved,
    ) {
        if self.lengths.is_unused() {
            shared.note_used();
        }
        self.lengths.reserved(floor, reserved);
    }

    /// How many ids the store leaves out if it holds less than the floor.
    pub(super) fn margin(&self, shared: &Shared) -> u64 {
        let worked_out = || {
            let own_step = self.settings.map_or(0, |settings| u64::from(settings.step));
            let policy = self.policy(shared.options.policy);
            self.lengths.margin(policy, own_step)
        };
        shared.options.regression_margin.unwrap_or_else(worked_out)
    }
}

impl Allocator {
    /// Takes note of a segment that showed that the store went back below `floor`.
    pub(super) fn on_regression(
        &self,
        shared: &Shared,
        plan: &Plan,
        reserved: Reserved,
        floor: u64,
    ) -> RefillOutcome {
        if self.discard(shared, reserved, floor) {
            return RefillOutcome::Again;
        }
        let error = not_durable(&plan.reserve, reserved, floor);
        self.on_failure(shared, error)
    }

    /// Drops the segment, and what memory holds below what the store held, and tells of it. Whether
    /// this is the first time in a row.
    fn discard(&self, shared: &Shared, reserved: Reserved, floor: u64) -> bool {
        let segment = reserved.segment;
        let mut state = self.lock();
        state.regressions_in_row = state.regressions_in_row.saturating_add(1);
        state.counts.regressions += 1;
        state.is_suspect = true;
        state.floor = state.floor.max(Some(segment.end()));
        state.note_reserved(shared, None, &reserved);
        state.put += segment.len();
        state.skipped += segment.len() + self.buffer.skip_to(reserved.previous);
        let is_first = state.regressions_in_row == 1;
        drop(state);
        shared.emit(&Event::Regressed {
            tag: &self.tag,
            floor,
            found: reserved.previous,
            discarded: segment,
        });
        is_first
    }

    /// Whether the store once told of more than this.
    pub(crate) fn has_seen_beyond(&self, max_id: u64) -> bool {
        self.lock().floor > Some(max_id)
    }

    /// Counts a segment that was reserved past memory, and is for nobody, as skipped.
    pub(crate) fn skip_whole(&self, segment: Segment) {
        let mut state = self.lock();
        state.put += segment.len();
        state.skipped += segment.len();
    }

    /// Takes note of a tag that was raised past this allocator.
    pub(crate) fn raise_floor(&self, end: u64) {
        let mut state = self.lock();
        state.floor = state.floor.max(Some(end));
    }

    /// A wish for a segment past memory, with all that is known here.
    pub(crate) fn with_current_state(&self, shared: &Shared, reserve: &Reserve) -> Reserve {
        let state = self.lock();
        Reserve {
            floor: state.floor.max(reserve.floor),
            margin: state.margin(shared),
            is_longest: state.lengths.is_longest(reserve.count),
            ..reserve.clone()
        }
    }

    /// Takes note of a segment that was reserved past memory; `None` if it showed that the store
    /// went back in time, so that it must not be used.
    ///
    /// # Errors
    ///
    /// When the store does not keep what it acknowledges.
    pub(crate) fn accept(
        &self,
        shared: &Shared,
        reserve: &Reserve,
        reserved: Reserved,
    ) -> Result<Option<Segment>, StoreError> {
        if let Some(floor) = went_below(reserve.floor, &reserved) {
            return match self.discard(shared, reserved, floor) {
                true => Ok(None),
                false => Err(not_durable(reserve, reserved, floor)),
            };
        }
        let mut state = self.lock();
        state.regressions_in_row = 0;
        state.is_suspect = false;
        state.floor = state.floor.max(Some(reserved.segment.end()));
        state.note_reserved(shared, None, &reserved);
        Ok(Some(reserved.segment))
    }
}

/// The floor that the store held less than, if it went back in time.
pub(super) fn went_below(floor: Option<u64>, reserved: &Reserved) -> Option<u64> {
    floor.filter(|floor| reserved.previous < *floor)
}

fn not_durable(reserve: &Reserve, reserved: Reserved, floor: u64) -> StoreError {
    StoreError::unavailable(
        format!(
            "the store does not keep what it acknowledges of tag {:?}: it held {} after {floor}",
            reserve.tag.as_str(),
            reserved.previous
        ),
        format!("asked for {reserve:?}, got {reserved:?}"),
    )
}
