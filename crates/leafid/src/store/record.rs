//! What a store knows of a tag: its row, its settings, and wishes to create or change them.

use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::tag::Tag;

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
    /// The smallest step, 1 to 2^31 - 1.
    pub step: u32,
    /// How the step adapts; `None` leaves it to the server's default.
    pub policy: Option<StepPolicy>,
    /// The largest id.
    pub limit: Limit,
}

impl TagSettings {
    /// The largest step: Leaf's column is a signed 32-bit integer.
    pub const STEP_MAX: u32 = i32::MAX as u32;
    /// The step of a tag that was created without one.
    pub const STEP_DEFAULT: u32 = 1000;
}

impl Default for TagSettings {
    fn default() -> Self {
        Self {
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
    /// The first id not yet given to any segment.
    pub max_id: u64,
    /// Its settings.
    pub settings: TagSettings,
    /// What it is for.
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
    /// What it is for.
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

    /// The row that this makes where the tag never existed.
    #[must_use]
    pub fn record(&self) -> TagRecord {
        TagRecord {
            tag: self.tag.clone(),
            max_id: self.start,
            settings: self.settings,
            description: self.description.clone(),
            updated_ms: None,
        }
    }
}

/// What to change of a tag; `None` leaves a field as it is.
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
    /// A new policy; `Some(None)` goes back to the server's default.
    pub policy: Option<Option<StepPolicy>>,
    /// A new limit.
    pub limit: Option<Limit>,
    /// A new description; `Some(None)` removes it.
    pub description: Option<Option<String>>,
}
