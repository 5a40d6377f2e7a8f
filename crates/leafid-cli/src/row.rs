//! `TagRow`: a tag as the commands show it, alike from a server and straight from a store.

use leafid::store::TagRecord;
use leafid::{Limit, StepPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tag, in the words of the server's HTTP API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TagRow {
    pub(crate) tag: String,
    /// The first id not yet given to any segment; text, as JSON numbers end at 2^53.
    pub(crate) max_id: String,
    pub(crate) step: u32,
    /// None: the server's default.
    pub(crate) policy: Option<PolicyRow>,
    pub(crate) limit: String,
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
        Self {
            tag: record.tag.to_string(),
            max_id: record.max_id.to_string(),
            step: record.settings.step,
            policy: record.settings.policy.map(PolicyRow::from),
            limit: record.settings.limit.to_string(),
            description: record.description.clone(),
            updated: updated.map(|updated| updated.to_string()),
            live: None,
        }
    }
}

impl TagRow {
    pub(crate) fn policy_name(&self) -> &str {
        self.policy
            .as_ref()
            .map_or("default", |policy| &policy.name)
    }

    /// How many ids are left below the limit.
    pub(crate) fn headroom(&self) -> Option<u64> {
        let limit: Limit = self.limit.parse().ok()?;
        Some(limit.headroom(self.max_id.parse().ok()?))
    }
}
