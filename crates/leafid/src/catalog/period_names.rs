//! Names of the periods of calendar counters: `NAME@LABEL`, a tag for each period.

use crate::format::IdFormat;
use crate::generators::Generators;
use crate::store::{StoreError, TagFieldError, TagKind, TagSpec};
use crate::tag::Tag;

/// Refuses a calendar counter whose periods would have no valid names.
pub(super) fn check_room(spec: &TagSpec, format: &dyn IdFormat) -> Result<(), StoreError> {
    /// In 2001, as long as any label of four digits for the year.
    const ANY_MS: u64 = 1_000_000_000_000;
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

impl Generators {
    /// Refuses a tag that has the name of a period and cannot be one: the counter would have no
    /// numbers until its next period.
    pub(super) async fn check_beside_counter(&self, spec: &TagSpec) -> Result<(), StoreError> {
        let can_be_period = spec.settings.kind == TagKind::Segment && spec.format.is_none();
        let Some((name, label)) = spec.tag.as_str().rsplit_once('@') else {
            return Ok(());
        };
        let is_label = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
        let (false, true, Ok(counter)) = (can_be_period, is_label, Tag::new(name)) else {
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
