//! Maps each error of the service to its problem and status code: the only place that maps errors
//! to HTTP.

use leafid::store::{TagField, TagFieldError};
use leafid::{IssueError, Permanent, TagError};

use super::problem::{Kind, Next, Problem};
use crate::service::{ServiceError, Wording};

/// The terms of HTTP in remediations.
const WORDING: Wording = Wording {
    retry_after: "Retry-After",
    tag: "a tag of 1 to 128 characters, percent-encoded in a path",
    token: "a token: Authorization: Bearer SECRET",
    layout: "?layout=NAME",
    create_tag: "POST /v1/tags",
    update_tag: "PATCH /v1/tags/{tag}",
    take_ids: "POST /v1/tags/{tag}/ids",
    tag_field: |field| match field {
        TagField::Policy => "policy.name",
        TagField::StepMax => "policy.step_max",
        TagField::Cover => "policy.cover_seconds",
        field => field.name(),
    },
};

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let kind = match &error {
            ServiceError::Decompose(_) => Kind::NOT_OF_LAYOUT,
            other => Kind::of(other.code()),
        };
        let mut problem = Self::new(kind, error.to_string(), error.remediation(&WORDING));
        if let Some(next) = command(&error) {
            problem = problem.with_next(next);
        }
        if let Some(field) = error.field(&WORDING) {
            problem = problem.with_field(field);
        }
        match error.retry_after() {
            Some(retry_after) => problem.with_retry_after(retry_after),
            None => problem,
        }
    }
}

/// The command that helps, if there is one.
fn command(error: &ServiceError) -> Option<Next> {
    match error {
        ServiceError::UnknownTag { tag }
        | ServiceError::Issue(IssueError::Permanent(Permanent::UnknownTag { tag })) => {
            Some(Next::CreateTag(tag.clone()))
        }
        ServiceError::TagExists { tag } => Some(Next::ShowTag(tag.clone())),
        _ => None,
    }
}

impl From<TagError> for Problem {
    fn from(error: TagError) -> Self {
        ServiceError::Issue(IssueError::Permanent(error.into())).into()
    }
}

impl From<TagFieldError> for Problem {
    fn from(error: TagFieldError) -> Self {
        ServiceError::from(error).into()
    }
}
