//! What the body of a request about a tag asks for.

use std::sync::Arc;

use leafid::Tag;
use leafid::store::{TagFieldError, TagKind, TagPatch, TagSpec};

use crate::api::{OtherTagRequest, Policy, SegmentTagRequest, TagChange, Text, Whole};
use crate::frontends::http::json::JsonBody;
use crate::frontends::http::problem::Problem;

/// The tag to create; `step` is that of segment tags without one.
pub(super) fn spec(body: &JsonBody, step: u32) -> Result<TagSpec, Problem> {
    let kind = body
        .text("kind")
        .and_then(|kind| kind.parse::<TagKind>().ok());
    if kind.is_some_and(|kind| kind != TagKind::Segment) {
        let request: OtherTagRequest = body.to()?;
        let mut spec = TagSpec::new(Tag::new(request.tag)?);
        let Text(kind) = request.kind;
        spec.settings.kind = kind;
        spec.format = request.format.map(Arc::from);
        spec.description = request.description;
        return Ok(spec);
    }
    let request: SegmentTagRequest = body.to()?;
    let named = TagPatch {
        step: request.step.map(self::step),
        policy: request.policy.map(Some).map(policy).transpose()?,
        limit: request.limit.map(|Text(limit)| limit),
        description: Some(request.description),
    };
    let tag = Tag::new(request.tag)?;
    let start = request.start.map(Whole::get);
    Ok(TagSpec::with_named(
        tag,
        TagKind::Segment,
        request.format.map(Arc::from),
        start,
        named,
        step,
    )?)
}

/// What to change, and where the next segment is to start.
pub(super) fn patch(body: &JsonBody) -> Result<(TagPatch, Option<u64>), Problem> {
    let change: TagChange = body.to()?;
    let patch = TagPatch {
        step: change.step.map(step),
        policy: change.policy.map(policy).transpose()?,
        limit: change.limit.map(|Text(limit)| limit),
        description: change.description,
    };
    Ok((patch, change.next.map(Whole::get)))
}

/// One that fits no step is still above the largest.
fn step<const MAX: u64>(step: Whole<MAX>) -> u32 {
    u32::try_from(step.get()).unwrap_or(u32::MAX)
}

fn policy(policy: Option<Policy>) -> Result<Option<leafid::StepPolicy>, TagFieldError> {
    policy.map(leafid::StepPolicy::try_from).transpose()
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{CONTENT_TYPE, HeaderValue};
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn body(data: &[u8]) -> Result<JsonBody, Problem> {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json);
        JsonBody::parse(&headers, data)
    }

    /// Whether a body is such a request, which is then written as one that is read as the same.
    fn comes_back<T: Serialize + DeserializeOwned>(data: &[u8]) -> bool {
        let Ok(request) = body(data).and_then(|body| body.to::<T>()) else {
            return false;
        };
        let written = serde_json::to_vec(&request).unwrap();
        let again: T = body(&written).unwrap().to().unwrap();
        assert_eq!(serde_json::to_vec(&again).unwrap(), written);
        true
    }

    /// Guards that no body panics, and that what is accepted has one meaning.
    #[test]
    fn any_body_is_read_or_refused() {
        leafid_fuzz::fuzz("tag-bodies", |data| {
            if let Ok(body) = body(data) {
                let checked = spec(&body, 1000).map(|spec| spec.check());
                drop((checked, patch(&body)));
            }
            let is_segment = comes_back::<SegmentTagRequest>(data);
            let is_other = comes_back::<OtherTagRequest>(data);
            let is_change = comes_back::<TagChange>(data);
            is_segment || is_other || is_change
        });
    }
}
