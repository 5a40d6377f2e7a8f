//! `/v1/tags/{tag}/ids` and `/v1/tags/{tag}/ranges`: ids by the batch and by the run.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use leafid::Tag;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::answer;
use super::answered::Answered;
use super::auth::Changer;
use super::json::{Fields, check_declared, read_body};
use super::openapi::values;
use super::path::{self, Query};
use super::problem::Problem;
use super::served::Served;
use super::tags::TagPath;
use crate::net::unread::{Backlog, Charge, FREE_LEN};
use crate::service::{Caller, Issued, Service};

/// How many ids.
#[derive(ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct IdsRequest {
    /// How many ids; 1 when it is missing.
    #[schema(schema_with = values::count, required = false)]
    #[param(minimum = 1, maximum = 10_000, default = 1)]
    count: Option<u64>,
}

/// Ids, ascending but not always adjacent.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what is written without it, for speed")]
pub(crate) struct Ids {
    /// The ids, as strings: JavaScript numbers hold 53 bits only.
    #[schema(example = json!(["1", "2", "3"]))]
    ids: Vec<String>,
}

/// How long a run.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct RangeRequest {
    /// How many adjacent ids.
    #[schema(schema_with = values::length)]
    length: u64,
}

/// A run of adjacent ids, the caller's alone: every whole number from `first` to `last`, both of
/// them included.
#[derive(Serialize, ToSchema)]
pub(crate) struct Range<'a> {
    #[schema(value_type = String)]
    tag: &'a str,
    /// The first id of the run.
    #[schema(example = "1")]
    first: String,
    /// The last id of the run; it is the caller's too.
    #[schema(example = "1000")]
    last: String,
    /// How many ids it has.
    #[schema(example = 1000)]
    length: u64,
}

pub(crate) const COUNT_FIELDS: &[&str] = &["count"];
pub(crate) const RANGE_FIELDS: &[&str] = &["length"];

/// Bytes of an id with what stands around it.
const ID_LEN_MAX: usize = 19 + 3;

/// Who calls, and over what.
#[derive(Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(super) service: &'a Service,
    pub(super) caller: &'a Caller,
    pub(super) backlog: &'a Arc<Backlog>,
}

/// Issues ids of a tag whose name is still encoded, as the method says.
pub(super) async fn answer(
    called: Called<'_>,
    name: &str,
    request: &Parts,
    body: Incoming,
) -> Answered {
    let tag = &*path::decode(name)?;
    match request.method {
        Method::GET | Method::HEAD => get(called, tag, request.uri.query()).await,
        Method::POST => post(called, tag, request, body).await,
        _ => Err(Problem::method_not_allowed("GET, HEAD, POST")),
    }
}

/// Issues ids of a tag, as a GET for curl. Every call issues new ones, also a repeated one.
#[utoipa::path(
    get, path = "/v1/tags/{tag}/ids", tag = "ids", operation_id = "get_ids",
    params(TagPath, IdsRequest),
    responses((status = 200, description = "the ids", body = Ids))
)]
pub(crate) async fn get(called: Called<'_>, tag: &str, query: Option<&str>) -> Answered {
    let query = Query::parse(query, COUNT_FIELDS)?;
    let count = query.number("count")?.unwrap_or(1);
    issue(called, tag, count).await
}

/// Issues ids of a tag. Without a body it issues one.
#[utoipa::path(
    post, path = "/v1/tags/{tag}/ids", tag = "ids", operation_id = "post_ids",
    params(TagPath),
    request_body(content = IdsRequest, description = "how many; one without a body"),
    responses((status = 200, description = "the ids", body = Ids))
)]
pub(crate) async fn post(
    called: Called<'_>,
    tag: &str,
    request: &Parts,
    body: Incoming,
) -> Answered {
    let limits = called.service.limits();
    let body = read_body(body, limits).await?;
    if body.is_empty() {
        return get(called, tag, request.uri.query()).await;
    }
    Query::parse(request.uri.query(), &[])?;
    check_declared(&request.headers, called.caller)?;
    let mut fields = Fields::parse(&request.headers, &body, COUNT_FIELDS)?;
    let count = fields.count("count", limits.count_max)?.unwrap_or(1);
    issue(called, tag, count).await
}

async fn issue(called: Called<'_>, tag: &str, count: u64) -> Answered {
    let Called {
        service,
        caller,
        backlog,
    } = called;
    let room = room(backlog, count.min(service.limits().count_max)).await;
    let issued = service.next_many(caller, tag, count).await?;
    Ok(answer::of(
        StatusCode::OK,
        "application/json",
        match room {
            Some(room) => room.keep(ids_json(&issued)),
            None => ids_json(&issued),
        },
    ))
}

/// Waits until as many ids may be answered; `None`: they are too few to count.
async fn room(backlog: &Arc<Backlog>, count: u64) -> Option<Charge> {
    let len_max = usize::try_from(count).unwrap_or(usize::MAX) * ID_LEN_MAX;
    match len_max > FREE_LEN {
        true => Some(backlog.room(len_max).await),
        false => None,
    }
}

fn ids_json(issued: &Issued) -> Bytes {
    let len = usize::try_from(issued.len()).unwrap_or(0);
    let mut json = Vec::with_capacity(len * ID_LEN_MAX + 10);
    let mut digits = itoa::Buffer::new();
    json.extend_from_slice(b"{\"ids\":[");
    for (index, id) in issued.ids().enumerate() {
        json.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
        json.extend_from_slice(digits.format(id.get()).as_bytes());
        json.push(b'"');
    }
    json.extend_from_slice(b"]}");
    json.into()
}

/// Gives a run of adjacent ids to the caller, who issues them without asking again. A snowflake
/// tag has no runs.
#[utoipa::path(
    post, path = "/v1/tags/{tag}/ranges", tag = "ids", operation_id = "post_ranges",
    params(TagPath),
    request_body = RangeRequest,
    responses((status = 200, description = "the run", body = Range))
)]
pub(crate) async fn post_range(
    State(service): Served,
    Changer(caller): Changer,
    Path(tag): Path<String>,
    request: Request,
) -> Answered {
    let tag = Tag::new(tag)?;
    let length_max = service.limits().range_len_max;
    let mut fields = Fields::read(request, service.limits(), RANGE_FIELDS).await?;
    let length = fields.count("length", length_max)?;
    let wanted = || format!("a whole number from 1 to {length_max}");
    let length = length.ok_or_else(|| fields.missing("length", &wanted()))?;
    let run = service.take(&caller, tag.as_str(), length).await?;
    let range = Range {
        tag: tag.as_str(),
        first: run.start().to_string(),
        last: (run.end() - 1).to_string(),
        length: run.len(),
    };
    Ok(answer::json(StatusCode::OK, &range))
}
