//! Maps each error of the service to its problem and status code: the only place that maps errors
//! to HTTP.

use leafid::store::{TagField, TagFieldError};
use leafid::{IssueError, Permanent, TagError};

use super::problem::{Kind, Problem};
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
        let detail = error.to_string();
        let mut problem = match &error {
            ServiceError::UnknownTag { tag }
            | ServiceError::Issue(IssueError::Permanent(Permanent::UnknownTag { tag })) => {
                Self::unknown_tag(tag, detail)
            }
            ServiceError::TagExists { tag } => Self::tag_exists(tag, detail),
            ServiceError::Decompose(_) => {
                Self::new(Kind::NOT_OF_LAYOUT, detail, error.remediation(&WORDING))
            }
            other => Self::new(Kind::of(other.code()), detail, other.remediation(&WORDING)),
        };
        if let Some(field) = error.field(&WORDING) {
            problem = problem.with_field(field);
        }
        match error.retry_after() {
            Some(retry_after) => problem.with_retry_after(retry_after),
            None => problem,
        }
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
