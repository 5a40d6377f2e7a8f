//! `Bounds`: how far a tag has come in the store, as far as this process knows, and how far others
//! may have come: the floor and the margin above it, so that no id repeats. `regression.rs` says
//! what they are for.

use crate::allocator::floors::KeptFloor;
use crate::step::StepPolicy;
use crate::store::{Reserved, TagRecord};

/// How many of the longest segments others may have reserved since this process last did: eight
/// servers, two each, as many as memory holds.
const SEGMENTS_AHEAD: u64 = 16;
/// How many times what others reserved between two segments of this process they may have reserved.
const OTHERS_AHEAD: u64 = 2;

/// How far a tag has come in the store.
#[derive(Default)]
pub(in crate::allocator) struct Bounds {
    /// The highest max id that the store ever reported: the floor. Outlives the row. A store that
    /// holds less went back in time.
    pub(in crate::allocator) floor: Option<u64>,
    /// How often the store was found to have gone back.
    pub(in crate::allocator) regressions: u64,
    /// How often in a row.
    pub(in crate::allocator) regressions_in_row: u32,
    /// The store went back, or its row suggests it: a reservation is due, needed or not, so that
    /// the row is above all that was issued before another server starts from it. Until one
    /// succeeds.
    pub(in crate::allocator) is_suspect: bool,
    lengths: Lengths,
}

impl Bounds {
    /// The store reported this max id.
    pub(in crate::allocator) fn raise(&mut self, max_id: u64) {
        self.floor = self.floor.max(Some(max_id));
    }

    /// A row was read.
    pub(in crate::allocator) fn read(&mut self, record: &TagRecord) {
        self.raise(record.max_id);
        self.lengths.read(record);
    }

    /// A segment was reserved, by a store that holds no less than it reported. `floor` was known
    /// before it; `None` if the others' part in it is not to be counted.
    pub(in crate::allocator) fn reserved(&mut self, floor: Option<u64>, reserved: &Reserved) {
        self.regressions_in_row = 0;
        self.is_suspect = false;
        self.raise(reserved.segment.end());
        self.lengths.reserved(floor, reserved);
    }

    /// A segment was reserved, and showed that the store went back.
    pub(in crate::allocator) fn regressed(&mut self, reserved: &Reserved) {
        self.regressions += 1;
        self.regressions_in_row = self.regressions_in_row.saturating_add(1);
        self.is_suspect = true;
        self.raise(reserved.segment.end());
        self.lengths.reserved(None, reserved);
    }

    /// Whether no segment was ever reserved here.
    pub(in crate::allocator) fn is_unused(&self) -> bool {
        self.lengths.is_unused()
    }

    /// What an evicted tag's successor has to know.
    pub(in crate::allocator) fn kept_floor(&self) -> KeptFloor {
        KeptFloor {
            floor: self.floor.unwrap_or(1),
            longest: self.lengths.kept.max(self.lengths.own),
            others: self.lengths.others,
            is_plain: false,
        }
    }

    /// Takes over what is known of an evicted tag.
    pub(in crate::allocator) fn recall(&mut self, kept: KeptFloor) {
        self.raise(kept.floor);
        self.lengths.kept = self.lengths.kept.max(kept.longest);
        self.lengths.others = self.lengths.others.max(kept.others);
    }

    /// Whether a segment of that length has to be recorded in the store.
    pub(in crate::allocator) fn is_longest(&self, count: u64) -> bool {
        self.lengths.is_longest(count)
    }

    /// How far above the floor others may have come.
    pub(in crate::allocator) fn margin(&self, policy: StepPolicy, own_step: u64) -> u64 {
        self.lengths.margin(policy, own_step)
    }
}

/// How long segments of a tag are, and how fast others reserve them, as far as this process knows.
#[derive(Debug, Clone, Copy, Default)]
struct Lengths {
    /// The longest that any process recorded; 0 if the store keeps no such value.
    kept: u64,
    /// The longest that the row holds now, as far as is known here.
    written: u64,
    /// The longest that was reserved here.
    own: u64,
    /// How many numbers others reserved between two segments of ours. A large value fades over
    /// time.
    others: u64,
}

impl Lengths {
    /// Takes over a row.
    fn read(&mut self, record: &TagRecord) {
        // A row that was restored, or to which the column was added, may hold less than before.
        self.written = record.segment_max.unwrap_or(0);
        self.kept = self.kept.max(self.written);
    }

    /// Records a reservation, when `floor` was known before it.
    fn reserved(&mut self, floor: Option<u64>, reserved: &Reserved) {
        self.own = self.own.max(reserved.segment.len());
        // A longer one was recorded with it.
        self.written = self.written.max(reserved.segment.len());
        if let Some(floor) = floor {
            let drawn = reserved.previous.saturating_sub(floor);
            self.others = drawn.max(self.others / 2);
        }
    }

    /// Whether nothing was ever reserved here.
    fn is_unused(&self) -> bool {
        self.own == 0
    }

    /// Whether a segment of that length has to be recorded in the store.
    fn is_longest(&self, count: u64) -> bool {
        count > self.written
    }

    /// How far above the floor others may have come. Not less than what the policy here allows: a
    /// server of an older version records no length.
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
