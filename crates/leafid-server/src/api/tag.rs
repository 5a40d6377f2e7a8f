//! Tags.

use std::time::Duration;

use leafid::store::{TagFieldError, TagKind, TagPatch, TagRecord, TagSettings};
use leafid::{Limit, Status, StepPolicy};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::PAGE_LEN_MAX;
use super::number::{Text, Whole, absent, given};
#[cfg(test)]
use super::schema;
use crate::wall_clock::time;

const ID_MAX: u64 = Limit::INT64.largest();
const STEP_MAX: u64 = TagSettings::STEP_MAX as u64;
const COVER_SECONDS_MAX: u64 = StepPolicy::COVER_MAX.as_secs();

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageRequest {
    /// The page starts after this tag.
    #[param(schema_with = schema::tag, required = false)]
    pub after: Option<String>,
    /// How many tags.
    #[param(minimum = 1, maximum = 1000, default = 100, value_type = Option<u32>)]
    pub limit: Option<Whole<PAGE_LEN_MAX>>,
}

/// A tag to be created: of segments, or of another kind.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum TagRequest {
    /// A tag whose ids come from segments.
    Segment(SegmentTagRequest),
    /// A tag whose ids are snowflake ids, or of a family such as UUIDs.
    Other(OtherTagRequest),
}

impl TagRequest {
    /// A request for a tag with the settings that a caller named. Those that only segment tags have
    /// are left out of others: see [`TagSpec::with_named`](leafid::store::TagSpec::with_named).
    #[must_use]
    pub fn new(
        tag: &leafid::Tag,
        kind: TagKind,
        format: Option<&str>,
        start: Option<u64>,
        named: TagPatch,
    ) -> Self {
        let format = format.map(str::to_owned);
        let tag = tag.as_str().to_owned();
        match kind {
            TagKind::Segment => Self::Segment(SegmentTagRequest {
                tag,
                kind: Some(Text(kind)),
                format,
                start: start.map(Whole::from),
                step: named.step.map(u64::from).map(Whole::from),
                policy: named.policy.flatten().map(Policy::from),
                limit: named.limit.map(Text),
                description: named.description.flatten(),
            }),
            TagKind::Snowflake | TagKind::Family(_) => Self::Other(OtherTagRequest {
                tag,
                kind: Text(kind),
                format,
                start: None,
                step: None,
                policy: None,
                limit: None,
                description: named.description.flatten(),
            }),
        }
    }
}

/// A field of segment tags: it may be given, but must be null.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(expecting = "left out: only a segment tag has one")]
pub struct Nothing;

/// A tag whose ids come from segments.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentTagRequest {
    /// Its name.
    #[schema(schema_with = schema::new_tag)]
    pub tag: String,
    /// `segment`, which is the default.
    #[schema(schema_with = schema::segment_kind, required = false)]
    pub kind: Option<Text<TagKind>>,
    /// How its ids are written; for life.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::format, required = false)]
    pub format: Option<String>,
    /// The first id; 1 when it is missing.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::start, required = false)]
    pub start: Option<Whole<ID_MAX>>,
    /// The smallest step; the server's default when it is missing.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::step, required = false)]
    pub step: Option<Whole<STEP_MAX>>,
    /// The step policy; null is the server's default.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::policy, required = false)]
    pub policy: Option<Policy>,
    /// The largest id.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::limit, required = false)]
    pub limit: Option<Text<Limit>>,
    /// What it is for.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::description, required = false)]
    pub description: Option<String>,
}

/// A tag whose ids are snowflake ids, or of a family such as UUIDs.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherTagRequest {
    /// Its name.
    #[schema(schema_with = schema::new_tag)]
    pub tag: String,
    /// `snowflake`, or a family such as `uuid7`.
    #[schema(schema_with = schema::other_kind)]
    pub kind: Text<TagKind>,
    /// How its ids are written; for life.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::format, required = false)]
    pub format: Option<String>,
    /// Null or left out.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::nothing, required = false)]
    pub start: Option<Nothing>,
    /// Null or left out.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::nothing, required = false)]
    pub step: Option<Nothing>,
    /// Null or left out.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::nothing, required = false)]
    pub policy: Option<Nothing>,
    /// Null or left out.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::nothing, required = false)]
    pub limit: Option<Nothing>,
    /// What it is for.
    #[serde(skip_serializing_if = "absent")]
    #[schema(schema_with = schema::description, required = false)]
    pub description: Option<String>,
}

/// What to change of a tag. What is missing stays as it is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TagChange {
    /// The smallest step.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::step, required = false)]
    pub step: Option<Whole<STEP_MAX>>,
    /// How the step adapts; the inner `None` is null, the server's default.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::policy, required = false)]
    pub policy: Option<Option<Policy>>,
    /// The largest id.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::limit, required = false)]
    pub limit: Option<Text<Limit>>,
    /// What it is for; the inner `None` is null and removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::description, required = false)]
    pub description: Option<Option<String>>,
    /// Where the next segment starts; it can only be raised.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(schema_with = schema::next, required = false)]
    pub next: Option<Whole<ID_MAX>>,
}

impl TagChange {
    /// A request for these changes, and for the next segment to start at `next`.
    #[must_use]
    pub fn new(patch: TagPatch, next: Option<u64>) -> Self {
        Self {
            step: patch.step.map(u64::from).map(Whole::from),
            policy: patch.policy.map(|policy| policy.map(Policy::from)),
            limit: patch.limit.map(Text),
            description: patch.description,
            next: next.map(Whole::from),
        }
    }
}

/// How a step adapts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// `fixed`, `leaf` or `cover`.
    #[schema(example = "cover")]
    pub name: String,
    /// The longest segment; only for `leaf` and `cover`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(value_type = Option<u64>)]
    pub step_max: Option<Whole<ID_MAX>>,
    /// How long one segment should last; only for `cover`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "absent")]
    #[schema(value_type = Option<u64>)]
    pub cover_seconds: Option<Whole<COVER_SECONDS_MAX>>,
}

impl From<StepPolicy> for Policy {
    fn from(policy: StepPolicy) -> Self {
        let (step_max, cover_seconds) = match policy {
            StepPolicy::Fixed => (None, None),
            StepPolicy::Leaf { step_max } => (Some(step_max), None),
            StepPolicy::Cover { cover, step_max } => (Some(step_max), Some(cover.as_secs())),
        };
        Self {
            name: policy.name().to_owned(),
            step_max: step_max.map(Whole::from),
            cover_seconds: cover_seconds.map(Whole::from),
        }
    }
}

impl TryFrom<Policy> for StepPolicy {
    type Error = TagFieldError;

    fn try_from(policy: Policy) -> Result<Self, TagFieldError> {
        let cover = policy
            .cover_seconds
            .map(|cover| Duration::from_secs(cover.get()));
        Self::with_named(&policy.name, policy.step_max.map(Whole::get), cover)
    }
}

/// A tag as the store has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tag {
    /// Its name.
    #[schema(example = "order")]
    pub tag: String,
    /// Where its ids come from: `segment`, `snowflake`, or a family such as `uuid7`.
    #[schema(example = "segment")]
    pub kind: String,
    /// How its ids are written; null for plain numbers, and for the usual text of a family.
    #[schema(example = "SO-{number width=8}")]
    #[serde(default)]
    pub format: Option<String>,
    /// The first id not yet given to any segment; null for a tag of another kind.
    #[schema(example = "2001")]
    pub max_id: Option<String>,
    /// The smallest step; null for a tag of another kind.
    #[schema(example = 1000)]
    pub step: Option<u32>,
    /// The step policy; null is the server's default.
    pub policy: Option<Policy>,
    /// The largest id: `int32`, `js53`, `int64`, or a number; null for a tag of another kind.
    #[schema(example = "int64")]
    pub limit: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// When the row last changed, if the store knows.
    #[schema(format = DateTime)]
    pub updated: Option<String>,
    /// Its state on this server; null if it has not been used here or is of another kind, missing
    /// in lists.
    #[serde(skip_serializing_if = "absent")]
    pub live: Option<Option<Live>>,
    /// What to know about it, such as that the texts of its format cannot be decoded; missing if there
    /// is nothing, and in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, example = json!(["texts of this format cannot be decoded to their numbers"]))]
    pub warnings: Vec<String>,
}

/// The state of a tag on this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Live {
    /// `new`, `live`, `unknown`, `unusable` or `exhausted`.
    #[schema(example = "live")]
    pub stage: String,
    /// The policy in force.
    pub policy: Policy,
    /// The length of the last segment: the effective step.
    pub step: u64,
    /// Ids issued since the start.
    pub issued: String,
    /// Ids in memory.
    pub remaining: u64,
    /// The measured rate, in ids per second.
    pub rate: f64,
    /// How long the ids in memory last at that rate; null while there is no rate.
    pub cover_seconds: Option<f64>,
    /// Numbers below the limit that are not in any segment yet.
    pub headroom: String,
    /// For how many days these last at that rate, which is this server's alone; null while there
    /// is no rate.
    #[schema(example = 5_212_418.4)]
    pub headroom_days: Option<f64>,
    /// Segments reserved.
    pub segments: u64,
    /// Ids reserved that will never be issued.
    pub skipped: u64,
    /// Calls to the store that failed.
    pub failures: u64,
    /// How often the store was found to have gone back in time.
    pub regressions: u64,
    /// The store's last error, until it answers again.
    pub last_error: Option<String>,
}

/// A page of tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TagList {
    /// The tags, in ascending byte order.
    pub tags: Vec<Tag>,
    /// The start of the next page; null on the last one.
    #[schema(example = "/v1/tags?after=order&limit=100")]
    pub next: Option<String>,
}

impl From<&TagRecord> for Tag {
    fn from(record: &TagRecord) -> Self {
        // For a snowflake tag the values in Leaf's columns mean nothing.
        let of_segments = (record.settings.kind == TagKind::Segment).then_some(record.settings);
        Self {
            tag: record.tag.as_str().to_owned(),
            kind: record.settings.kind.to_string(),
            format: record.format.as_deref().map(str::to_owned),
            max_id: of_segments.map(|_| record.max_id.to_string()),
            step: of_segments.map(|settings| settings.step),
            policy: of_segments.and_then(|settings| settings.policy.map(Policy::from)),
            limit: of_segments.map(|settings| settings.limit.to_string()),
            description: record.description.clone(),
            updated: record.updated_ms.map(time),
            live: None,
            warnings: Vec::new(),
        }
    }
}

impl Live {
    /// A tag with this status, whose next segment starts at `max_id`.
    pub(crate) fn new(status: &Status, max_id: u64) -> Self {
        Self {
            stage: status.stage.name().to_owned(),
            policy: status.policy.into(),
            step: status.step,
            issued: status.issued.to_string(),
            remaining: status.remaining,
            rate: status.rate,
            cover_seconds: status.cover.map(|cover| cover.as_secs_f64()),
            headroom: status.limit.headroom(max_id).to_string(),
            headroom_days: status.headroom_days(max_id),
            segments: status.reserves,
            skipped: status.skipped,
            failures: status.failures,
            regressions: status.regressions,
            last_error: status.last_error.clone(),
        }
    }
}
