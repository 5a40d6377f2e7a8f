//! Leaf's error: Spring's fields, with status 500.

use hyper::header::RETRY_AFTER;
use hyper::{StatusCode, Uri};
use serde::Serialize;
use utoipa::ToSchema;

use crate::frontends::http::answer::{self, Answer};
use crate::frontends::http::problem::{Problem, seconds};

/// Leaf's error: Spring's fields.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeafError<'a> {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[schema(example = 1_567_733_700_834_i64)]
    timestamp: i64,
    /// The HTTP status.
    #[schema(example = 500)]
    status: u16,
    /// The status in words.
    #[schema(example = "Internal Server Error")]
    error: &'a str,
    /// What happened, and what to do.
    message: &'a str,
    /// The path of the request.
    path: &'a str,
}

/// An error as Leaf answers it: always 500.
pub(crate) fn answer(uri: &Uri, problem: &Problem) -> Answer {
    let mut answer = spring(uri, StatusCode::INTERNAL_SERVER_ERROR, problem.detail());
    if let Some(retry_after) = problem.retry_after() {
        answer
            .headers_mut()
            .insert(RETRY_AFTER, seconds(retry_after).into());
    }
    answer
}

fn spring(uri: &Uri, status: StatusCode, message: &str) -> Answer {
    let body = LeafError {
        timestamp: crate::wall_clock::now().as_millisecond(),
        status: status.as_u16(),
        error: status.canonical_reason().unwrap_or_default(),
        message,
        path: uri.path(),
    };
    answer::json(status, &body)
}
