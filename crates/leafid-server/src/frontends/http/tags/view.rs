//! How a tag looks in JSON. Numbers that may pass 2^53 are strings.

use jiff::Timestamp;
use leafid::store::{TagKind, TagRecord};
use leafid::{Status, StepPolicy};
use serde::Serialize;
use utoipa::ToSchema;

use crate::service::TagView;

/// How a step adapts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
pub(crate) struct PolicyDocument {
    /// `fixed`, `leaf` or `cover`.
    #[schema(value_type = String, example = "cover")]
    name: &'static str,
    /// The longest segment; `leaf` and `cover` have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    step_max: Option<u64>,
    /// How long one segment should last; `cover` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cover_seconds: Option<u64>,
}

impl From<StepPolicy> for PolicyDocument {
    fn from(policy: StepPolicy) -> Self {
        let (step_max, cover_seconds) = match policy {
            StepPolicy::Fixed => (None, None),
            StepPolicy::Leaf { step_max } => (Some(step_max), None),
            StepPolicy::Cover { cover, step_max } => (Some(step_max), Some(cover.as_secs())),
        };
        Self {
            name: policy.name(),
            step_max,
            cover_seconds,
        }
    }
}

/// A tag as the store has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tag)]
pub(crate) struct TagDocument<'a> {
    /// Its name.
    #[schema(example = "order")]
    tag: &'a str,
    /// Where its ids come from: `segment` or `snowflake`.
    #[schema(value_type = String, example = "segment")]
    kind: &'static str,
    /// The first id not yet given to any segment; null for a snowflake tag.
    #[schema(example = "2001")]
    max_id: Option<String>,
    /// The smallest step; null for a snowflake tag.
    #[schema(example = 1000)]
    step: Option<u32>,
    /// How the step adapts; null is the server's default.
    policy: Option<PolicyDocument>,
    /// The largest id: `int32`, `js53`, `int64`, or a number; null for a snowflake tag.
    #[schema(example = "int64")]
    limit: Option<String>,
    /// What it is for.
    description: Option<&'a str>,
    /// When the row last changed, if the store knows.
    #[schema(format = DateTime)]
    updated: Option<String>,
    /// How it stands on this server; null if it was not used here yet or is a snowflake tag,
    /// missing in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<Option<LiveDocument>>,
}

/// How a tag stands on this server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Live)]
pub(crate) struct LiveDocument {
    /// `new`, `live`, `unknown`, `unusable` or `exhausted`.
    #[schema(value_type = String, example = "live")]
    stage: &'static str,
    /// The policy in force.
    policy: PolicyDocument,
    /// The length of the last segment: the effective step.
    step: u64,
    /// Ids issued since the start.
    issued: String,
    /// Ids in memory.
    remaining: u64,
    /// The measured rate, in ids per second.
    rate: f64,
    /// How long the ids in memory last at that rate; null while there is no rate.
    cover_seconds: Option<f64>,
    /// Numbers left below the limit that are not in any segment yet.
    headroom: String,
    /// Segments reserved.
    segments: u64,
    /// Ids reserved but skipped, never to be issued.
    skipped: u64,
    /// Calls to the store that failed.
    failures: u64,
    /// How often the store was found to have gone back in time.
    regressions: u64,
    /// What the store said when it last failed, if it has not answered since.
    last_error: Option<String>,
}

/// A page of tags.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TagList<'a> {
    /// The tags, in ascending byte order.
    tags: Vec<TagDocument<'a>>,
    /// Where the next page is; null on the last one.
    #[schema(example = "/v1/tags?after=order&limit=100")]
    next: Option<String>,
}

impl<'a> TagList<'a> {
    pub(super) fn new(records: &'a [TagRecord], next: Option<String>) -> Self {
        let tags = records.iter().map(TagDocument::of_record).collect();
        Self { tags, next }
    }
}

impl<'a> TagDocument<'a> {
    fn of_record(record: &'a TagRecord) -> Self {
        let updated = record.updated_ms;
        let updated = updated.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        // What Leaf's columns hold of a snowflake tag means nothing.
        let of_segments = (record.settings.kind == TagKind::Segment).then_some(record.settings);
        Self {
            tag: record.tag.as_str(),
            kind: record.settings.kind.name(),
            max_id: of_segments.map(|_| record.max_id.to_string()),
            step: of_segments.map(|settings| settings.step),
            policy: of_segments.and_then(|settings| settings.policy.map(PolicyDocument::from)),
            limit: of_segments.map(|settings| settings.limit.to_string()),
            description: record.description.as_deref(),
            updated: updated.map(|updated| updated.to_string()),
            live: None,
        }
    }

    pub(super) fn of_view(view: &'a TagView) -> Self {
        let live = view.live.as_ref();
        let live = live.map(|status| LiveDocument::new(status, view.record.max_id));
        Self {
            live: Some(live),
            ..Self::of_record(&view.record)
        }
    }
}

impl LiveDocument {
    fn new(status: &Status, max_id: u64) -> Self {
        Self {
            stage: status.stage.name(),
            policy: status.policy.into(),
            step: status.step,
            issued: status.issued.to_string(),
            remaining: status.remaining,
            rate: status.rate,
            cover_seconds: status.cover.map(|cover| cover.as_secs_f64()),
            headroom: status.limit.headroom(max_id).to_string(),
            segments: status.reserves,
            skipped: status.skipped,
            failures: status.failures,
            regressions: status.regressions,
            last_error: status.last_error.clone(),
        }
    }
}
