//! `/v1/tags/{tag}/ids` and `/v1/tags/{tag}/ranges`: ids in batches, and ranges of ids.

use std::sync::Arc;

use axum::extract::{Path, Request};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use leafid::Tag;

use super::answer;
use super::auth::Change;
use super::json::{JsonBody, check_declared, read_body, read_json};
use super::path::{self, Query};
use super::problem::{Answered, Kind, Problem};
use super::tags::TagPath;
use crate::api::{IdsRequest, Index, Range, RangeRequest, Whole};
use crate::net::unread::{Backlog, Charge, FREE_LEN};
use crate::service::{Caller, Issued, Service, ServiceError, ShardChoice};

/// The quotes and the comma of an id.
const AROUND_LEN: usize = 3;

/// A call for ids: the service, the caller, and the connection's unread answers.
#[derive(Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(super) service: &'a Service,
    pub(super) caller: &'a Caller,
    pub(super) backlog: &'a Arc<Backlog>,
}

/// Issues ids of a tag whose name is still percent-encoded, as the method says.
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

/// Issues ids of a tag, as a GET for curl. Every call issues new ids, even a repeated one.
#[utoipa::path(
    get, path = "/v1/tags/{tag}/ids", tag = "ids", operation_id = "get_ids",
    params(TagPath, IdsRequest),
    responses((status = 200, description = "the ids", body = crate::api::Ids))
)]
pub(crate) async fn get(called: Called<'_>, tag: &str, query: Option<&str>) -> Answered {
    issue(called, tag, Query::parse(query)?.to()?).await
}

/// Issues ids of a tag; one id if the request has no body.
#[utoipa::path(
    post, path = "/v1/tags/{tag}/ids", tag = "ids", operation_id = "post_ids",
    params(TagPath),
    request_body(content = IdsRequest, description = "how many; one without a body"),
    responses((status = 200, description = "the ids", body = crate::api::Ids))
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
    Query::parse(request.uri.query())?.check_empty()?;
    check_declared(&request.headers, called.caller)?;
    issue(called, tag, JsonBody::parse(&request.headers, &body)?.to()?).await
}

async fn issue(called: Called<'_>, tag: &str, request: IdsRequest) -> Answered {
    let Called {
        service,
        caller,
        backlog,
    } = called;
    let count = request.count.map_or(1, Whole::get);
    if request.shard.is_some() || request.shard_key.is_some() {
        // First: what a request may name depends on the layout.
        service.check_shards()?;
    }
    let sharded = match shard(request)? {
        None => None,
        Some(shard) => Some(service.in_shard(caller, tag, &shard).await?),
    };
    let caller = sharded.as_ref().unwrap_or(caller);
    let id_len = service.id_len_max(tag) + AROUND_LEN;
    let room = room(backlog, count.min(service.limits().count_max), id_len).await;
    if room.is_some() && backlog.is_process_full() {
        // Before ids are taken: an answer that is cut would lose them.
        return Err(ServiceError::TooMuchHeld.into());
    }
    let issued = service.next_many(caller, tag, count).await?;
    Ok(answer::of(
        StatusCode::OK,
        "application/json",
        match room {
            Some(room) => room.keep(ids_json(&issued, id_len)),
            None => backlog.keep(ids_json(&issued, id_len)),
        },
    ))
}

fn shard(request: IdsRequest) -> Result<Option<ShardChoice>, Problem> {
    let number = request.shard.map(Index::get);
    let number = number.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    ShardChoice::of(number, request.shard_key).map_err(|error| {
        let next = "send shard or shard_key, not both";
        Problem::new(Kind::BAD_FIELD, error.to_string(), next).with_field("shard")
    })
}

/// Waits until the answer may hold that many ids; `None`: they are too few to count.
async fn room(backlog: &Arc<Backlog>, count: u64, id_len: usize) -> Option<Charge> {
    let len_max = usize::try_from(count).unwrap_or(usize::MAX) * id_len;
    match len_max > FREE_LEN {
        true => Some(backlog.room(len_max).await),
        false => None,
    }
}

fn ids_json(issued: &Issued, id_len: usize) -> Bytes {
    let len = usize::try_from(issued.len()).unwrap_or(0);
    let mut json = Vec::with_capacity(len * id_len + 10);
    let mut digits = itoa::Buffer::new();
    json.extend_from_slice(b"{\"ids\":[");
    for (index, id) in issued.numbers().enumerate() {
        json.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
        json.extend_from_slice(digits.format(id.get()).as_bytes());
        json.push(b'"');
    }
    for (index, text) in issued.texts().enumerate() {
        json.extend_from_slice(if index == 0 { b"" } else { b"," });
        push_json(&mut json, text);
    }
    json.extend_from_slice(b"]}");
    json.into()
}

/// Appends a text as JSON, in quotes.
pub(super) fn push_json(json: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    let _written = serde_json::to_writer(json, text);
}

/// Reserves a range of adjacent ids for the caller, who issues them without asking again. A
/// snowflake tag has no ranges.
#[utoipa::path(
    post, path = "/v1/tags/{tag}/ranges", tag = "ids", operation_id = "post_ranges",
    params(TagPath),
    request_body = RangeRequest,
    responses((status = 200, description = "the run", body = Range))
)]
pub(crate) async fn post_range(
    call: Change,
    Path(TagPath { tag }): Path<TagPath>,
    request: Request,
) -> Answered {
    let tag = Tag::new(tag)?;
    let RangeRequest { length } = read_json(request, call.service.limits()).await?;
    let run = call
        .service
        .take(&call.caller, tag.as_str(), length.get())
        .await?;
    let range = Range {
        tag: tag.as_str().to_owned(),
        first: run.start().to_string(),
        last: (run.end() - 1).to_string(),
        length: run.len(),
    };
    Ok(answer::ok(&range))
}
