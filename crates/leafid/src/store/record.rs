//! The row of a tag in a store, its settings, and requests to create or change them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::StoreError;
use crate::error::Permanent;
use crate::escaped::Escaped;
use crate::family::Family;
use crate::format::Form;
use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::tag::Tag;

/// Where the ids of a tag come from: its own range of numbers, the snowflake generator of the
/// server, which all tags of that kind share, or a family of ids such as UUIDs.
///
/// A tag keeps its kind for life. If it could be changed, old and new ids of one tag could meet:
/// segments may start anywhere, even where snowflake ids are. A segment tag that is deleted may be
/// created again as a tag of another kind, but not the reverse ([`TagSpec::check_former`]).
///
/// # Example
///
/// ```
/// use leafid::store::TagKind;
///
/// assert_eq!("snowflake".parse::<TagKind>()?, TagKind::Snowflake);
/// assert_eq!("uuid7".parse::<TagKind>()?, TagKind::Family(leafid::Family::Uuid7));
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
    /// Texts that each server makes by itself, from time and random bits.
    Family(Family),
}

impl TagKind {
    /// All kinds.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::TagKind;
    ///
    /// assert!(TagKind::all().all(|kind| kind.name().parse() == Ok(kind)));
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        let families = Family::ALL.into_iter().map(Self::Family);
        [Self::Segment, Self::Snowflake].into_iter().chain(families)
    }

    /// Whether its ids are numbers: those of segments, and snowflake ids.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Family, store::TagKind};
    ///
    /// assert!(TagKind::Snowflake.is_numbered());
    /// assert!(!TagKind::Family(Family::Ulid).is_numbered());
    /// ```
    #[must_use]
    pub const fn is_numbered(self) -> bool {
        !matches!(self, Self::Family(_))
    }

    /// The kind in one word, as in the store, on the wire and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::Snowflake => "snowflake",
            Self::Family(family) => family.name(),
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
/// let error = "uuid".parse::<leafid::store::TagKind>().unwrap_err();
/// assert!(error.to_string().starts_with("the kind of a tag is segment, snowflake, uuid1, "));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the kind of a tag is {}", kinds())]
pub struct ParseTagKindError;

/// All kinds, in words.
fn kinds() -> String {
    let mut names: Vec<&str> = TagKind::all().map(TagKind::name).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} or {last}", names.join(", "))
}

impl FromStr for TagKind {
    type Err = ParseTagKindError;

    fn from_str(text: &str) -> Result<Self, ParseTagKindError> {
        let mut all = Self::all();
        all.find(|kind| kind.name() == text)
            .ok_or(ParseTagKindError)
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
    /// Where its ids come from. Only a segment tag has other settings than the defaults.
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
    /// The most characters of a format.
    pub const FORMAT_LEN_MAX: usize = 500;
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
    /// How its ids are written, see [`TagSpec::format`].
    pub format: Option<Arc<str>>,
    /// What the tag is for.
    pub description: Option<String>,
    /// When the row last changed, in milliseconds since 1970-01-01T00:00:00Z, if the store knows.
    pub updated_ms: Option<i64>,
}

impl TagRecord {
    /// The refusal of segments of a tag of another kind.
    pub(crate) fn no_segments(self) -> Permanent {
        Permanent::NoSegments {
            tag: self.tag,
            kind: self.settings.kind,
            form: Form::Plain,
            min_id: self.max_id,
        }
    }
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
    /// How its ids are written: a text of 1 to 500 characters for
    /// [`CompileFormat`](crate::format::CompileFormat); `None` for plain ids. A tag keeps its format
    /// for life, because the same text could come from two formats.
    pub format: Option<Arc<str>>,
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
            format: None,
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
            format: self.format.clone(),
            description: self.description.clone(),
            updated_ms: None,
        }
    }

    /// Checks that the tag may follow a deleted one of the same name, of this kind and with this
    /// format. For stores.
    ///
    /// # Errors
    ///
    /// - [`StoreError::FormerKind`] for another kind after any but segments. Segments may start
    ///   anywhere, and no store knows which snowflake ids were issued, so they could repeat. The
    ///   reverse is safe: the store knows how far segments went ([`TagRecord::max_id`]), and
    ///   snowflake ids below that are refused.
    /// - [`StoreError::FormerFormat`] for another format if the ids of both are numbers: the text
    ///   of an old number could be that of a new one.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Tag, store::{TagKind, TagSpec}};
    ///
    /// let spec = TagSpec::new(Tag::new("order")?);
    /// assert!(spec.check_former(TagKind::Segment, None).is_ok());
    /// assert!(spec.check_former(TagKind::Snowflake, None).is_err());
    /// assert!(spec.check_former(TagKind::Segment, Some("A{number}")).is_err());
    ///
    /// let mut tsid = TagSpec::new(Tag::new("order")?);
    /// tsid.settings.kind = TagKind::Family(leafid::Family::Tsid);
    /// assert!(tsid.check_former(TagKind::Segment, None).is_err());
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    pub fn check_former(&self, former: TagKind, format: Option<&str>) -> Result<(), StoreError> {
        let kind = self.settings.kind;
        // A TSID and a CosId are numbers with a time and a worker id, as a snowflake id is, and
        // nothing compares them with where the segments ended.
        let may_meet = matches!(kind, TagKind::Family(Family::Tsid | Family::CosId));
        if former != kind && (former != TagKind::Segment || may_meet) {
            return Err(StoreError::FormerKind { former });
        }
        let is_numbered = former.is_numbered() && kind.is_numbered();
        if is_numbered && format != self.format.as_deref() {
            let former = format.map(Arc::from);
            return Err(StoreError::FormerFormat { former });
        }
        Ok(())
    }
}

/// The format of a former tag, for people.
pub(super) fn format_in_words(format: Option<&str>) -> String {
    match format {
        Some(format) => format!("the format \"{}\"", Escaped(format)),
        None => "no format".to_owned(),
    }
}

/// What to change of a tag; `None` leaves a field as it is. Kind and format cannot be changed, see
/// [`TagKind`] and [`TagSpec::format`].
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
