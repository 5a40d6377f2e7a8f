//! `SnowflakeIds`: ids that were taken together.

use std::iter::FusedIterator;

use super::number::Numbers;
use crate::id::Id;
use crate::layout::LayoutError;

/// The snowflake ids of one call: for its caller alone, **ascending**, of one worker id. They are
/// adjacent within a tick; between ticks there may be a gap.
///
/// # Example
///
/// ```
/// use leafid::{Layout, Snowflake, WorkerId};
///
/// let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
/// let ids: Vec<_> = snowflake.try_next_many(5000)?.collect();
/// assert_eq!(ids.len(), 5000);
/// assert!(ids.is_sorted());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SnowflakeIds {
    numbers: Numbers,
    next: u64,
    end: u64,
    /// Up to here the ids of the numbers from `next` on are one stride apart: the end of the tick.
    range_end: u64,
    /// The id of `next`, unless the range is at its end.
    id: u64,
}

impl SnowflakeIds {
    pub(super) const fn new(numbers: Numbers, next: u64, end: u64) -> Self {
        Self {
            numbers,
            next,
            end,
            range_end: next,
            id: 0,
        }
    }

    /// The same ids in another shard: they are as distinct from all others as before, because no
    /// other id has their tick, worker id and sequence.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NoSuchShard`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Layout, Snowflake, WorkerId};
    ///
    /// let layout: Layout = "time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z".parse()?;
    /// let snowflake = Snowflake::with_worker_id(layout, WorkerId::new(7))?;
    /// let shard = layout.shard_of_key(b"customer 4711")?;
    /// let ids = snowflake.try_next_many(3)?.in_shard(shard)?;
    /// assert!(ids.map(|id| layout.decompose(id.get()).shard).all(|of_id| of_id == Some(shard)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_shard(self, shard: u32) -> Result<Self, LayoutError> {
        self.numbers.layout().check_shard(shard)?;
        Ok(Self {
            numbers: self.numbers.in_shard(shard),
            // The id of the present range has the former shard.
            range_end: self.next,
            ..self
        })
    }

    /// Continues with the next tick.
    fn start_range(&mut self) {
        self.id = self.numbers.id(self.next).get();
        self.range_end = self.end.min(self.numbers.last_of_tick(self.next) + 1);
    }

    /// The first of them, if any is left.
    #[must_use]
    pub fn first(&self) -> Option<Id> {
        (self.next < self.end).then(|| self.numbers.id(self.next))
    }

    /// The highest of them, if any is left.
    #[must_use]
    pub fn highest(&self) -> Option<Id> {
        (self.next < self.end).then(|| self.numbers.id(self.end - 1))
    }

    fn left(&self) -> usize {
        usize::try_from(self.end - self.next).unwrap_or(usize::MAX)
    }
}

impl Iterator for SnowflakeIds {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        if self.next == self.range_end {
            if self.next == self.end {
                return None;
            }
            self.start_range();
        }
        let id = Id::from_checked(self.id);
        self.next += 1;
        self.id += self.numbers.stride();
        Some(id)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left(), Some(self.left()))
    }
}

impl ExactSizeIterator for SnowflakeIds {}

impl FusedIterator for SnowflakeIds {}
