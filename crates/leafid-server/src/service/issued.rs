//! `IssuedId` and `Issued`: what one call took of a tag of any kind.

use leafid::{Id, SnowflakeIds, TakenMany};

use super::texts::Texts;

/// One id: for its caller alone.
///
/// # Example
///
/// ```
/// use leafid_server::IssuedId;
///
/// let id = IssuedId::Text("SO-20261122-000017".to_owned());
/// assert_eq!(id.to_string(), "SO-20261122-000017");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuedId {
    /// Of a tag whose ids are numbers.
    Number(Id),
    /// Of a tag with a format, or of a family.
    Text(String),
}

impl std::fmt::Display for IssuedId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(id) => id.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The ids that one call took: for its caller alone, numbers **ascending**, not always adjacent.
///
/// # Example
///
/// ```
/// use leafid::{Layout, Snowflake, WorkerId};
/// use leafid_server::Issued;
///
/// let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
/// let issued = Issued::Snowflake(snowflake.try_next_many(3)?);
/// assert_eq!((issued.len(), issued.numbers().count()), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub enum Issued {
    /// Of a segment tag.
    Segment(TakenMany),
    /// Of a snowflake tag.
    Snowflake(SnowflakeIds),
    /// Of a tag with a format, or of a family.
    Texts(Texts),
}

impl Issued {
    /// The number of ids.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Segment(taken) => taken.len(),
            Self::Snowflake(ids) => u64::try_from(ids.len()).unwrap_or(u64::MAX),
            Self::Texts(texts) => u64::try_from(texts.len()).unwrap_or(u64::MAX),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids that are numbers, ascending; none if they are texts.
    pub fn numbers(&self) -> impl Iterator<Item = Id> {
        let (taken, snowflakes) = match self {
            Self::Segment(taken) => (Some(taken), None),
            Self::Snowflake(ids) => (None, Some(ids.clone())),
            Self::Texts(_) => (None, None),
        };
        let taken = taken.into_iter().flat_map(TakenMany::ids);
        taken.chain(snowflakes.into_iter().flatten())
    }

    /// The ids that are texts, in the order in which they were made; none if they are numbers.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Self::Texts(texts) => Some(texts),
            Self::Segment(_) | Self::Snowflake(_) => None,
        };
        texts.into_iter().flat_map(Texts::iter)
    }
}
