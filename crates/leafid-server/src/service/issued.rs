//! `Issued`: the ids that one call took of a tag of either kind.

use leafid::{Id, SnowflakeIds, TakenMany};

/// The ids that one call took: for its caller alone, **ascending**, not always adjacent.
///
/// # Example
///
/// ```
/// use leafid::{Layout, Snowflake, WorkerId};
/// use leafid_server::Issued;
///
/// let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
/// let issued = Issued::Snowflake(snowflake.try_next_many(3)?);
/// assert_eq!((issued.len(), issued.ids().count()), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub enum Issued {
    /// Of a segment tag.
    Segment(TakenMany),
    /// Of a snowflake tag.
    Snowflake(SnowflakeIds),
}

impl Issued {
    /// The number of ids.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Segment(taken) => taken.len(),
            Self::Snowflake(ids) => u64::try_from(ids.len()).unwrap_or(u64::MAX),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids, ascending.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        let (taken, snowflakes) = match self {
            Self::Segment(taken) => (Some(taken), None),
            Self::Snowflake(ids) => (None, Some(ids.clone())),
        };
        let taken = taken.into_iter().flat_map(TakenMany::ids);
        taken.chain(snowflakes.into_iter().flatten())
    }
}
