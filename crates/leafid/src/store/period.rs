//! The tags of a calendar counter's periods: `NAME@LABEL`, with a description that tells them from a
//! tag that somebody gave such a name.

use super::{TagKind, TagRecord, TagSettings, TagSpec};
use crate::tag::{Tag, TagError};

impl TagRecord {
    /// The tag of a period of this calendar counter, as servers create it when the period begins.
    ///
    /// # Errors
    ///
    /// [`TagError::TooLong`] for a counter whose name leaves no room for the label.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Tag, store::TagSpec};
    ///
    /// let counter = TagSpec::new(Tag::new("invoice")?).record();
    /// let period = counter.period(20_261_122)?;
    /// assert_eq!(period.tag.as_str(), "invoice@20261122");
    /// assert_eq!(period.period_label(), Some(20_261_122));
    /// assert_eq!(TagSpec::new(period.tag).period_label(), None);
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    pub fn period(&self, label: u64) -> Result<TagSpec, TagError> {
        let tag = Tag::new(format!("{}@{label}", self.tag))?;
        Ok(TagSpec {
            settings: TagSettings {
                kind: TagKind::Segment,
                ..self.settings
            },
            description: Some(description(self.tag.as_str(), label)),
            ..TagSpec::new(tag)
        })
    }

    /// The label of the period whose tag this is; `None` for any other tag.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Tag, store::TagSpec};
    ///
    /// let counter = TagSpec::new(Tag::new("invoice")?).record();
    /// assert_eq!(counter.period(2026)?.record().period_label(), Some(2026));
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    #[must_use]
    pub fn period_label(&self) -> Option<u64> {
        label_of(&self.tag, self.description.as_deref())
    }
}

impl TagSpec {
    /// The label of the period whose tag this is; `None` for any other tag.
    ///
    /// # Example
    ///
    /// See [`TagRecord::period`].
    #[must_use]
    pub fn period_label(&self) -> Option<u64> {
        label_of(&self.tag, self.description.as_deref())
    }
}

fn label_of(tag: &Tag, found: Option<&str>) -> Option<u64> {
    let (name, label) = tag.as_str().rsplit_once('@')?;
    let label = label.parse().ok()?;
    (found == Some(&*description(name, label))).then_some(label)
}

fn description(name: &str, label: u64) -> String {
    let name: String = name
        .chars()
        .take(TagSettings::DESCRIPTION_LEN_MAX / 2)
        .collect();
    format!("period {label} of {name}")
}
