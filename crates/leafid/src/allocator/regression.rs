//! Regression: handles a store that went back in time: it held a max id below one that it had
//! reported before, as after a restored backup or the promotion of a lagging replica.
//!
//! Others may have come further than this process: their segments lie at or above its floor. So each
//! request carries a margin, and a store that holds less than the floor skips it in the same
//! statement: no process can reserve in between. The resulting segment is not issued. Only when the
//! next one shows that the store kept it does the tag continue; otherwise the store does not keep
//! what it acknowledges, and is retried later like one that fails.
//!
//! What memory holds stays valid from `found` on: the store has reserved nothing beyond that for
//! anyone since it went back. What lies below is dropped.

use super::refill::{Plan, RefillOutcome};
use super::{Allocator, Shared};
use crate::event::Event;
use crate::segment::Segment;
use crate::store::{Reserve, Reserved, StoreError};

impl Allocator {
    /// Handles a segment that shows that the store went back below `floor`.
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

    /// Drops the segment, and what memory holds below what the store held, and reports it. Returns
    /// whether this is the first time in a row.
    fn discard(&self, shared: &Shared, reserved: Reserved, floor: u64) -> bool {
        let segment = reserved.segment;
        let mut state = self.lock();
        state.on_regressed(shared, &reserved);
        self.keep_if_retired(shared, &state);
        state.usage.skipped += self.buffer.skip_to(reserved.previous);
        let is_first = state.bounds.regressions_in_row == 1;
        drop(state);
        shared.emit(&Event::Regressed {
            tag: &self.tag,
            floor,
            found: reserved.previous,
            discarded: segment,
        });
        is_first
    }

    /// Whether the store ever reported more than this.
    pub(crate) fn has_seen_beyond(&self, shared: &Shared, max_id: u64) -> bool {
        self.floor(shared) > Some(max_id)
    }

    /// The highest max id that the store ever reported.
    pub(crate) fn floor(&self, shared: &Shared) -> Option<u64> {
        let mut state = self.lock();
        self.recall(shared, &mut state);
        state.bounds.floor
    }

    /// Counts a segment that was reserved past memory, and that no caller gets, as skipped.
    pub(crate) fn skip_whole(&self, segment: Segment) {
        self.lock().usage.discarded(segment.len());
    }

    /// Records a tag that was raised past this allocator.
    pub(crate) fn raise_floor(&self, shared: &Shared, end: u64) {
        let mut state = self.lock();
        state.bounds.raise(end);
        self.keep_if_retired(shared, &state);
    }

    /// A request for a segment past memory, with the floor and margin of this process.
    pub(crate) fn with_current_state(&self, shared: &Shared, reserve: &Reserve) -> Reserve {
        let mut state = self.lock();
        self.recall(shared, &mut state);
        Reserve {
            floor: state.bounds.floor.max(reserve.floor),
            margin: state.margin(shared),
            is_longest: state.bounds.is_longest(reserve.count),
            ..reserve.clone()
        }
    }

    /// Records a segment that was reserved past memory; `None` if it showed that the store went
    /// back in time, so that it must not be used.
    ///
    /// # Errors
    ///
    /// The error if the store does not keep what it acknowledges.
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
        state.on_reserved(shared, None, &reserved);
        self.keep_if_retired(shared, &state);
        drop(state);
        Ok(Some(reserved.segment))
    }
}

/// The floor that the store was below, if it went back in time.
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
