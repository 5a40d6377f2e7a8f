//! Which problem each meaning of the service is: the one place that maps errors to HTTP.

use std::time::Duration;

use leafid::store::StoreError;
use leafid::{IssueError, Never, NotYet, NotYetReason, SnowflakeError, TagError};

use super::problem::{Kind, Problem};
use crate::service::ServiceError;

/// When to try a store again that just failed.
const STORE_RETRY: Duration = Duration::from_secs(1);

const RETRY: &str = "try again when Retry-After has passed";
const LOOK_AT_STORE: &str =
    "try again when Retry-After has passed; if it stays, see /readyz?verbose and the server's log";

const TAKE_IDS: &str =
    "take its ids with POST /v1/tags/{tag}/ids, or create another tag of kind segment";

const LOOK_AT_WORKER: &str =
    "try again when Retry-After has passed; if it stays, see /readyz?verbose and the server's log";

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let detail = error.to_string();
        match error {
            ServiceError::Issue(error) => error.into(),
            ServiceError::SegmentOff => Self::new(
                Kind::MODE_OFF,
                detail,
                "set segment = true, or ask another server",
            ),
            ServiceError::SnowflakeOff => Self::new(
                Kind::MODE_OFF,
                detail,
                "set snowflake = true, or ask another server",
            ),
            ServiceError::Snowflake(error) => of_snowflake(&error),
            ServiceError::UnknownWorker { .. } => Self::new(
                Kind::UNKNOWN_WORKER,
                detail,
                "see GET /v1/workers for those that there are",
            ),
            ServiceError::WorkerAlive { .. } => Self::new(
                Kind::WORKER_ALIVE,
                detail,
                "stop that server, and it gives the worker id back",
            ),
            ServiceError::WorkerChanged { .. } => Self::new(
                Kind::WORKER_CHANGED,
                detail,
                "see GET /v1/workers for who holds it now",
            ),
            ServiceError::NotStarted { .. } => {
                Self::new(Kind::STORE_UNAVAILABLE, detail, LOOK_AT_STORE)
                    .with_retry_after(STORE_RETRY)
            }
            ServiceError::BadCount { field, max, .. } => {
                let next = format!("send {field} as a whole number from 1 to {max}");
                Self::new(Kind::BAD_COUNT, detail, next).with_field(field)
            }
            ServiceError::UnknownTag { tag } => Self::unknown_tag(&tag, detail),
            ServiceError::TagExists { tag } => Self::tag_exists(&tag, detail),
            ServiceError::SnowflakeTag { .. } => Self::new(Kind::SNOWFLAKE_TAG, detail, TAKE_IDS),
            ServiceError::Decompose(_) => {
                let next = "name the layout that the id was made with, as ?layout=NAME";
                Self::new(Kind::BAD_FIELD, detail, next).with_field("id")
            }
            ServiceError::Store(error) => of_store(&error),
        }
    }
}

impl From<IssueError> for Problem {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::NotYet(not_yet) => of_not_yet(&not_yet),
            IssueError::Never(never) => of_never(never),
        }
    }
}

impl From<TagError> for Problem {
    fn from(error: TagError) -> Self {
        let next = "name a tag of 1 to 128 characters, percent-encoded in a path";
        Self::new(Kind::BAD_TAG, error.to_string(), next).with_field("tag")
    }
}

fn of_not_yet(not_yet: &NotYet) -> Problem {
    let (kind, next) = match not_yet.reason {
        NotYetReason::StoreFailed(_) => (Kind::STORE_UNAVAILABLE, LOOK_AT_STORE),
        NotYetReason::TooManyTags(_) => (
            Kind::OVERLOADED,
            "use a tag that is in use already, or raise tags_max",
        ),
        _ => (Kind::NOT_YET, RETRY),
    };
    Problem::new(kind, not_yet.to_string(), next).with_retry_after(not_yet.retry_after)
}

fn of_never(never: Never) -> Problem {
    let detail = never.to_string();
    match never {
        Never::BadTag(error) => error.into(),
        Never::UnknownTag { tag } => Problem::unknown_tag(&tag, detail),
        Never::LimitReached { .. } => Problem::new(
            Kind::LIMIT_REACHED,
            detail,
            "raise the tag's limit with PATCH /v1/tags/{tag}, or use another tag",
        ),
        Never::BadRow { .. } => {
            Problem::new(Kind::BAD_ROW, detail, "repair the tag's row in the store")
        }
        Never::NoSegments { .. } => Problem::new(Kind::SNOWFLAKE_TAG, detail, TAKE_IDS),
        Never::BadCount { .. } => {
            Problem::new(Kind::BAD_COUNT, detail, "ask for fewer ids, at least 1")
        }
        Never::Stopped { .. } => Problem::new(
            Kind::SHUTTING_DOWN,
            detail,
            "ask another server, or this one again once it is restarted",
        )
        .with_retry_after(STORE_RETRY),
    }
}

fn of_snowflake(error: &SnowflakeError) -> Problem {
    let detail = error.to_string();
    let problem = match error {
        SnowflakeError::NoWorker { .. } => Problem::new(Kind::NO_WORKER, detail, LOOK_AT_WORKER),
        SnowflakeError::Ahead { .. } => Problem::new(Kind::NOT_YET, detail, RETRY),
        SnowflakeError::ClockBehind { .. } => Problem::new(
            Kind::CLOCK_BEHIND,
            detail,
            "try again when Retry-After has passed, or set clock-policy = borrow",
        ),
        SnowflakeError::Ended { .. } => Problem::new(
            Kind::LAYOUT_ENDED,
            detail,
            "set layout to one with more bits of time, or with a later epoch",
        ),
        SnowflakeError::BadCount { .. } => {
            Problem::new(Kind::BAD_COUNT, detail, "ask for fewer ids, at least 1")
        }
        SnowflakeError::Stopped => Problem::new(
            Kind::SHUTTING_DOWN,
            detail,
            "ask another server, or this one again once it is restarted",
        )
        .with_retry_after(STORE_RETRY),
    };
    match error.retry_after() {
        Some(retry_after) => problem.with_retry_after(retry_after),
        None => problem,
    }
}

fn of_store(error: &StoreError) -> Problem {
    let detail = error.to_string();
    match error {
        StoreError::UnknownTag => {
            Problem::new(Kind::UNKNOWN_TAG, detail, "create it with POST /v1/tags")
        }
        StoreError::TagExists => Problem::new(
            Kind::TAG_EXISTS,
            detail,
            "change it, or choose another name",
        ),
        StoreError::LimitReached { .. } => Problem::new(
            Kind::LIMIT_REACHED,
            detail,
            "raise the tag's limit with PATCH /v1/tags/{tag}, or use another tag",
        ),
        StoreError::BadRow { .. } => {
            Problem::new(Kind::BAD_ROW, detail, "repair the tag's row in the store")
        }
        StoreError::Unsupported { .. } => Problem::new(
            Kind::UNSUPPORTED,
            detail,
            "set the store up as the detail says",
        ),
        StoreError::Unavailable { .. } => {
            Problem::new(Kind::STORE_UNAVAILABLE, detail, LOOK_AT_STORE)
                .with_retry_after(STORE_RETRY)
        }
    }
}
