//! `Slot`: the bounds of one segment that this process owns, read by every taker while the writer
//! puts others in their place.
//!
//! Left to `SegmentBuffer`: which slot is written and when, and that segments ascend.
//!
//! # Why bounds are never mixed
//!
//! Segments come in ascending order, so a slot is only ever refilled with `start' >= end`. The
//! writer stores `start` before `end`; the taker reads `end` before `start`. If the taker sees
//! `end` of version k, it sees `start` of version k or later; a later `start` is at least `end` of
//! version k, so no number passes both checks. A taker that stalled while its slot was refilled
//! loses its number: a gap, never a repeat.

use super::Segment;
use crate::sync::{AtomicU64, Ordering, is_weakened};

/// The bounds of one owned segment. `start` is stored before `end` and read after it.
pub(super) struct Slot {
    start: AtomicU64,
    end: AtomicU64,
}

impl Slot {
    /// A slot that holds nothing.
    pub(super) fn empty() -> Self {
        Self {
            start: AtomicU64::new(1),
            end: AtomicU64::new(1),
        }
    }

    /// Whether `number` lies within one version of the bounds.
    #[inline]
    pub(super) fn holds(&self, number: u64) -> bool {
        // Acquire pairs with the release store in `publish`: a taker that sees that `end` sees the
        // `start` stored before it, or a later one.
        let end = self.end.load(Ordering::Acquire);
        self.start() <= number && number < end
    }

    /// The bounds of one version of this slot; empty if it is being refilled.
    #[inline]
    pub(super) fn read(&self) -> Segment {
        // Acquire: as in `holds`.
        let end = self.end.load(Ordering::Acquire);
        let start = self.start();
        Segment {
            start,
            end: end.max(start),
        }
    }

    #[inline]
    pub(super) fn write(&self, segment: Segment) {
        self.start.store(segment.start, Ordering::Relaxed);
        self.publish(segment.end);
    }

    /// Reads the lower bound. Weakened (`start`): it is not checked, so that a stale taker can
    /// use a number from before the segment that was put into the slot behind its back (TinyId's
    /// issue 47, and worse: the number belongs to another process).
    #[inline]
    fn start(&self) -> u64 {
        if is_weakened("start") {
            return 0;
        }
        // Relaxed: it comes after the acquire load of `end`.
        self.start.load(Ordering::Relaxed)
    }

    /// Publishes the upper bound. Weakened (`publish`): it may be seen before the lower one.
    #[inline]
    fn publish(&self, end: u64) {
        let order = if is_weakened("publish") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        // Release pairs with the acquire loads of `end`.
        self.end.store(end, order);
    }
}
