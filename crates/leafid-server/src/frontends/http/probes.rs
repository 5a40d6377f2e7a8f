//! `/livez`, `/readyz` and `/metrics`: health checks and monitoring.

use axum::extract::{RawQuery, State};
use hyper::header::ACCEPT;
use hyper::{HeaderMap, StatusCode};
use url::form_urlencoded;

use super::answer::{self, Answer};
use super::auth::Served;
use super::request_context::RequestContext;
use crate::ops::metrics::Format;

/// Liveness: an answer means that the process is alive.
#[utoipa::path(
    get, path = "/livez", tag = "operation", operation_id = "livez",
    responses((status = 200, description = "the process is alive", body = String, content_type = "text/plain"))
)]
pub(crate) async fn livez() -> Answer {
    answer::text(StatusCode::OK, "ok\n")
}

/// Readiness: whether the server is ready for requests; with `?verbose`, the state of each check.
#[utoipa::path(
    get, path = "/readyz", tag = "operation", operation_id = "readyz",
    params(("verbose" = Option<String>, Query, description = "one line for each check")),
    responses(
        (status = 200, description = "ready", body = String, content_type = "text/plain"),
        (status = 503, description = "not ready", body = String, content_type = "text/plain"),
    )
)]
pub(crate) async fn readyz(State(service): Served, RawQuery(query): RawQuery) -> Answer {
    let readiness = service.health().readiness();
    let status = if readiness.is_ready() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let query = query.unwrap_or_default();
    let is_verbose = form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "verbose");
    if is_verbose {
        return answer::text(status, readiness.to_string());
    }
    let short = if readiness.is_ready() {
        "ready\n"
    } else {
        "not ready\n"
    };
    answer::text(status, short)
}

/// Metrics in the text format of Prometheus; in OpenMetrics for clients that accept it.
#[utoipa::path(
    get, path = "/metrics", tag = "operation", operation_id = "metrics",
    responses((status = 200, description = "the metrics", body = String,
               content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(context): State<RequestContext>, headers: HeaderMap) -> Answer {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let text = context.metrics.text(&context.service, format);
    answer::of(StatusCode::OK, format.content_type(), text)
}
