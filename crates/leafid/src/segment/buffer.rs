//! `SegmentBuffer`: ids are taken here, each by one atomic operation, never a lock.
//!
//! # Why no id leaves twice
//!
//! The buffer has one **cursor** and two **slots**. The cursor holds the next id to try; a slot
//! holds the bounds `[start, end)` of a segment this process owns. To take an id is
//!
//! 1. `id = cursor.fetch_add(1)`: this number is now ours alone to try;
//! 2. look whether `id` lies in a slot. It does: it is issued. It does not: it never was ours,
//!    and the taker jumps the cursor forward to the next segment, or reports that there is none.
//!
//! To take several is the reverse: look which numbers from the cursor on are in slots, and then
//! move the cursor past them by `compare_exchange`, all of them or none. Nothing drawn is left
//! over, so that a batch that cannot be filled loses no id.
//!
//! *Numbers are distinct.* The cursor goes forward, save for one step: a taker who finds nothing
//! may put back the number it just drew, by `compare_exchange(id + 1, id)`, and then forgets it.
//! Every number that a taker holds is below the cursor: a draw hands out the cursor and moves it
//! past; a jump only raises it; and a number is put back only by its holder and only when it is the
//! highest one held. So no draw can yield a number that is held or was issued. The cursor cannot
//! wrap around to 0: ids end at 2^63, and past them it moves by one per taker at most.
//!
//! *Bounds are never mixed.* A slot is refilled while takers read it; `slot.rs` explains why no
//! number passes that lies in no segment of ours.
//!
//! Ids ascend, because one cursor serves all segments. Both properties are checked by a loom
//! model (`segment/model.rs`), which must fail for each variant that `mutant` and `slot.rs` weaken.
//!
//! Left to others: the highest issued id, in `high_water_mark.rs`.

mod high_water_mark;
mod slot;
#[cfg(test)]
mod tests;

use std::fmt;

use crossbeam_utils::CachePadded;

use super::{Segment, TakenMany};
use crate::id::Id;
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use high_water_mark::HighWaterMark;
use slot::Slot;

/// Two segments of one tag, from which any number of threads take ids.
///
/// **Unique** over all takers, **ascending** per buffer, **thread-safe**, lock-free. Segments are
/// put in by one writer at a time, in ascending order; the module's text has the proof.
///
/// It is not public: a second writer, a segment that was never reserved or a cursor put anywhere
/// would issue ids that are not ours, and nothing here could notice. The allocator is the only
/// writer, under its lock.
pub(crate) struct SegmentBuffer {
    /// The next number to try. Written by every taker.
    cursor: CachePadded<AtomicU64>,
    /// Read by every taker, written once per segment.
    view: CachePadded<View>,
}

struct View {
    /// False while takers would find nothing, so that they leave the cursor alone.
    open: AtomicBool,
    slots: [Slot; 2],
    /// A taker whose id is at or above this reports that supplies are low.
    low_at: AtomicU64,
    /// Written by the writer of the slots.
    high_water_mark: HighWaterMark,
}

/// One id, and whether to fetch the next segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The id.
    pub(crate) id: Id,
    /// Whether supplies have reached the mark for the next fetch.
    pub(crate) is_low: bool,
}

/// Both slots still hold ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("both segments of the buffer still hold ids")]
pub(crate) struct BufferFull;

impl SegmentBuffer {
    /// An empty buffer.
    pub(crate) fn new() -> Self {
        Self {
            cursor: CachePadded::new(AtomicU64::new(1)),
            view: CachePadded::new(View {
                open: AtomicBool::new(false),
                slots: [Slot::empty(), Slot::empty()],
                low_at: AtomicU64::new(u64::MAX),
                high_water_mark: HighWaterMark::nothing(),
            }),
        }
    }

    /// Takes one id, if there is one. Never waits, never locks.
    #[inline]
    pub(crate) fn try_take(&self) -> Option<Taken> {
        // Acquire pairs with the release in `put`: a taker that sees the buffer open sees its
        // segment.
        while self.view.open.load(Ordering::Acquire) {
            let number = mutant::draw(&self.cursor);
            if self.owns(number) || self.on_unowned(number)? {
                // Relaxed: a hint for the refill, with no bearing on which ids are ours.
                let is_low = number >= self.view.low_at.load(Ordering::Relaxed);
                return Some(Taken {
                    id: Id::from_checked(number),
                    is_low,
                });
            }
        }
        None
    }

    /// Takes `count` ids, ascending, if there are as many; otherwise none, and loses none.
    pub(crate) fn try_take_many(&self, count: u64) -> Option<TakenMany> {
        let mut cursor = self.cursor();
        while self.view.open.load(Ordering::Acquire) {
            let mut taken = TakenMany::default();
            for owned in self.ascending() {
                let mut left = owned.rest_from(cursor);
                let front = left.split_front(count - taken.len());
                if !front.is_empty() {
                    taken.push(front);
                }
            }
            if taken.len() < count {
                return None;
            }
            let end = taken.last().map_or(cursor, |last| last.end);
            // On success no other taker draws a number between the old and the new cursor.
            match self
                .cursor
                .compare_exchange(cursor, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => {
                    taken.is_low = end > self.view.low_at.load(Ordering::Relaxed);
                    return Some(taken);
                }
                Err(moved) => cursor = moved,
            }
        }
        None
    }

    /// Takes `count` adjacent ids, if memory holds that many in one piece; returns how many owned
    /// numbers below them were skipped.
    pub(crate) fn try_take_range(&self, count: u64) -> Option<(Segment, u64)> {
        let mut cursor = self.cursor();
        while self.view.open.load(Ordering::Acquire) {
            let mut passed_over = 0;
            let piece = self
                .pieces()
                .map(|piece| piece.rest_from(cursor))
                .find(|piece| {
                    let is_enough = piece.len() >= count;
                    passed_over += if is_enough { 0 } else { piece.len() };
                    is_enough
                })?;
            let start = piece.start;
            let end = start + count;
            // As in `try_take_many`.
            match self
                .cursor
                .compare_exchange(cursor, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some((Segment { start, end }, passed_over)),
                Err(moved) => cursor = moved,
            }
        }
        None
    }

    /// The owned segments, ascending, as one piece where they are adjacent.
    fn pieces(&self) -> impl Iterator<Item = Segment> + use<> {
        let [mut first, mut second] = self.ascending();
        if first.end == second.start {
            first.end = second.end;
            second.start = second.end;
        }
        [first, second].into_iter()
    }

    /// Whether `number` lies in a segment that this process owns.
    #[inline]
    fn owns(&self, number: u64) -> bool {
        self.view.slots.iter().any(|slot| slot.holds(number))
    }

    /// Handles a drawn number that was in no slot: `true` if its segment has arrived since, so that
    /// it is ours; `false` with the cursor moved on to the next segment; and `None`, with the
    /// number put back, if there is no segment.
    #[cold]
    #[inline(never)]
    fn on_unowned(&self, number: u64) -> Option<bool> {
        let slots = self.ascending();
        if slots.iter().any(|owned| owned.holds(number)) {
            return Some(true);
        }
        let next = slots
            .into_iter()
            .find(|owned| owned.start > number && !owned.is_empty());
        if let Some(next) = next {
            self.cursor.fetch_max(next.start, Ordering::Relaxed);
            return Some(false);
        }
        mutant::put_back(&self.cursor, number);
        None
    }

    /// Puts in a segment, into a slot whose ids are all taken. One writer at a time; its segments
    /// must ascend. The mark for low supplies is set to a tenth of it.
    ///
    /// # Errors
    ///
    /// [`BufferFull`] if both slots still hold ids.
    ///
    /// # Panics
    ///
    /// If the segment starts below the end of an earlier one: the store broke its contract and the
    /// caller did not notice.
    pub(crate) fn put(&self, segment: Segment) -> Result<(), BufferFull> {
        let highest_end = self
            .view
            .slots
            .iter()
            .map(|slot| slot.read().end)
            .max()
            .unwrap_or(1);
        assert!(
            segment.start >= highest_end,
            "segments ascend: {segment} after {highest_end}"
        );
        let cursor = self.cursor.load(Ordering::Relaxed);
        let slot = self
            .view
            .slots
            .iter()
            .filter(|slot| slot.read().end <= cursor.max(1))
            .min_by_key(|slot| slot.read().end)
            .ok_or(BufferFull)?;
        let mark = &self.view.high_water_mark;
        mark.remember(mark.last_of(slot.read(), cursor));
        slot.write(segment);
        self.view
            .low_at
            .store(segment.start + segment.len() / 10, Ordering::Relaxed);
        self.view.open.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether a slot is free for [`put`](Self::put).
    pub(crate) fn has_room(&self) -> bool {
        let cursor = self.cursor.load(Ordering::Relaxed);
        self.view.slots.iter().any(|slot| slot.read().end <= cursor)
    }

    /// Drops every number below `number`: takers continue from there. Returns how many owned ones
    /// were dropped.
    pub(crate) fn skip_to(&self, number: u64) -> u64 {
        let mark = &self.view.high_water_mark;
        mark.remember(self.last().map_or(0, Id::get));
        mark.drop_below(number);
        self.skip_below(number)
    }

    /// Moves takers past a range that was issued past the buffer. Returns how many owned numbers
    /// that skips.
    pub(crate) fn advance_past(&self, range: Segment) -> u64 {
        self.view.high_water_mark.remember(range.end - 1);
        self.skip_below(range.end)
    }

    fn skip_below(&self, number: u64) -> u64 {
        // Whatever a store says: past the last id the cursor could wrap around to 0.
        let number = number.min(Id::MAX.get());
        let slots = self.segments();
        let cursor = self.cursor.fetch_max(number, Ordering::Relaxed);
        let below = |owned: &Segment| {
            owned.rest_from(cursor).len() - owned.rest_from(number.max(cursor)).len()
        };
        slots.iter().map(below).sum()
    }

    /// The highest issued id, or a number that was lost in a race.
    pub(crate) fn last(&self) -> Option<Id> {
        let cursor = self.cursor.load(Ordering::Relaxed);
        let last = self.view.high_water_mark.last(self.segments(), cursor);
        (last > 0).then(|| Id::from_checked(last))
    }

    /// Stops takers at once, without touching what the slots hold.
    pub(crate) fn close(&self) {
        self.view.open.store(false, Ordering::Relaxed);
    }

    /// Lets takers in again after [`close`](Self::close).
    pub(crate) fn reopen(&self) {
        // Release: as in `put`.
        self.view.open.store(true, Ordering::Release);
    }

    /// Whether the mark for low supplies is reached.
    pub(crate) fn is_low(&self) -> bool {
        self.cursor() >= self.view.low_at.load(Ordering::Relaxed)
    }

    /// Silences the mark for low supplies until the next [`put`](Self::put).
    pub(crate) fn mute(&self) {
        self.view.low_at.store(u64::MAX, Ordering::Relaxed);
    }

    /// How many ids are left in memory.
    pub(crate) fn remaining(&self) -> u64 {
        let cursor = self.cursor.load(Ordering::Relaxed);
        self.segments()
            .iter()
            .map(|owned| owned.rest_from(cursor).len())
            .sum()
    }

    /// The next number to try.
    pub(crate) fn cursor(&self) -> u64 {
        self.cursor.load(Ordering::Relaxed)
    }

    /// The two segments, in slot order; either may be exhausted.
    pub(crate) fn segments(&self) -> [Segment; 2] {
        [self.view.slots[0].read(), self.view.slots[1].read()]
    }

    fn ascending(&self) -> [Segment; 2] {
        let [a, b] = self.segments();
        if a.start <= b.start { [a, b] } else { [b, a] }
    }
}

impl fmt::Debug for SegmentBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentBuffer")
            .field("cursor", &self.cursor())
            .field("segments", &self.segments())
            .finish_non_exhaustive()
    }
}

/// The operations on the cursor whose exact form the proof rests on. Under loom each can be
/// weakened by `LEAFID_MUTANT=…`, as can two of a slot, and then the model must fail: a check of
/// the check.
mod mutant {
    use crate::sync::{AtomicU64, Ordering, is_weakened};

    /// Draws a number. Weakened (`cursor`): two takers may draw the same one.
    #[inline]
    pub(super) fn draw(cursor: &AtomicU64) -> u64 {
        if is_weakened("cursor") {
            let number = cursor.load(Ordering::SeqCst);
            cursor.store(number + 1, Ordering::SeqCst);
            return number;
        }
        // Relaxed: the atomicity of this one location makes the numbers distinct.
        cursor.fetch_add(1, Ordering::Relaxed)
    }

    /// Puts a number back, if no other taker drew after us. Weakened (`undo`): it does not check.
    pub(super) fn put_back(cursor: &AtomicU64, number: u64) {
        if is_weakened("undo") {
            return cursor.store(number, Ordering::SeqCst);
        }
        // Relaxed: as in `draw`. A failure leaves a gap.
        let _ = cursor.compare_exchange(number + 1, number, Ordering::Relaxed, Ordering::Relaxed);
    }
}
