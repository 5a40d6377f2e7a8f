//! `Segment`: a range of ids owned by one process; `TakenMany`: several ranges taken together.
//! `segment/buffer.rs` is where ids are taken.

mod buffer;
#[cfg(all(test, leafid_loom))]
mod model;

use std::fmt;

use crate::id::Id;

pub(crate) use buffer::SegmentBuffer;

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

    /// How many ids it holds.
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
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Id> + use<> {
        SegmentIds(self.start..self.end)
    }

    /// Cuts `len` ids off the front, or as many as there are.
    pub(crate) fn split_front(&mut self, len: u64) -> Self {
        let middle = self.start + len.min(self.len());
        let front = Self {
            start: self.start,
            end: middle,
        };
        self.start = middle;
        front
    }

    /// What is left of it from `number` on.
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

struct SegmentIds(std::ops::Range<u64>);

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

/// Ids taken together: ascending ranges, not always adjacent.
///
/// # Example
///
/// ```
/// use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
///
/// let options = Options { create_missing: Some(TagSettings::default()), ..Options::default() };
/// let (generators, driver) = Generators::open(MemoryStore::new(), options);
/// let driver = blocking::spawn(driver)?;
/// let taken = blocking::block_on(generators.next_many("order", 3))?;
/// assert_eq!((taken.len(), taken.ranges().len()), (3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What ids are taken from is not to be had: a cursor or a segment of somebody's own making would
/// issue ids twice.
///
/// ```compile_fail,E0432
/// use leafid::SegmentBuffer;
/// ```
#[derive(Debug, Clone, Default)]
pub struct TakenMany {
    ranges: Ranges,
    len: u64,
    pub(crate) is_low: bool,
}

/// As many ranges as memory can give are held in place, so that taking ids allocates nothing.
#[derive(Debug, Clone)]
enum Ranges {
    Few { ranges: [Segment; 2], len: usize },
    Many(Vec<Segment>),
}

impl TakenMany {
    /// How many ids.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ranges of adjacent ids, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[Segment] {
        match &self.ranges {
            Ranges::Few { ranges, len } => &ranges[..*len],
            Ranges::Many(ranges) => ranges,
        }
    }

    /// The ids, ascending.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.ranges().iter().flat_map(Segment::ids)
    }

    /// One range.
    pub(crate) fn of(range: Segment) -> Self {
        let mut taken = Self::default();
        taken.push(range);
        taken
    }

    pub(crate) fn last(&self) -> Option<Segment> {
        self.ranges().last().copied()
    }

    pub(crate) fn push(&mut self, range: Segment) {
        self.len += range.len();
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.ranges.push(range),
        }
    }
}

impl Ranges {
    fn last_mut(&mut self) -> Option<&mut Segment> {
        match self {
            Self::Few { ranges, len } => ranges[..*len].last_mut(),
            Self::Many(ranges) => ranges.last_mut(),
        }
    }

    fn push(&mut self, range: Segment) {
        match self {
            Self::Few { ranges, len } if *len < ranges.len() => {
                ranges[*len] = range;
                *len += 1;
            }
            Self::Few { ranges, .. } => {
                let mut many = Vec::with_capacity(2 * ranges.len());
                many.extend_from_slice(ranges);
                many.push(range);
                *self = Self::Many(many);
            }
            Self::Many(ranges) => ranges.push(range),
        }
    }
}

impl Default for Ranges {
    fn default() -> Self {
        Self::Few {
            ranges: [Segment::NONE; 2],
            len: 0,
        }
    }
}
