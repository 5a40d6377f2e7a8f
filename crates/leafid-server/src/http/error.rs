//! Which problem each meaning of the service is: the one place that maps errors to HTTP.

use std::borrow::Cow;

use leafid::store::StoreError;
use leafid::{IssueError, Never, NotYetReason, SnowflakeError, TagError};

use super::problem::{Kind, Problem};
use crate::service::{Code, ServiceError};

const RETRY: &str = "try again when Retry-After has passed";
const LOOK: &str =
    "try again when Retry-After has passed; if it stays, see /readyz?verbose and the server's log";
const ASK_ANOTHER: &str = "try again when Retry-After has passed, or ask another server";
const TAKE_IDS: &str =
    "take its ids with POST /v1/tags/{tag}/ids, or create another tag of kind segment";

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let detail = error.to_string();
        let mut problem = match &error {
            ServiceError::UnknownTag { tag }
            | ServiceError::Issue(IssueError::Never(Never::UnknownTag { tag })) => {
                Self::unknown_tag(tag, detail)
            }
            ServiceError::TagExists { tag } => Self::tag_exists(tag, detail),
            other => Self::new(Kind::of(other.code()), detail, next(other)),
        };
        problem = match &error {
            ServiceError::BadCount { field, .. } => problem.with_field(*field),
            ServiceError::Issue(IssueError::Never(Never::BadTag(_))) => problem.with_field("tag"),
            ServiceError::Decompose(_) => problem.with_field("id"),
            _ => problem,
        };
        match error.retry_after() {
            Some(retry_after) => problem.with_retry_after(retry_after),
            None => problem,
        }
    }
}

impl From<TagError> for Problem {
    fn from(error: TagError) -> Self {
        Self::new(Kind::BAD_TAG, error.to_string(), NAME_A_TAG).with_field("tag")
    }
}

const NAME_A_TAG: &str = "name a tag of 1 to 128 characters, percent-encoded in a path";

/// What to do about it, where the meaning alone does not say.
fn next(error: &ServiceError) -> Cow<'static, str> {
    let text = match error {
        ServiceError::SegmentOff => "set segment = true, or ask another server",
        ServiceError::SnowflakeOff => "set snowflake = true, or ask another server",
        ServiceError::BadCount { field, max, .. } => {
            return format!("send {field} as a whole number from 1 to {max}").into();
        }
        ServiceError::Issue(IssueError::NotYet(not_yet)) => match not_yet.reason {
            NotYetReason::StoreFailed(_) => LOOK,
            NotYetReason::TooManyTags(_) => "use a tag that is in use already, or raise tags_max",
            NotYetReason::Loading | NotYetReason::Busy => RETRY,
        },
        ServiceError::Issue(IssueError::Never(Never::BadCount { .. }))
        | ServiceError::Snowflake(SnowflakeError::BadCount { .. }) => {
            "ask for fewer ids, at least 1"
        }
        ServiceError::Decompose(_) => "name the layout that the id was made with, as ?layout=NAME",
        ServiceError::Store(StoreError::UnknownTag) => "create it with POST /v1/tags",
        other => of_code(other.code()),
    };
    text.into()
}

fn of_code(code: Code) -> &'static str {
    match code {
        Code::BadCount | Code::BadField => "send another value",
        Code::BadTag => NAME_A_TAG,
        Code::NoToken => "send a token: Authorization: Bearer SECRET",
        Code::BadToken => "send the secret of one of the tokens in the access file",
        Code::NotAdmin => "use a token with admin = true",
        Code::UnknownTag => "create it with POST /v1/tags",
        Code::UnknownToken => "see the access file for those that there are",
        Code::UnknownWorker => "see GET /v1/workers for those that there are",
        Code::TagExists => "change it, or choose another name",
        Code::LimitReached => "raise the tag's limit with PATCH /v1/tags/{tag}, or use another tag",
        Code::SnowflakeTag => TAKE_IDS,
        Code::WorkerAlive => "stop that server, and it gives the worker id back",
        Code::WorkerChanged => "see GET /v1/workers for who holds it now",
        Code::TooManyQuotas => "take another tag's quota away with DELETE /v1/quotas/tags/{tag}",
        Code::OverQuota => "try again when Retry-After has passed, or have the quota raised",
        Code::BadRow => "repair the tag's row in the store",
        Code::LayoutEnded => "set layout to one with more bits of time, or with a later epoch",
        Code::Unsupported => "set the store up as the detail says",
        Code::ModeOff => "ask another server",
        Code::NotYet => RETRY,
        Code::NoWorker | Code::StoreUnavailable => LOOK,
        Code::ClockBehind => "try again when Retry-After has passed, or set clock-policy = borrow",
        Code::ShuttingDown => "ask another server, or this one again once it is restarted",
        Code::Overloaded => ASK_ANOTHER,
    }
}
