//! `/openapi.json`: the description of the API. The server embeds the text, so that only tests make
//! it from the code, in `document.rs`, and compare the two. `docs/openapi.json` is a copy.

#[cfg(test)]
mod document;
#[cfg(test)]
mod problems;

use bytes::Bytes;
use hyper::StatusCode;

use super::answer::{self, Answer};

/// This description.
#[utoipa::path(
    get, path = "/openapi.json", tag = "operation", operation_id = "openapi",
    responses((status = 200, description = "this description", content_type = "application/json"))
)]
pub(crate) async fn openapi_json() -> Answer {
    let text = Bytes::from_static(openapi().as_bytes());
    answer::of(StatusCode::OK, "application/json", text)
}

/// The description of the API, in OpenAPI 3.1, with a line break at its end.
///
/// # Example
///
/// ```
/// assert!(leafid_server::openapi().contains("/v1/tags/{tag}/ids"));
/// ```
#[must_use]
pub const fn openapi() -> &'static str {
    include_str!("openapi.json")
}
