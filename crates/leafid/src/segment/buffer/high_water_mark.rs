//! `HighWaterMark`: the highest id that a buffer issued.
//!
//! It is computed from the cursor and the slots, so that takers write nothing. Only what the slots
//! no longer show is stored here. Invariant: one writer at a time, the writer of the slots.

use super::Segment;
use crate::sync::{AtomicU64, Ordering};

pub(super) struct HighWaterMark {
    /// The highest issued id that the slots no longer show; 0 for none.
    last: AtomicU64,
    /// Ids of the slots below this were dropped, not issued.
    dropped_to: AtomicU64,
}

impl HighWaterMark {
    pub(super) fn nothing() -> Self {
        Self {
            last: AtomicU64::new(0),
            dropped_to: AtomicU64::new(0),
        }
    }

    /// The highest issued id; 0 for none. `segments` are the slots as they were just read.
    #[inline]
    pub(super) fn last(&self, segments: [Segment; 2], cursor: u64) -> u64 {
        let of_slots = segments.map(|owned| self.last_of(owned, cursor));
        // Read after the slots: what a slot showed was written here before the slot was reused, and
        // a reader of the slot's new bounds sees it.
        let given = self.last.load(Ordering::Relaxed);
        of_slots.into_iter().fold(given, u64::max)
    }

    /// The highest id that was issued from a segment; 0 for none.
    #[inline]
    pub(super) fn last_of(&self, owned: Segment, cursor: u64) -> u64 {
        let dropped_to = self.dropped_to.load(Ordering::Relaxed);
        let given_to = owned.end.min(cursor);
        if owned.start.max(dropped_to) < given_to {
            given_to - 1
        } else {
            0
        }
    }

    /// Stores an id that the slots will no longer show.
    #[inline]
    pub(super) fn remember(&self, last: u64) {
        // Not an addition: one writer at a time.
        if last > self.last.load(Ordering::Relaxed) {
            self.last.store(last, Ordering::Relaxed);
        }
    }

    /// Ids of the slots below `number` are dropped from now on.
    #[inline]
    pub(super) fn drop_below(&self, number: u64) {
        // Not an exchange: one writer at a time.
        if number > self.dropped_to.load(Ordering::Relaxed) {
            self.dropped_to.store(number, Ordering::Relaxed);
        }
    }
}
