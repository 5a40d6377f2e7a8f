//! `HighWaterMark`: the highest id that a buffer gave out, for those who ask later.
//!
//! It is worked out from the cursor and the slots, so that takers write nothing down. Only what the
//! slots no longer tell of is kept here. Invariant: one writer at a time, the one who writes the
//! slots.

use super::Segment;
use crate::sync::{AtomicU64, Ordering};

pub(super) struct HighWaterMark {
    /// The highest id given out that the slots no longer tell of; 0 for none.
    last: AtomicU64,
    /// What the slots hold below this was dropped, not given out.
    dropped_to: AtomicU64,
}

impl HighWaterMark {
    pub(super) fn nothing() -> Self {
        Self {
            last: AtomicU64::new(0),
            dropped_to: AtomicU64::new(0),
        }
    }

    /// The highest id given out; 0 for none. `segments` are the slots as they were just read.
    #[inline]
    pub(super) fn last(&self, segments: [Segment; 2], cursor: u64) -> u64 {
        let of_slots = segments.map(|owned| self.last_of(owned, cursor));
        // Read behind the slots: what a slot told of was written here before the slot was taken
        // over, and who sees the slot's new bounds sees it.
        let given = self.last.load(Ordering::Relaxed);
        of_slots.into_iter().fold(given, u64::max)
    }

    /// The highest id that was given out of a segment; 0 for none.
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

    /// Keeps an id that the slots will not tell of.
    #[inline]
    pub(super) fn remember(&self, last: u64) {
        // Not an addition: one writer at a time.
        if last > self.last.load(Ordering::Relaxed) {
            self.last.store(last, Ordering::Relaxed);
        }
    }

    /// What the slots hold below `number` is dropped from now on.
    #[inline]
    pub(super) fn drop_below(&self, number: u64) {
        // Not an exchange: one writer at a time.
        if number > self.dropped_to.load(Ordering::Relaxed) {
            self.dropped_to.store(number, Ordering::Relaxed);
        }
    }
}
