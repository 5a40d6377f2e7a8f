//! `TagFieldError`: which setting of a tag cannot be as it is, and what it may be. All checks of
//! settings are here, whoever names them: a server's clients, the command line, or a program.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::StoreError;
use super::record::{TagKind, TagPatch, TagSettings, TagSpec};
use crate::escaped::Escaped;
use crate::limit::Limit;
use crate::step::StepPolicy;
use crate::tag::Tag;

/// A setting of a tag that a caller can name.
///
/// # Example
///
/// ```
/// use leafid::store::TagField;
///
/// assert_eq!(TagField::StepMax.name(), "step_max");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TagField {
    /// The first id.
    Start,
    /// Where the next segment starts.
    Next,
    /// The smallest step.
    Step,
    /// The step policy.
    Policy,
    /// The longest segment of the step policy.
    StepMax,
    /// How long a segment of the step policy should last.
    Cover,
    /// The largest id.
    Limit,
    /// How its ids are written.
    Format,
    /// The kind of its ids.
    Kind,
    /// What the tag is for.
    Description,
}

impl TagField {
    /// The name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Next => "next",
            Self::Step => "step",
            Self::Policy => "policy",
            Self::StepMax => "step_max",
            Self::Cover => "cover",
            Self::Limit => "limit",
            Self::Format => "format",
            Self::Kind => "kind",
            Self::Description => "description",
        }
    }
}

/// A setting of a tag is not what it may be.
///
/// # Example
///
/// ```
/// use leafid::store::{TagField, TagPatch};
///
/// let patch = TagPatch { step: Some(0), ..TagPatch::default() };
/// let error = patch.check().unwrap_err();
/// assert_eq!(error.field, TagField::Step);
/// assert_eq!(error.to_string(), "step is 0, but must be a whole number from 1 to 2147483647");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
#[non_exhaustive]
pub struct TagFieldError {
    /// The setting.
    pub field: TagField,
    /// What it is, in words.
    pub value: String,
    /// What it may be, in words; of a format that cannot be used, what is wrong with it.
    pub wanted: Cow<'static, str>,
    fault: Fault,
}

/// How a setting is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is not what it must be.
    Other,
    /// It is a format that cannot be understood.
    Malformed,
    /// It is a format whose key is missing.
    MissingKey,
}

impl TagFieldError {
    fn in_words(&self) -> String {
        let Self { value, wanted, .. } = self;
        let name = self.field.name();
        match self.fault {
            Fault::Other => format!("{name} is {value}, but must be {wanted}"),
            Fault::Malformed => format!("{name} {value} is invalid: {wanted}"),
            Fault::MissingKey => format!("{name} {value} lacks its key: {wanted}"),
        }
    }

    fn new(
        field: TagField,
        value: impl std::fmt::Display,
        wanted: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            field,
            value: value.to_string(),
            wanted: wanted.into(),
            fault: Fault::Other,
        }
    }
}

impl TagFieldError {
    /// What to do about it; `name` is the setting in the caller's terms, and `verb` how it is given.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::TagPatch;
    ///
    /// let patch = TagPatch { step: Some(0), ..TagPatch::default() };
    /// let error = patch.check().unwrap_err();
    /// let remedy = error.remedy("give", "--step");
    /// assert_eq!(remedy, "give --step as a whole number from 1 to 2147483647");
    /// ```
    #[must_use]
    pub fn remedy(&self, verb: &str, name: &str) -> String {
        match self.fault {
            Fault::Malformed => format!("correct {name}"),
            Fault::MissingKey => "put the key into the file that format-keys names; \
                leafid format-key makes one"
                .to_owned(),
            Fault::Other if self.wanted.starts_with("left out") => format!("leave out {name}"),
            Fault::Other => format!("{verb} {name} as {}", self.wanted),
        }
    }

    /// Of the first id of a calendar counter.
    pub(crate) fn start_of_counter(start: u64) -> Self {
        let wanted = "left out: each period of a calendar counter starts at 1; let one start further \
            up by raising the tag NAME@LABEL of the period";
        Self::new(TagField::Start, start, wanted)
    }

    /// Of a limit beyond what the tag's format can write.
    pub(crate) fn bad_limit(limit: Limit, largest: u64) -> Self {
        let wanted = format!("at most {largest}, the largest number that its format can write");
        Self::new(TagField::Limit, limit, wanted)
    }

    /// Of a kind that a tag of this name cannot have.
    pub(crate) fn bad_kind(spec: &TagSpec, wanted: String) -> Self {
        let format = if spec.format.is_some() {
            " with a format"
        } else {
            ""
        };
        Self::new(
            TagField::Kind,
            format_args!("{}{format}", spec.settings.kind),
            wanted,
        )
    }

    /// Of a format that cannot be understood.
    pub(crate) fn bad_format(format: Option<&str>, message: &str) -> Self {
        let value = format!("\"{}\"", Escaped(format.unwrap_or_default()));
        Self {
            fault: Fault::Malformed,
            ..Self::new(TagField::Format, value, message.to_owned())
        }
    }

    /// Of a format whose key is missing.
    pub(crate) fn missing_key(format: Option<&str>, message: &str) -> Self {
        Self {
            fault: Fault::MissingKey,
            ..Self::bad_format(format, message)
        }
    }
}

impl TagSpec {
    /// A tag with the settings that a caller named. The others have their defaults, and `step` is
    /// that of segment tags without one.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and for any setting but format and description that is named of
    /// a tag of another kind than segment.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Tag;
    /// use leafid::store::{TagField, TagKind, TagPatch, TagSpec};
    ///
    /// let tag = Tag::new("order")?;
    /// let named = TagPatch { step: Some(5000), ..TagPatch::default() };
    /// let (segment, snowflake) = (TagKind::Segment, TagKind::Snowflake);
    /// let spec = TagSpec::with_named(tag.clone(), segment, None, None, named.clone(), 1000)?;
    /// assert_eq!((spec.start, spec.settings.step), (1, 5000));
    /// let refused = TagSpec::with_named(tag, snowflake, None, None, named, 1000);
    /// assert_eq!(refused.unwrap_err().field, TagField::Step);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_named(
        tag: Tag,
        kind: TagKind,
        format: Option<Arc<str>>,
        start: Option<u64>,
        named: TagPatch,
        step: u32,
    ) -> Result<Self, TagFieldError> {
        let mut spec = Self::new(tag);
        spec.settings.kind = kind;
        spec.format = format;
        if kind == TagKind::Segment {
            spec.settings.step = named.step.unwrap_or(step);
            spec.settings.policy = named.policy.flatten();
            spec.settings.limit = named.limit.unwrap_or_default();
        } else if let Some(start) = start {
            return Err(not_of(kind, TagField::Start, start));
        } else {
            named.check_kind(kind)?;
        }
        spec.start = start.unwrap_or(spec.start);
        spec.description = named.description.flatten();
        spec.check()?;
        Ok(spec)
    }

    /// Checks that the settings may be those of a tag.
    ///
    /// # Errors
    ///
    /// For a start or a step of 0, or above its maximum, a policy, a format or a description out of
    /// bounds, and a tag of another kind than segment with settings that differ from the defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Tag, store::TagSpec};
    ///
    /// let mut spec = TagSpec::new(Tag::new("order")?);
    /// assert_eq!(spec.check(), Ok(()));
    /// spec.start = 0;
    /// assert!(spec.check().is_err());
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    pub fn check(&self) -> Result<(), TagFieldError> {
        check_number(TagField::Start, self.start, Limit::INT64.largest())?;
        let (settings, default) = (self.settings, TagSettings::default());
        let named = TagPatch {
            step: Some(settings.step).filter(|step| *step != default.step),
            policy: settings.policy.map(Some),
            limit: Some(settings.limit).filter(|limit| *limit != default.limit),
            description: Some(self.description.clone()),
        };
        if settings.kind != TagKind::Segment && self.start != 1 {
            return Err(not_of(settings.kind, TagField::Start, self.start));
        }
        if let Some(format) = &self.format {
            Self::check_format(format)?;
        }
        named.check_kind(settings.kind)?;
        named.check()
    }

    /// Checks that there is an id from the first one to the limit, which a format may have lowered.
    pub(crate) fn check_start(&self) -> Result<(), TagFieldError> {
        let last = self.settings.limit.largest();
        if self.settings.kind != TagKind::Segment || self.start <= last {
            return Ok(());
        }
        let wanted = format!("at most {last}, the largest id that the tag may have");
        Err(TagFieldError::new(TagField::Start, self.start, wanted))
    }

    /// Checks the length and the characters of a format. Whether it has a meaning is known to
    /// [`CompileFormat`](crate::format::CompileFormat) alone.
    ///
    /// # Errors
    ///
    /// For a text that is empty, has more than 500 characters, or a control character.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::TagSpec;
    ///
    /// assert!(TagSpec::check_format("TS{number}").is_ok());
    /// assert!(TagSpec::check_format("TS\n").is_err());
    /// ```
    pub fn check_format(format: &str) -> Result<(), TagFieldError> {
        let len_max = TagSettings::FORMAT_LEN_MAX;
        let wanted = format!("1 to {len_max} characters, none of them a control character");
        let len = format.chars().count();
        let value = if !(1..=len_max).contains(&len) {
            format!("{len} characters long")
        } else if format.chars().any(char::is_control) {
            format!("\"{}\"", Escaped(format))
        } else {
            return Ok(());
        };
        Err(TagFieldError::new(TagField::Format, value, wanted))
    }
}

impl TagPatch {
    /// Checks that the settings may be those of a tag.
    ///
    /// # Errors
    ///
    /// For a step of 0 or above its maximum, and a policy or a description out of bounds.
    ///
    /// # Example
    ///
    /// See [`TagFieldError`].
    pub fn check(&self) -> Result<(), TagFieldError> {
        if let Some(step) = self.step {
            check_number(TagField::Step, step.into(), TagSettings::STEP_MAX.into())?;
        }
        if let Some(Some(policy)) = self.policy {
            check_policy(policy)?;
        }
        let len_max = TagSettings::DESCRIPTION_LEN_MAX;
        match self.description.iter().flatten().next() {
            Some(text) if text.chars().count() > len_max => {
                let value = format!("{} characters long", text.chars().count());
                let wanted = format!("a string of at most {len_max} characters");
                Err(TagFieldError::new(TagField::Description, value, wanted))
            }
            _ => Ok(()),
        }
    }

    /// Checks where the next segment of a tag is to start.
    ///
    /// # Errors
    ///
    /// For 0 and above the largest [`Limit`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::TagPatch;
    ///
    /// assert!(TagPatch::check_next(1).is_ok() && TagPatch::check_next(0).is_err());
    /// ```
    pub fn check_next(next: u64) -> Result<(), TagFieldError> {
        check_number(TagField::Next, next, Limit::INT64.largest())
    }

    /// Checks that the next segment of a tag with this limit is to start at most one above it, where
    /// the tag has no number left, as a restore may want it.
    ///
    /// # Errors
    ///
    /// [`StoreError::NextBeyond`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Limit, Tag, store::TagPatch};
    ///
    /// let (tag, limit) = (Tag::new("order")?, Limit::new(9999).expect("in range"));
    /// assert!(TagPatch::check_next_within(&tag, 10_000, limit).is_ok());
    /// let error = TagPatch::check_next_within(&tag, 10_001, limit).unwrap_err();
    /// let text = "the next segment of tag \"order\" cannot start at 10001: its limit is 9999, and \
    ///     10000 leaves it no number";
    /// assert_eq!(error.to_string(), text);
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    pub fn check_next_within(tag: &Tag, next: u64, limit: Limit) -> Result<(), StoreError> {
        if next <= limit.largest() + 1 {
            return Ok(());
        }
        let tag = tag.clone();
        Err(StoreError::NextBeyond { tag, next, limit })
    }

    /// Checks that tags of this kind have the settings that are named.
    ///
    /// # Errors
    ///
    /// For a step, policy or limit of any but a segment tag.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{TagKind, TagPatch};
    ///
    /// let patch = TagPatch { step: Some(5000), ..TagPatch::default() };
    /// assert_eq!(patch.check_kind(TagKind::Segment), Ok(()));
    /// let error = patch.check_kind(TagKind::Snowflake).unwrap_err();
    /// let text = "step is 5000, but must be left out: tags of the kind snowflake have no step";
    /// assert_eq!(error.to_string(), text);
    /// ```
    pub fn check_kind(&self, kind: TagKind) -> Result<(), TagFieldError> {
        if kind == TagKind::Segment {
            return Ok(());
        }
        if let Some(step) = self.step {
            return Err(not_of(kind, TagField::Step, step));
        }
        if let Some(policy) = self.policy {
            let name = policy.map_or("default", |policy| policy.name());
            return Err(not_of(kind, TagField::Policy, name));
        }
        match self.limit {
            Some(limit) => Err(not_of(kind, TagField::Limit, limit)),
            None => Ok(()),
        }
    }
}

impl StepPolicy {
    /// The longest `cover` of a tag's policy: a month of ids in memory. More is a slip of the pen.
    pub const COVER_MAX: Duration = Duration::from_hours(31 * 24);

    /// The policy of that name with the parameters that a caller named; the others have their
    /// defaults.
    ///
    /// # Errors
    ///
    /// For an unknown name, and for a parameter that the policy does not have.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{StepPolicy, store::TagField};
    ///
    /// let leaf = StepPolicy::with_named("leaf", Some(5000), None)?;
    /// assert_eq!(leaf, StepPolicy::Leaf { step_max: 5000 });
    /// let error = StepPolicy::with_named("fixed", Some(5000), None).unwrap_err();
    /// assert_eq!(error.field, TagField::StepMax);
    /// # Ok::<(), leafid::store::TagFieldError>(())
    /// ```
    pub fn with_named(
        name: &str,
        step_max: Option<u64>,
        cover: Option<Duration>,
    ) -> Result<Self, TagFieldError> {
        let Some(mut policy) = Self::from_name(name) else {
            let value = format!("{name:?}");
            return Err(TagFieldError::new(
                TagField::Policy,
                value,
                "fixed, leaf or cover",
            ));
        };
        let without = |field: TagField, value: String| {
            let wanted = format!("left out: the policy {name} has no {}", field.name());
            TagFieldError::new(field, value, wanted)
        };
        let (own_step_max, own_cover) = match &mut policy {
            Self::Fixed => (None, None),
            Self::Leaf { step_max } => (Some(step_max), None),
            Self::Cover { cover, step_max } => (Some(step_max), Some(cover)),
        };
        if let Some(given) = step_max {
            let own = own_step_max.ok_or_else(|| without(TagField::StepMax, given.to_string()))?;
            *own = given;
        }
        if let Some(given) = cover {
            *own_cover.ok_or_else(|| without(TagField::Cover, seconds(given)))? = given;
        }
        Ok(policy)
    }
}

fn check_number(field: TagField, number: u64, max: u64) -> Result<(), TagFieldError> {
    match (1..=max).contains(&number) {
        true => Ok(()),
        false => {
            let wanted = format!("a whole number from 1 to {max}");
            Err(TagFieldError::new(field, number, wanted))
        }
    }
}

fn check_policy(policy: StepPolicy) -> Result<(), TagFieldError> {
    if let StepPolicy::Leaf { step_max } | StepPolicy::Cover { step_max, .. } = policy {
        check_number(TagField::StepMax, step_max, Limit::INT64.largest())?;
    }
    match policy {
        StepPolicy::Cover { cover, .. }
            if cover.is_zero() || cover.subsec_nanos() != 0 || cover > StepPolicy::COVER_MAX =>
        {
            let max = StepPolicy::COVER_MAX.as_secs();
            let wanted = format!("a whole number of seconds from 1 to {max}");
            Err(TagFieldError::new(TagField::Cover, seconds(cover), wanted))
        }
        _ => Ok(()),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn not_of(kind: TagKind, field: TagField, value: impl std::fmt::Display) -> TagFieldError {
    let wanted = format!("left out: tags of the kind {kind} have no {}", field.name());
    TagFieldError::new(field, value, wanted)
}

#[cfg(test)]
mod tests;
