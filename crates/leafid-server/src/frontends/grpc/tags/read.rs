//! What the messages about a tag ask for.

use std::time::Duration;

use leafid::store::{TagKind, TagPatch, TagSettings, TagSpec};
use leafid::{Limit, StepPolicy, Tag};

use crate::frontends::grpc::error::Refusal;
use crate::frontends::grpc::v1::{self, CreateTagRequest, Kind, Policy, UpdateTagRequest, policy};

/// Leaf's column is a `varchar(256)`.
const DESCRIPTION_LEN_MAX: usize = 256;
/// A month of ids in memory; more is a slip of the pen.
const COVER_MAX: Duration = Duration::from_secs(31 * 24 * 3600);

/// The tag to create; `step` is that of tags without one.
pub(super) fn spec(request: CreateTagRequest, step: u32) -> Result<TagSpec, Refusal> {
    let CreateTagRequest { tag, start } = request;
    let tag = tag.unwrap_or_default();
    let mut spec = TagSpec::new(name("tag.name", tag.name.clone())?);
    spec.description = description(tag.description.clone())?;
    spec.settings.kind = kind(&tag)?;
    if spec.settings.kind == TagKind::Snowflake {
        no_settings(&tag, start)?;
        return Ok(spec);
    }
    if start > Limit::INT64.largest() {
        let message = format!("start is {start}: the first id is at most 2^63 - 2");
        return Err(Refusal::bad_field("start", message));
    }
    spec.start = start.max(1);
    spec.settings.step = if tag.step == 0 {
        step
    } else {
        self::step(tag.step)?
    };
    spec.settings.policy = tag.policy.map(policy_of).transpose()?.flatten();
    spec.settings.limit = limit(tag.limit)?;
    Ok(spec)
}

/// Which tag to change, and what of it, and where its next segment is to start.
pub(super) fn patch(request: UpdateTagRequest) -> Result<(Tag, TagPatch, Option<u64>), Refusal> {
    let UpdateTagRequest {
        tag,
        update_mask,
        next,
    } = request;
    if next > Limit::INT64.largest() {
        let message = format!("next is {next}: it is at most 2^63 - 2");
        return Err(Refusal::bad_field("next", message));
    }
    let tag = tag.unwrap_or_default();
    let mut patch = TagPatch::default();
    for path in paths(&tag, update_mask.map(|mask| mask.paths).unwrap_or_default()) {
        match path.as_str() {
            "step" => patch.step = Some(step(tag.step)?),
            "policy" => {
                let policy = tag.policy.map(policy_of).transpose()?;
                patch.policy = Some(policy.flatten());
            }
            "limit" => patch.limit = Some(limit(tag.limit)?),
            "description" => patch.description = Some(description(tag.description.clone())?),
            other => {
                let message = format!(
                    "\"{other}\" cannot be changed: name step, policy, limit or description"
                );
                return Err(Refusal::bad_field("update_mask", message));
            }
        }
    }
    let next = (next > 0).then_some(next);
    Ok((name("tag.name", tag.name)?, patch, next))
}

/// What is to be changed: what is named, or what has a value.
fn paths(tag: &v1::Tag, named: Vec<String>) -> Vec<String> {
    let given = [
        ("step", tag.step != 0),
        ("policy", tag.policy.is_some()),
        ("limit", tag.limit != 0),
        ("description", !tag.description.is_empty()),
    ];
    let takes_all = named == ["*"];
    if !named.is_empty() && !takes_all {
        return named;
    }
    let taken = given
        .into_iter()
        .filter(|(_, is_given)| takes_all || *is_given);
    taken.map(|(path, _)| path.to_owned()).collect()
}

fn kind(tag: &v1::Tag) -> Result<TagKind, Refusal> {
    match Kind::try_from(tag.kind) {
        Ok(Kind::Unspecified | Kind::Segment) => Ok(TagKind::Segment),
        Ok(Kind::Snowflake) => Ok(TagKind::Snowflake),
        Err(_) => {
            let message = format!(
                "{} is no kind: send KIND_SEGMENT or KIND_SNOWFLAKE",
                tag.kind
            );
            Err(Refusal::bad_field("tag.kind", message))
        }
    }
}

/// A snowflake tag has no settings.
fn no_settings(tag: &v1::Tag, start: u64) -> Result<(), Refusal> {
    let given = [
        ("start", start != 0),
        ("tag.step", tag.step != 0),
        ("tag.policy", tag.policy.is_some()),
        ("tag.limit", tag.limit != 0),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => {
            let message = format!("a snowflake tag has no {field}: leave it out");
            Err(Refusal::bad_field(field, message))
        }
        None => Ok(()),
    }
}

fn step(step: u32) -> Result<u32, Refusal> {
    let max = TagSettings::STEP_MAX;
    if (1..=max).contains(&step) {
        return Ok(step);
    }
    let message = format!("step is {step}: send 1 to {max}");
    Err(Refusal::bad_field("tag.step", message))
}

/// 0 is the default.
fn limit(largest: u64) -> Result<Limit, Refusal> {
    if largest == 0 {
        return Ok(Limit::default());
    }
    Limit::new(largest).ok_or_else(|| {
        let message = format!("limit is {largest}: the largest id is at most 2^63 - 2");
        Refusal::bad_field("tag.limit", message)
    })
}

fn description(text: String) -> Result<Option<String>, Refusal> {
    if text.chars().count() > DESCRIPTION_LEN_MAX {
        let message = format!("description has more than {DESCRIPTION_LEN_MAX} characters");
        return Err(Refusal::bad_field("tag.description", message));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// `None` is the server's default.
fn policy_of(policy: Policy) -> Result<Option<StepPolicy>, Refusal> {
    let Some(policy) = policy.policy else {
        return Ok(None);
    };
    Ok(Some(match policy {
        policy::Policy::Fixed(policy::Fixed {}) => StepPolicy::Fixed,
        policy::Policy::Leaf(leaf) => StepPolicy::Leaf {
            step_max: step_max(leaf.step_max, StepPolicy::leaf())?,
        },
        policy::Policy::Cover(given) => StepPolicy::Cover {
            cover: cover(given.cover)?,
            step_max: step_max(given.step_max, StepPolicy::cover())?,
        },
    }))
}

/// The longest segment: what is given, or that of the policy as it is by default.
fn step_max(given: u64, default: StepPolicy) -> Result<u64, Refusal> {
    match default {
        StepPolicy::Leaf { step_max } | StepPolicy::Cover { step_max, .. } if given == 0 => {
            Ok(step_max)
        }
        _ if given <= Limit::INT64.largest() => Ok(given),
        _ => {
            let message = format!("step_max is {given}: send at most 2^63 - 2");
            Err(Refusal::bad_field("tag.policy", message))
        }
    }
}

fn cover(given: Option<prost_types::Duration>) -> Result<Duration, Refusal> {
    let Some(given) = given else {
        return Ok(Duration::from_secs(600));
    };
    let cover = Duration::try_from(given).ok();
    let is_whole = |cover: &Duration| cover.subsec_nanos() == 0 && !cover.is_zero();
    cover
        .filter(|cover| is_whole(cover) && *cover <= COVER_MAX)
        .ok_or_else(|| {
            let message = "cover is no whole number of seconds from 1 to 31 days";
            Refusal::bad_field("tag.policy", message)
        })
}

/// The tag that a field names.
pub(super) fn name(field: &'static str, name: String) -> Result<Tag, Refusal> {
    Tag::new(name).map_err(|error| Refusal::from(error).with_field(field))
}
