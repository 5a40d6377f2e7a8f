//! What the body of a request about a tag may hold.

use std::time::Duration;

use leafid::store::{TagKind, TagPatch, TagSettings, TagSpec};
use leafid::{Limit, StepPolicy, Tag};
use serde_json::Value;
use utoipa::ToSchema;

use super::bounds::{COVER_SECONDS_MAX, DESCRIPTION_LEN_MAX};
use super::view::PolicyDocument;
use crate::frontends::http::json::{Fields, whole};
use crate::frontends::http::openapi::values;
use crate::frontends::http::problem::Problem;

/// A tag to be created: of the one kind or the other.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) enum TagRequest {
    Segment(SegmentTagRequest),
    Snowflake(SnowflakeTagRequest),
}

/// A tag whose ids come from segments.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct SegmentTagRequest {
    #[schema(schema_with = values::new_tag)]
    tag: String,
    #[schema(schema_with = values::segment_kind, required = false)]
    kind: Option<String>,
    #[schema(schema_with = values::start, required = false)]
    start: Option<String>,
    #[schema(schema_with = values::step, required = false)]
    step: Option<u32>,
    #[schema(schema_with = values::policy, required = false)]
    policy: Option<PolicyDocument>,
    #[schema(schema_with = values::limit, required = false)]
    limit: Option<String>,
    #[schema(schema_with = values::description, required = false)]
    description: Option<String>,
}

/// A tag whose ids are snowflake ids.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct SnowflakeTagRequest {
    #[schema(schema_with = values::new_tag)]
    tag: String,
    #[schema(schema_with = values::snowflake_kind)]
    kind: String,
    #[schema(schema_with = values::nothing, required = false)]
    start: Option<String>,
    #[schema(schema_with = values::nothing, required = false)]
    step: Option<u32>,
    #[schema(schema_with = values::nothing, required = false)]
    policy: Option<PolicyDocument>,
    #[schema(schema_with = values::nothing, required = false)]
    limit: Option<String>,
    #[schema(schema_with = values::description, required = false)]
    description: Option<String>,
}

/// What to change of a tag. What is missing stays as it is.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct TagChange {
    #[schema(schema_with = values::step, required = false)]
    step: Option<u32>,
    #[schema(schema_with = values::policy, required = false)]
    policy: Option<PolicyDocument>,
    #[schema(schema_with = values::limit, required = false)]
    limit: Option<String>,
    #[schema(schema_with = values::description, required = false)]
    description: Option<String>,
    #[schema(schema_with = values::next, required = false)]
    next: Option<String>,
}

pub(crate) const CREATE_FIELDS: &[&str] = &[
    "tag",
    "kind",
    "start",
    "step",
    "policy",
    "limit",
    "description",
];
pub(crate) const PATCH_FIELDS: &[&str] = &["step", "policy", "limit", "description", "next"];
pub(crate) const POLICY_FIELDS: &[&str] = &["name", "step_max", "cover_seconds"];

pub(super) fn spec(mut fields: Fields, step: u32) -> Result<TagSpec, Problem> {
    let name = fields.text("tag")?.flatten();
    let name = name.ok_or_else(|| fields.missing("tag", "the name of the tag"))?;
    let mut spec = TagSpec::new(Tag::new(name)?);
    spec.settings.kind = kind(&mut fields)?;
    spec.start = fields.number("start", Limit::INT64.largest())?.unwrap_or(1);
    spec.settings.step = self::step(&mut fields)?.unwrap_or(step);
    spec.settings.policy = policy(&mut fields)?.flatten();
    spec.settings.limit = limit(&mut fields)?.unwrap_or_default();
    spec.description = description(&mut fields)?.flatten();
    Ok(spec)
}

/// What to change, and where the next segment is to start.
pub(super) fn patch(mut fields: Fields) -> Result<(TagPatch, Option<u64>), Problem> {
    let patch = TagPatch {
        step: step(&mut fields)?,
        policy: policy(&mut fields)?,
        limit: limit(&mut fields)?,
        description: description(&mut fields)?,
    };
    Ok((patch, fields.number("next", Limit::INT64.largest())?))
}

/// The kind; that of snowflakes leaves nothing else to be set.
fn kind(fields: &mut Fields) -> Result<TagKind, Problem> {
    let Some(name) = fields.text("kind")?.flatten() else {
        return Ok(TagKind::default());
    };
    let kind = name
        .parse()
        .map_err(|_| fields.bad("kind", &Value::String(name), "segment or snowflake"))?;
    if kind == TagKind::Snowflake {
        for unused in ["start", "step", "policy", "limit"] {
            if let Some(value) = fields.take(unused).filter(|value| !value.is_null()) {
                return Err(fields.bad(unused, &value, "left out: a snowflake tag has none"));
            }
        }
    }
    Ok(kind)
}

fn step(fields: &mut Fields) -> Result<Option<u32>, Problem> {
    let step = fields.number("step", TagSettings::STEP_MAX.into())?;
    Ok(step.and_then(|step| u32::try_from(step).ok()))
}

fn limit(fields: &mut Fields) -> Result<Option<Limit>, Problem> {
    let Some(value) = fields.take("limit") else {
        return Ok(None);
    };
    let limit = match &value {
        Value::String(text) => text.parse().ok(),
        value => whole(value).and_then(Limit::new),
    };
    let wanted = "int32, js53, int64, or a whole number from 1 to 9223372036854775806";
    limit
        .map(Some)
        .ok_or_else(|| fields.bad("limit", &value, wanted))
}

fn description(fields: &mut Fields) -> Result<Option<Option<String>>, Problem> {
    let description = fields.text("description")?;
    if let Some(Some(text)) = &description
        && text.chars().count() > DESCRIPTION_LEN_MAX
    {
        let value = Value::String(text.clone());
        return Err(fields.bad("description", &value, "a string of at most 256 characters"));
    }
    Ok(description)
}

/// The inner `None` is null: the server's default.
fn policy(fields: &mut Fields) -> Result<Option<Option<StepPolicy>>, Problem> {
    let value = match fields.take("policy") {
        None => return Ok(None),
        Some(Value::Null) => return Ok(Some(None)),
        Some(value) => value,
    };
    let mut fields = Fields::of(value, "policy.", POLICY_FIELDS)?;
    let wanted = "fixed, leaf or cover";
    let name = fields.text("name")?.flatten();
    let name = name.ok_or_else(|| fields.missing("name", wanted))?;
    let mut policy = StepPolicy::from_name(&name)
        .ok_or_else(|| fields.bad("name", &Value::String(name.clone()), wanted))?;
    match &mut policy {
        StepPolicy::Fixed => {}
        StepPolicy::Leaf { step_max } => read_step_max(&mut fields, step_max)?,
        StepPolicy::Cover { cover, step_max } => {
            read_step_max(&mut fields, step_max)?;
            if let Some(seconds) = fields.number("cover_seconds", COVER_SECONDS_MAX)? {
                *cover = Duration::from_secs(seconds);
            }
        }
    }
    // What the policy did not take is not its own.
    for unused in ["step_max", "cover_seconds"] {
        if let Some(value) = fields.take(unused) {
            let wanted = format!("left out: the policy {name} has none");
            return Err(fields.bad(unused, &value, &wanted));
        }
    }
    Ok(Some(Some(policy)))
}

fn read_step_max(fields: &mut Fields, step_max: &mut u64) -> Result<(), Problem> {
    if let Some(given) = fields.number("step_max", Limit::INT64.largest())? {
        *step_max = given;
    }
    Ok(())
}
