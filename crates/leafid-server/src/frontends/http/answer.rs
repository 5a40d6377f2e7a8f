//! `Answer`: builds every answer in one place, so that none can be cached by mistake.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

/// An answer with its whole body. The bodies are small: the largest is a page of tags.
pub(crate) type Answer = Response<Full<Bytes>>;

/// An answer that must not be cached.
pub(crate) fn of(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Answer::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Plain text, with Spring's spelling of the type.
pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    of(status, "text/plain;charset=UTF-8", body)
}

pub(crate) fn html(body: String) -> Answer {
    of(StatusCode::OK, "text/html;charset=UTF-8", body)
}

pub(crate) fn ok(body: &impl Serialize) -> Answer {
    json(StatusCode::OK, body)
}

pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Answer {
    // Serialising our own types to memory does not fail.
    let body = serde_json::to_vec(body).unwrap_or_default();
    of(status, "application/json", body)
}

/// An empty body.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Answer::new(Full::default());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
