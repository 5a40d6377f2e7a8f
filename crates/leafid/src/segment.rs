//! `Segment`: a range of ids owned by one process. `segment/buffer.rs` is where ids are taken;
//! `segment/taken.rs` has several ranges taken together.

mod buffer;
#[cfg(all(test, leafid_loom))]
mod model;

mod taken;

use std::fmt;
use std::iter::FusedIterator;

use crate::id::Id;

pub(crate) use buffer::SegmentBuffer;
pub use taken::{TakenIds, TakenMany};

/// A range of ids owned by one process: every number from `start` up to but not including `end`.
///
/// # Example
///
/// ```
/// use leafid::Segment;
///
/// let segment = Segment::new(1, 4).expect("1 <= start <= end");
/// let ids: Vec<u64> = segment.ids().map(|id| id.get()).collect();
/// assert_eq!(ids, [1, 2, 3]);
/// assert_eq!(segment.len(), 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    start: u64,
    end: u64,
}

impl Segment {
    /// No ids.
    pub(crate) const NONE: Self = Self { start: 1, end: 1 };

    /// The segment `[start, end)`; `None` unless `1 <= start <= end <= 2^63 - 1`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start >= 1 && start <= end && end <= Id::MAX.get() {
            Some(Self { start, end })
        } else {
            None
        }
    }

    /// The first id.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// One past the last id.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The number of ids.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether it holds none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Its ids, ascending.
    #[must_use]
    pub fn ids(&self) -> SegmentIds {
        SegmentIds(self.start..self.end)
    }

    /// Cuts `len` ids off the front, or all if there are fewer.
    pub(crate) fn split_front(&mut self, len: u64) -> Self {
        let middle = self.start + len.min(self.len());
        let front = Self {
            start: self.start,
            end: middle,
        };
        self.start = middle;
        front
    }

    /// The rest of it from `number` on.
    fn rest_from(self, number: u64) -> Self {
        let start = number.clamp(self.start, self.end);
        Self { start, ..self }
    }

    const fn holds(self, number: u64) -> bool {
        self.start <= number && number < self.end
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

impl IntoIterator for Segment {
    type Item = Id;
    type IntoIter = SegmentIds;

    fn into_iter(self) -> SegmentIds {
        self.ids()
    }
}

/// The ids of a [`Segment`], ascending.
///
/// # Example
///
/// ```
/// use leafid::Segment;
///
/// let segment = Segment::new(5, 8).expect("1 <= start <= end");
/// let mut ids = segment.into_iter();
/// assert_eq!(ids.next().map(u64::from), Some(5));
/// assert_eq!(ids.len(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct SegmentIds(std::ops::Range<u64>);

impl Iterator for SegmentIds {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        self.0.next().map(Id::from_checked)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::try_from(self.0.end - self.0.start).unwrap_or(usize::MAX);
        (len, Some(len))
    }
}

impl ExactSizeIterator for SegmentIds {}

impl FusedIterator for SegmentIds {}
