//! `TagRow`: a tag as the commands show it, alike from a server and straight from a store.

use leafid::store::{TagKind, TagRecord};
use leafid::{Limit, StepPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tag, in the words of the server's HTTP API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TagRow {
    pub(crate) tag: String,
    /// `segment` or `snowflake`.
    pub(crate) kind: String,
    /// The first id not yet given to any segment; text, as JSON numbers end at 2^53. None: it is
    /// a snowflake tag, which has no step and limit either.
    pub(crate) max_id: Option<String>,
    pub(crate) step: Option<u32>,
    /// None: the server's default.
    pub(crate) policy: Option<PolicyRow>,
    pub(crate) limit: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) updated: Option<String>,
    /// How it stands on the server that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) live: Option<Value>,
}

/// A step policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PolicyRow {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cover_seconds: Option<u64>,
}

/// A page of tags.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TagPage {
    pub(crate) tags: Vec<TagRow>,
    /// None on the last page.
    pub(crate) next: Option<String>,
}

impl From<StepPolicy> for PolicyRow {
    fn from(policy: StepPolicy) -> Self {
        let (step_max, cover_seconds) = match policy {
            StepPolicy::Fixed => (None, None),
            StepPolicy::Leaf { step_max } => (Some(step_max), None),
            StepPolicy::Cover { cover, step_max } => (Some(step_max), Some(cover.as_secs())),
        };
        Self {
            name: policy.name().to_owned(),
            step_max,
            cover_seconds,
        }
    }
}

impl From<&TagRecord> for TagRow {
    fn from(record: &TagRecord) -> Self {
        let updated = record.updated_ms;
        let updated = updated.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let of_segments = (record.settings.kind == TagKind::Segment).then_some(record.settings);
        Self {
            tag: record.tag.as_str().to_owned(),
            kind: record.settings.kind.to_string(),
            max_id: of_segments.map(|_| record.max_id.to_string()),
            step: of_segments.map(|settings| settings.step),
            policy: of_segments.and_then(|settings| settings.policy.map(PolicyRow::from)),
            limit: of_segments.map(|settings| settings.limit.to_string()),
            description: record.description.clone(),
            updated: updated.map(|updated| updated.to_string()),
            live: None,
        }
    }
}

impl TagRow {
    /// None: it is a snowflake tag.
    pub(crate) fn policy_name(&self) -> Option<&str> {
        self.step?;
        let policy = self.policy.as_ref();
        Some(policy.map_or("default", |policy| &policy.name))
    }

    /// How many ids are left below the limit.
    pub(crate) fn headroom(&self) -> Option<u64> {
        let limit: Limit = self.limit.as_ref()?.parse().ok()?;
        Some(limit.headroom(self.max_id.as_ref()?.parse().ok()?))
    }
}
