//! `Ids`: ids that one call of an `IdGenerator` took.

use std::iter::FusedIterator;

use crate::id::Id;
use crate::segment::{TakenIds, TakenMany};
use crate::snowflake::SnowflakeIds;

/// Ids that one call of an [`IdGenerator`](crate::IdGenerator) took: the caller's alone,
/// **ascending**, not always adjacent.
///
/// # Example
///
/// ```
/// use leafid::{Id, Ids};
///
/// let ids = Ids::from(vec![Id::try_from(5_u64)?, Id::try_from(7_u64)?]);
/// assert_eq!(ids.len(), 2);
/// assert_eq!(ids.map(u64::from).sum::<u64>(), 12);
/// # Ok::<(), leafid::ParseIdError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ids(Source);

#[derive(Debug, Clone)]
enum Source {
    Segments(TakenIds),
    Snowflakes(SnowflakeIds),
    Listed(std::vec::IntoIter<Id>),
}

impl From<TakenMany> for Ids {
    fn from(taken: TakenMany) -> Self {
        Self(Source::Segments(taken.into_iter()))
    }
}

impl From<SnowflakeIds> for Ids {
    fn from(ids: SnowflakeIds) -> Self {
        Self(Source::Snowflakes(ids))
    }
}

/// For generators of your own.
impl From<Vec<Id>> for Ids {
    fn from(ids: Vec<Id>) -> Self {
        Self(Source::Listed(ids.into_iter()))
    }
}

impl Iterator for Ids {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        match &mut self.0 {
            Source::Segments(ids) => ids.next(),
            Source::Snowflakes(ids) => ids.next(),
            Source::Listed(ids) => ids.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Source::Segments(ids) => ids.size_hint(),
            Source::Snowflakes(ids) => ids.size_hint(),
            Source::Listed(ids) => ids.size_hint(),
        }
    }
}

impl ExactSizeIterator for Ids {}

impl FusedIterator for Ids {}
