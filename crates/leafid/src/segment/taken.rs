//! `TakenMany`: ids that one call took together, as ranges.

use std::iter::FusedIterator;

use super::{Segment, SegmentIds};
use crate::id::Id;

/// Ids taken together: ascending ranges, not always adjacent.
///
/// # Example
///
/// ```
/// use leafid::{Generators, Options, blocking, store::{MemoryStore, TagSettings}};
///
/// let options = Options::default().with_create_missing(Some(TagSettings::default()));
/// let (generators, driver) = Generators::open(MemoryStore::new(), options);
/// let driver = blocking::spawn(driver)?;
/// let taken = blocking::block_on(generators.next_many("order", 3))?;
/// assert_eq!((taken.len(), taken.ranges().len()), (3, 1));
/// let ids: Vec<u64> = taken.into_iter().map(u64::from).collect();
/// assert_eq!(ids, [1, 2, 3]);
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
        self.ranges.as_slice()
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

impl IntoIterator for TakenMany {
    type Item = Id;
    type IntoIter = TakenIds;

    fn into_iter(self) -> TakenIds {
        TakenIds {
            left: self.len,
            ranges: self.ranges,
            next_range: 0,
            range: Segment::NONE.ids(),
        }
    }
}

/// The ids of a [`TakenMany`], ascending.
///
/// # Example
///
/// ```
/// use leafid::TakenMany;
///
/// assert_eq!(TakenMany::default().into_iter().len(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct TakenIds {
    ranges: Ranges,
    /// Which range follows `range`.
    next_range: usize,
    range: SegmentIds,
    /// How many ids are left in all.
    left: u64,
}

impl Iterator for TakenIds {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        loop {
            if let Some(id) = self.range.next() {
                self.left -= 1;
                return Some(id);
            }
            self.range = self.ranges.as_slice().get(self.next_range)?.ids();
            self.next_range += 1;
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::try_from(self.left).unwrap_or(usize::MAX);
        (len, Some(len))
    }
}

impl ExactSizeIterator for TakenIds {}

impl FusedIterator for TakenIds {}

impl Ranges {
    fn as_slice(&self) -> &[Segment] {
        match self {
            Self::Few { ranges, len } => &ranges[..*len],
            Self::Many(ranges) => ranges,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that each id of each range comes once, and that the length is right throughout,
    /// whether the ranges are held in place or not.
    #[test]
    fn ids_come_in_order_with_their_number() {
        for count in 0..5 {
            let mut taken = TakenMany::default();
            let mut expected = Vec::new();
            for start in (0..count).map(|range| 10 * range + 1) {
                taken.push(Segment::new(start, start + 3).expect("a range"));
                expected.extend(start..start + 3);
            }
            let by_reference: Vec<u64> = taken.ids().map(Id::get).collect();
            assert_eq!(by_reference, expected);
            let mut ids = taken.into_iter();
            for (taken, number) in expected.iter().enumerate() {
                assert_eq!(ids.len(), expected.len() - taken);
                assert_eq!(ids.next().map(Id::get), Some(*number));
            }
            assert_eq!((ids.len(), ids.next()), (0, None));
        }
    }
}
