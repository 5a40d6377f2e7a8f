//! `/v1/quotas`: limits in ids per second (rate limits) for this server, a tag or a token, which
//! can be changed while it runs.

use axum::extract::{Path, Request};
use hyper::StatusCode;
use leafid::Tag;

use super::answer;
use super::auth::{Call, Change};
use super::json::read_json;
use super::problem::Answered;
use super::tags::TagPath;
use crate::api::{Quota, QuotaList, QuotaRequest};
use crate::config::QuotaScope;

/// Lists the quotas in force on this server.
#[utoipa::path(
    get, path = "/v1/quotas", tag = "quotas", operation_id = "list_quotas",
    responses((status = 200, description = "the quotas", body = QuotaList))
)]
pub(crate) async fn list(call: Call) -> Answered {
    let quotas = call.service.quotas(&call.caller)?;
    let quotas = quotas
        .iter()
        .map(|(scope, per_second)| document(scope, *per_second));
    let quotas = quotas.collect();
    Ok(answer::ok(&QuotaList { quotas }))
}

/// Limits all ids of this server, at once; 0 blocks them.
#[utoipa::path(
    put, path = "/v1/quotas/server", tag = "quotas", operation_id = "set_server_quota",
    request_body = QuotaRequest,
    responses((status = 200, description = "the quota", body = Quota))
)]
pub(crate) async fn set_server(call: Change, request: Request) -> Answered {
    set(&call, &QuotaScope::Server, request).await
}

/// Removes the quota on this server.
#[utoipa::path(
    delete, path = "/v1/quotas/server", tag = "quotas", operation_id = "remove_server_quota",
    responses((status = 204, description = "the quota is removed"))
)]
pub(crate) async fn remove_server(call: Change) -> Answered {
    remove(&call, &QuotaScope::Server)
}

/// Limits the ids of a tag on this server, at once; 0 blocks them. The tag need not exist.
#[utoipa::path(
    put, path = "/v1/quotas/tags/{tag}", tag = "quotas", operation_id = "set_tag_quota",
    params(TagPath),
    request_body = QuotaRequest,
    responses((status = 200, description = "the quota", body = Quota))
)]
pub(crate) async fn set_tag(
    call: Change,
    Path(TagPath { tag }): Path<TagPath>,
    request: Request,
) -> Answered {
    let scope = QuotaScope::Tag(Tag::new(tag)?);
    set(&call, &scope, request).await
}

/// Removes the quota on a tag.
#[utoipa::path(
    delete, path = "/v1/quotas/tags/{tag}", tag = "quotas", operation_id = "remove_tag_quota",
    params(TagPath),
    responses((status = 204, description = "the quota is removed"))
)]
pub(crate) async fn remove_tag(call: Change, Path(TagPath { tag }): Path<TagPath>) -> Answered {
    remove(&call, &QuotaScope::Tag(Tag::new(tag)?))
}

/// Limits the ids of all callers with one token on this server, at once; 0 blocks them.
#[utoipa::path(
    put, path = "/v1/quotas/tokens/{name}", tag = "quotas", operation_id = "set_token_quota",
    params(("name" = String, Path, description = "the name of the token")),
    request_body = QuotaRequest,
    responses((status = 200, description = "the quota", body = Quota))
)]
pub(crate) async fn set_token(
    call: Change,
    Path(name): Path<String>,
    request: Request,
) -> Answered {
    set(&call, &QuotaScope::Token(name), request).await
}

/// Removes the quota on a token.
#[utoipa::path(
    delete, path = "/v1/quotas/tokens/{name}", tag = "quotas", operation_id = "remove_token_quota",
    params(("name" = String, Path, description = "the name of the token")),
    responses((status = 204, description = "the quota is removed"))
)]
pub(crate) async fn remove_token(call: Change, Path(name): Path<String>) -> Answered {
    remove(&call, &QuotaScope::Token(name))
}

async fn set(call: &Change, scope: &QuotaScope, request: Request) -> Answered {
    let QuotaRequest { ids_per_second } = read_json(request, call.service.limits()).await?;
    let per_second = ids_per_second.get();
    let Change { service, caller } = call;
    service.set_quota(caller, scope, Some(per_second))?;
    Ok(answer::ok(&document(scope, per_second)))
}

fn remove(call: &Change, scope: &QuotaScope) -> Answered {
    call.service.set_quota(&call.caller, scope, None)?;
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

fn document(scope: &QuotaScope, ids_per_second: u64) -> Quota {
    let is_named = *scope != QuotaScope::Server;
    Quota {
        on: scope.kind().to_owned(),
        name: is_named.then(|| scope.name().to_owned()),
        ids_per_second,
    }
}
