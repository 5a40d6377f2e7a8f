//! Names of the periods of calendar counters: `NAME@LABEL`, a tag for each period.

use crate::format::{Form, IdFormat};
use crate::generators::Generators;
use crate::limit::Limit;
use crate::store::{StoreError, TagFieldError, TagKind, TagSpec};
use crate::tag::Tag;

/// In 2001, with labels as long as those of any four digits for the year.
const ANY_MS: u64 = 1_000_000_000_000;

/// Refuses a calendar counter whose periods would have no valid names, and a first id, which it
/// would not have.
pub(super) fn check_counter(spec: &TagSpec, format: &dyn IdFormat) -> Result<(), StoreError> {
    if spec.start != 1 {
        return Err(TagFieldError::start_of_counter(spec.start).into());
    }
    let label = format
        .period(ANY_MS)
        .map_or(0, |period| period.label.to_string().len() + 1);
    let max = Tag::LEN_MAX - label;
    let len = spec.tag.as_str().chars().count();
    if len <= max {
        return Ok(());
    }
    let message = format!(
        "the tags of its periods, NAME@LABEL, would be too long: give a tag with this format at most \
         {max} characters, this one has {len}"
    );
    Err(TagFieldError::bad_format(spec.format.as_deref(), &message).into())
}

/// The name and the label, if the name of a tag may be that of a period.
fn parts(tag: &Tag) -> Option<(Tag, &str)> {
    let (name, label) = tag.as_str().rsplit_once('@')?;
    let is_label = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    let name = is_label.then(|| Tag::new(name).ok());
    Some((name.flatten()?, label))
}

impl Generators {
    /// The tag of a period of a calendar counter, by its name; `None` if it is the name of none.
    pub(super) async fn period_of_name(&self, tag: &Tag) -> Result<Option<TagSpec>, StoreError> {
        let Some((name, label)) = parts(tag) else {
            return Ok(None);
        };
        let Some(counter) = self.read_tag(&name).await? else {
            return Ok(None);
        };
        let Ok(Form::Calendar(format)) = self.form_of(&counter) else {
            return Ok(None);
        };
        // All have names of one length, and as many numbers.
        let Some(any) = format.period(ANY_MS) else {
            return Ok(None);
        };
        let is_label = any.label.to_string().len() == label.len();
        let label = label.parse().ok().filter(|_| is_label);
        let label = label.filter(|label| format.has_period(*label));
        let spec = label.and_then(|label| counter.period(label).ok());
        Ok(spec.filter(|spec| spec.tag == *tag).map(|mut spec| {
            let limit = Limit::new(any.len()).unwrap_or_default();
            spec.settings.limit = spec.settings.limit.min(limit);
            spec
        }))
    }

    /// A new tag, with the limit and the description of a period if it has the name of one.
    pub(super) async fn as_period(&self, mut spec: TagSpec) -> Result<TagSpec, StoreError> {
        if let Some(period) = self.period_of_name(&spec.tag).await? {
            spec.settings.limit = spec.settings.limit.min(period.settings.limit);
            spec.description = spec.description.or(period.description);
        }
        Ok(spec)
    }

    /// Refuses a limit beyond what the counter of a period can write.
    pub(super) async fn check_limit_of_period(
        &self,
        limit: Option<Limit>,
        tag: &Tag,
    ) -> Result<(), StoreError> {
        let Some(limit) = limit else {
            return Ok(());
        };
        match self.period_of_name(tag).await? {
            Some(period) if limit > period.settings.limit => {
                let largest = period.settings.limit.largest();
                Err(TagFieldError::bad_limit(limit, largest).into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a tag that has the name of a period and cannot be one: the counter would have no
    /// numbers until its next period.
    pub(super) async fn check_beside_counter(&self, spec: &TagSpec) -> Result<(), StoreError> {
        let can_be_period = spec.settings.kind == TagKind::Segment && spec.format.is_none();
        let (false, Some((counter, _))) = (can_be_period, parts(&spec.tag)) else {
            return Ok(());
        };
        let record = self.read_tag(&counter).await?;
        if !record.is_some_and(|record| self.is_calendar(&record)) {
            return Ok(());
        }
        let wanted = format!(
            "segment, without a format: the calendar counter \"{counter}\" takes the numbers of a \
             period from a tag of this name"
        );
        Err(TagFieldError::bad_kind(spec, wanted).into())
    }
}
