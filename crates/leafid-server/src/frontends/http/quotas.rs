//! `/v1/quotas`: how many ids a second may go out, for this server, a tag or a token; changed at
//! run time.

use axum::extract::{Path, Request, State};
use hyper::StatusCode;
use leafid::Tag;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer;
use super::answered::Answered;
use super::auth::{Changer, Who};
use super::json::{Fields, whole};
use super::problem::Problem;
use super::served::Served;
use super::tags::TagPath;
use crate::config::QuotaScope;
use crate::service::{Caller, Service};

/// A quota to set.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes what is read field by field")]
pub(crate) struct QuotaRequest {
    /// Ids a second; 0 stops what the quota is on.
    #[schema(minimum = 0, maximum = 1_000_000_000, example = 1000)]
    ids_per_second: u64,
}

pub(crate) const QUOTA_FIELDS: &[&str] = &["ids_per_second"];

/// A quota in force on this server.
#[derive(Serialize, ToSchema)]
#[schema(as = Quota)]
pub(crate) struct QuotaDocument<'a> {
    /// What it is on: `server`, `tag` or `token`.
    #[schema(value_type = String, example = "tag")]
    on: &'static str,
    /// The name of the tag or the token; null for the server.
    #[schema(example = "order")]
    name: Option<&'a str>,
    /// Ids a second; 0 stops what the quota is on.
    #[schema(example = 1000)]
    ids_per_second: u64,
}

impl<'a> QuotaDocument<'a> {
    fn new(scope: &'a QuotaScope, ids_per_second: u64) -> Self {
        Self {
            on: scope.kind(),
            name: Some(scope.name()).filter(|_| *scope != QuotaScope::Server),
            ids_per_second,
        }
    }
}

/// The quotas in force on this server.
#[derive(Serialize, ToSchema)]
pub(crate) struct QuotaList<'a> {
    /// That of the server first, then those of tags and of tokens by name.
    quotas: Vec<QuotaDocument<'a>>,
}

/// Lists the quotas in force on this server.
#[utoipa::path(
    get, path = "/v1/quotas", tag = "quotas", operation_id = "list_quotas",
    responses((status = 200, description = "the quotas", body = QuotaList))
)]
pub(crate) async fn list(State(service): Served, Who(caller): Who) -> Answered {
    let quotas = service.quotas(&caller)?;
    let quotas = quotas.iter();
    let list = QuotaList {
        quotas: quotas
            .map(|(scope, per_second)| QuotaDocument::new(scope, *per_second))
            .collect(),
    };
    Ok(answer::json(StatusCode::OK, &list))
}

/// Puts a quota on all that this server gives out in force, at once; 0 stops it.
#[utoipa::path(
    put, path = "/v1/quotas/server", tag = "quotas", operation_id = "set_server_quota",
    request_body = QuotaRequest,
    responses((status = 200, description = "the quota", body = QuotaDocument))
)]
pub(crate) async fn set_server(
    State(service): Served,
    Changer(caller): Changer,
    request: Request,
) -> Answered {
    set(&service, &caller, &QuotaScope::Server, request).await
}

/// Takes the quota on all that this server gives out away.
#[utoipa::path(
    delete, path = "/v1/quotas/server", tag = "quotas", operation_id = "remove_server_quota",
    responses((status = 204, description = "the quota is removed"))
)]
pub(crate) async fn remove_server(State(service): Served, Changer(caller): Changer) -> Answered {
    remove(&service, &caller, &QuotaScope::Server)
}

/// Puts a quota on a tag in force on this server, at once; 0 stops it. The tag need not exist.
#[utoipa::path(
    put, path = "/v1/quotas/tags/{tag}", tag = "quotas", operation_id = "set_tag_quota",
    params(TagPath),
    request_body = QuotaRequest,
    responses((status = 200, description = "the quota", body = QuotaDocument))
)]
pub(crate) async fn set_tag(
    State(service): Served,
    Changer(caller): Changer,
    Path(tag): Path<String>,
    request: Request,
) -> Answered {
    let scope = QuotaScope::Tag(Tag::new(tag)?);
    set(&service, &caller, &scope, request).await
}

/// Takes the quota on a tag away.
#[utoipa::path(
    delete, path = "/v1/quotas/tags/{tag}", tag = "quotas", operation_id = "remove_tag_quota",
    params(TagPath),
    responses((status = 204, description = "the quota is removed"))
)]
pub(crate) async fn remove_tag(
    State(service): Served,
    Changer(caller): Changer,
    Path(tag): Path<String>,
) -> Answered {
    remove(&service, &caller, &QuotaScope::Tag(Tag::new(tag)?))
}

/// Puts a quota on all callers with one token in force on this server, at once; 0 stops them.
#[utoipa::path(
    put, path = "/v1/quotas/tokens/{name}", tag = "quotas", operation_id = "set_token_quota",
    params(("name" = String, Path, description = "the name of the token")),
    request_body = QuotaRequest,
    responses((status = 200, description = "the quota", body = QuotaDocument))
)]
pub(crate) async fn set_token(
    State(service): Served,
    Changer(caller): Changer,
    Path(name): Path<String>,
    request: Request,
) -> Answered {
    set(&service, &caller, &QuotaScope::Token(name), request).await
}

/// Takes the quota on a token away.
#[utoipa::path(
    delete, path = "/v1/quotas/tokens/{name}", tag = "quotas", operation_id = "remove_token_quota",
    params(("name" = String, Path, description = "the name of the token")),
    responses((status = 204, description = "the quota is removed"))
)]
pub(crate) async fn remove_token(
    State(service): Served,
    Changer(caller): Changer,
    Path(name): Path<String>,
) -> Answered {
    remove(&service, &caller, &QuotaScope::Token(name))
}

async fn set(service: &Service, caller: &Caller, scope: &QuotaScope, request: Request) -> Answered {
    let mut fields = Fields::read(request, service.limits(), QUOTA_FIELDS).await?;
    let per_second = ids_per_second(&mut fields, service.limits().ids_per_second_max)?;
    service.set_quota(caller, scope, Some(per_second))?;
    let document = QuotaDocument::new(scope, per_second);
    Ok(answer::json(StatusCode::OK, &document))
}

fn remove(service: &Service, caller: &Caller, scope: &QuotaScope) -> Answered {
    service.set_quota(caller, scope, None)?;
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

fn ids_per_second(fields: &mut Fields, max: u64) -> Result<u64, Problem> {
    let name = "ids_per_second";
    let wanted = format!("a whole number from 0 to {max}");
    match fields.take(name) {
        Some(value) => {
            let number = whole(&value).filter(|number| *number <= max);
            number.ok_or_else(|| fields.bad(name, &value, &wanted))
        }
        None => Err(fields.missing(name, &wanted)),
    }
}
