//! Reads the messages about a tag.

use std::sync::Arc;
use std::time::Duration;

use leafid::store::{TagKind, TagPatch, TagSpec};
use leafid::{Limit, ParseFamilyError, StepPolicy, Tag};

use crate::frontends::grpc::error::Refusal;
use crate::frontends::grpc::v1::{self, CreateTagRequest, Kind, Policy, UpdateTagRequest, policy};

/// The tag to create; `step` is the default for tags without one.
pub(super) fn spec(request: CreateTagRequest, step: u32) -> Result<TagSpec, Refusal> {
    let CreateTagRequest { tag, start } = request;
    let tag = tag.unwrap_or_default();
    let named = TagPatch {
        step: Some(tag.step).filter(|step| *step != 0),
        policy: tag.policy.map(policy).transpose()?,
        limit: Some(tag.limit)
            .filter(|limit| *limit != 0)
            .map(limit)
            .transpose()?,
        description: Some(description(tag.description)),
    };
    let start = Some(start).filter(|start| *start != 0);
    let name = name("tag.name", tag.name)?;
    Ok(TagSpec::with_named(
        name,
        kind(tag.kind, &tag.family)?,
        Some(tag.format)
            .filter(|format| !format.is_empty())
            .map(Arc::from),
        start,
        named,
        step,
    )?)
}

/// Which tag to change, what to change, and where its next segment starts.
pub(super) fn patch(request: UpdateTagRequest) -> Result<(Tag, TagPatch, Option<u64>), Refusal> {
    let UpdateTagRequest {
        tag,
        update_mask,
        next,
    } = request;
    let tag = tag.unwrap_or_default();
    let mut patch = TagPatch::default();
    for path in paths(&tag, update_mask.map(|mask| mask.paths).unwrap_or_default()) {
        match path.as_str() {
            "step" => patch.step = Some(tag.step),
            "policy" => {
                let policy = tag.policy.map(policy).transpose()?;
                patch.policy = Some(policy.flatten());
            }
            "limit" => patch.limit = Some(limit(tag.limit)?),
            "description" => patch.description = Some(description(tag.description.clone())),
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

/// The tag of a request without a mask, if it has values that are for life.
pub(super) fn fixed(request: &UpdateTagRequest) -> Option<v1::Tag> {
    let mask = request.update_mask.as_ref();
    let named = mask.map_or(&[][..], |mask| &mask.paths);
    let takes_all = named.is_empty() || named == ["*"];
    let has_fixed =
        |tag: &&v1::Tag| tag.kind != 0 || !tag.family.is_empty() || !tag.format.is_empty();
    request
        .tag
        .as_ref()
        .filter(has_fixed)
        .filter(|_| takes_all)
        .cloned()
}

/// Refuses values for life that differ from those of the tag: a tag that was read may be sent as a
/// whole.
pub(super) fn check_fixed(given: &v1::Tag, found: &v1::Tag) -> Result<(), Refusal> {
    let kept = |given: &str, found: &str| given.is_empty() || given == found;
    let field = if given.kind != 0 && given.kind != found.kind {
        "tag.kind"
    } else if !kept(&given.family, &found.family) {
        "tag.family"
    } else if !kept(&given.format, &found.format) {
        "tag.format"
    } else {
        return Ok(());
    };
    let message = format!(
        "{field} differs from that of the tag, which is for life: leave it out, or make a new tag"
    );
    Err(Refusal::bad_field(field, message))
}

/// The fields to change: those that the mask names, or else those with a value.
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

fn kind(kind: i32, family: &str) -> Result<TagKind, Refusal> {
    if !family.is_empty() && kind != i32::from(Kind::Family) {
        let message = "family is for tags of KIND_FAMILY: send that kind, or leave family out";
        return Err(Refusal::bad_field("tag.family", message));
    }
    match Kind::try_from(kind) {
        Ok(Kind::Unspecified | Kind::Segment) => Ok(TagKind::Segment),
        Ok(Kind::Snowflake) => Ok(TagKind::Snowflake),
        Ok(Kind::Family) => {
            let family = family.parse().map(TagKind::Family);
            family.map_err(|error: ParseFamilyError| {
                Refusal::bad_field("tag.family", error.to_string())
            })
        }
        Err(_) => {
            let message =
                format!("{kind} is no kind: send KIND_SEGMENT, KIND_SNOWFLAKE or KIND_FAMILY");
            Err(Refusal::bad_field("tag.kind", message))
        }
    }
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

fn description(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// `None` is the server's default.
fn policy(policy: Policy) -> Result<Option<StepPolicy>, Refusal> {
    let Some(policy) = policy.policy else {
        return Ok(None);
    };
    let given = |step_max: u64| Some(step_max).filter(|step_max| *step_max != 0);
    let policy = match policy {
        policy::Policy::Fixed(policy::Fixed {}) => Ok(StepPolicy::Fixed),
        policy::Policy::Leaf(leaf) => StepPolicy::with_named("leaf", given(leaf.step_max), None),
        policy::Policy::Cover(cover) => {
            // One below zero is refused as zero is.
            let duration = cover
                .cover
                .map(|cover| Duration::try_from(cover).unwrap_or_default());
            StepPolicy::with_named("cover", given(cover.step_max), duration)
        }
    };
    Ok(Some(policy?))
}

/// The tag that a field names.
pub(super) fn name(field: &'static str, name: String) -> Result<Tag, Refusal> {
    Tag::new(name).map_err(|error| Refusal::from(error).with_field(field))
}
