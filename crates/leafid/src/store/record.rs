//! The row of a tag in a store, its settings, and requests to create or change them.

use std::fmt;
use std::str::FromStr;

use super::StoreError;
use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::tag::Tag;

/// Where the ids of a tag come from: its own range of numbers, or the snowflake generator of the
/// server, which all tags of that kind share.
///
/// A tag keeps its kind for life. If it could be changed, old and new ids of one tag could meet:
/// segments may start anywhere, even where snowflake ids are. A segment tag that is deleted may be
/// created again as a snowflake tag, but not the reverse ([`TagSpec::check_former`]).
///
/// # Example
///
/// ```
/// use leafid::store::TagKind;
///
/// assert_eq!("snowflake".parse::<TagKind>()?, TagKind::Snowflake);
/// assert_eq!(TagKind::default().to_string(), "segment");
/// # Ok::<(), leafid::store::ParseTagKindError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TagKind {
    /// Numbers reserved from the store by the segment, **unique** per tag.
    #[default]
    Segment,
    /// Ids of time, worker id and sequence, **unique** over all tags of this kind.
    Snowflake,
}

impl TagKind {
    /// The kind in one word, as in the store, on the wire and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::Snowflake => "snowflake",
        }
    }
}

impl fmt::Display for TagKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is not a [`TagKind`].
///
/// # Example
///
/// ```
/// assert!("uuid".parse::<leafid::store::TagKind>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the kind of a tag is segment or snowflake")]
pub struct ParseTagKindError;

impl FromStr for TagKind {
    type Err = ParseTagKindError;

    fn from_str(text: &str) -> Result<Self, ParseTagKindError> {
        match text {
            "segment" => Ok(Self::Segment),
            "snowflake" => Ok(Self::Snowflake),
            _ => Err(ParseTagKindError),
        }
    }
}

/// The settings of a tag, as the store has them.
///
/// # Example
///
/// ```
/// use leafid::{Limit, StepPolicy, store::TagSettings};
///
/// let settings = TagSettings { step: 2000, ..TagSettings::default() };
/// assert_eq!((settings.policy, settings.limit), (None, Limit::INT64));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagSettings {
    /// Where its ids come from. A snowflake tag has no other settings than the defaults.
    pub kind: TagKind,
    /// The smallest step, 1 to 2^31 - 1.
    pub step: u32,
    /// The step policy; `None` means the server's default.
    pub policy: Option<StepPolicy>,
    /// The largest id.
    pub limit: Limit,
}

impl TagSettings {
    /// The largest step: Leaf's column is a signed 32-bit integer.
    pub const STEP_MAX: u32 = i32::MAX as u32;
    /// The most characters of a description: Leaf's column is a `varchar(256)`.
    pub const DESCRIPTION_LEN_MAX: usize = 256;
    /// The step of a tag that was created without one.
    pub const STEP_DEFAULT: u32 = 1000;
}

impl Default for TagSettings {
    fn default() -> Self {
        Self {
            kind: TagKind::Segment,
            step: Self::STEP_DEFAULT,
            policy: None,
            limit: Limit::INT64,
        }
    }
}

/// One tag, as the store has it.
///
/// # Example
///
/// ```
/// use leafid::store::{TagRecord, TagSpec};
/// use leafid::Tag;
///
/// let record = TagSpec::new(Tag::new("order")?).record();
/// assert_eq!((record.max_id, record.settings.step), (1, 1000));
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagRecord {
    /// Its name.
    pub tag: Tag,
    /// The first id not yet given to any segment of the tag, or of a former tag of this name.
    pub max_id: u64,
    /// The length of the longest segment of it, as far as servers recorded that; `None` if none
    /// did, or the store cannot.
    pub segment_max: Option<u64>,
    /// Its settings.
    pub settings: TagSettings,
    /// What the tag is for.
    pub description: Option<String>,
    /// When the row last changed, in milliseconds since 1970-01-01T00:00:00Z, if the store knows.
    pub updated_ms: Option<i64>,
}

/// A tag to be created.
///
/// # Example
///
/// ```
/// use leafid::{Tag, store::TagSpec};
///
/// let mut spec = TagSpec::new(Tag::new("order")?);
/// spec.start = 1_000_000;
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagSpec {
    /// Its name.
    pub tag: Tag,
    /// The first id, at least 1.
    pub start: u64,
    /// Its settings.
    pub settings: TagSettings,
    /// What the tag is for.
    pub description: Option<String>,
}

impl TagSpec {
    /// A tag that starts at 1 with the default settings.
    #[must_use]
    pub fn new(tag: Tag) -> Self {
        Self {
            tag,
            start: 1,
            settings: TagSettings::default(),
            description: None,
        }
    }

    /// The row of a tag that is created for the first time.
    #[must_use]
    pub fn record(&self) -> TagRecord {
        TagRecord {
            tag: self.tag.clone(),
            max_id: self.start,
            segment_max: None,
            settings: self.settings,
            description: self.description.clone(),
            updated_ms: None,
        }
    }

    /// Checks that the tag may follow a deleted one of the same name and of this kind. For stores.
    ///
    /// # Errors
    ///
    /// [`StoreError::FormerKind`] for a segment tag after a snowflake tag. Segments may start
    /// anywhere, and no store knows which snowflake ids were issued, so they could repeat. The
    /// reverse is safe: the store knows how far segments went ([`TagRecord::max_id`]), and
    /// snowflake ids below that are refused.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Tag, store::{TagKind, TagSpec}};
    ///
    /// let spec = TagSpec::new(Tag::new("order")?);
    /// assert!(spec.check_former(TagKind::Segment).is_ok());
    /// assert!(spec.check_former(TagKind::Snowflake).is_err());
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    pub fn check_former(&self, former: TagKind) -> Result<(), StoreError> {
        let kind = self.settings.kind;
        if former == TagKind::Segment || former == kind {
            return Ok(());
        }
        Err(StoreError::FormerKind { former })
    }
}

/// What to change of a tag; `None` leaves a field as it is. The kind cannot be changed, see
/// [`TagKind`].
///
/// # Example
///
/// ```
/// use leafid::store::TagPatch;
///
/// let patch = TagPatch { step: Some(5000), ..TagPatch::default() };
/// assert!(patch.policy.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TagPatch {
    /// A new smallest step.
    pub step: Option<u32>,
    /// A new policy; `Some(None)` restores the server's default.
    pub policy: Option<Option<StepPolicy>>,
    /// A new limit.
    pub limit: Option<Limit>,
    /// A new description; `Some(None)` removes it.
    pub description: Option<Option<String>>,
}
