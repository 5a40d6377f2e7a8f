//! `/v1/tags` and `/v1/tags/{tag}`: lists, creates, shows, changes and deletes tags.

mod body;

use axum::extract::{Path, RawQuery, Request};
use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION};
use leafid::Tag;
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer;
use super::auth::{Call, Change};
use super::json::JsonBody;
use super::path::Query;
use super::problem::{Answered, Problem};
use crate::api::{self, Live, PageRequest, TagList, Whole};
use crate::config::{Limits, percent_encoded};
use crate::service::TagView;

/// The tag in the path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct TagPath {
    /// Its name, percent-encoded.
    #[param(schema_with = api::schema::tag)]
    pub(super) tag: String,
}

/// Lists tags in ascending byte order, a page at a time.
#[utoipa::path(
    get, path = "/v1/tags", tag = "tags", operation_id = "list_tags",
    params(PageRequest),
    responses((status = 200, description = "a page of tags", body = TagList))
)]
pub(crate) async fn list(call: Call, RawQuery(query): RawQuery) -> Answered {
    let request: PageRequest = Query::parse(query.as_deref())?.to()?;
    let after = request.after.map(Tag::new).transpose();
    let after = after.map_err(|error| Problem::from(error).with_field("after"))?;
    let count = page_len(request.limit, call.service.limits());
    let page = call
        .service
        .tags(&call.caller, after.as_ref(), count)
        .await?;
    let next = page.next.as_ref();
    let next = next.map(|tag| {
        format!(
            "/v1/tags?after={}&limit={count}",
            percent_encoded(tag.as_str())
        )
    });
    let tags = page.tags.iter().map(api::Tag::from).collect();
    Ok(answer::ok(&TagList { tags, next }))
}

/// Creates a tag. Its first id is `start`, or 1.
#[utoipa::path(
    post, path = "/v1/tags", tag = "tags", operation_id = "create_tag",
    request_body = api::TagRequest,
    responses((status = 201, description = "the tag", body = api::Tag,
               headers(("Location" = String, description = "its path"))))
)]
pub(crate) async fn create(call: Change, request: Request) -> Answered {
    Query::parse(request.uri().query())?.check_empty()?;
    let body = JsonBody::read(request, call.service.limits()).await?;
    let spec = body::spec(&body, call.service.step())?;
    let view = call.service.create_tag(&call.caller, &spec).await?;
    let mut answer = answer::json(StatusCode::CREATED, &document(&view));
    let location = format!("/v1/tags/{}", percent_encoded(spec.tag.as_str()));
    if let Ok(location) = HeaderValue::from_str(&location) {
        answer.headers_mut().insert(LOCATION, location);
    }
    Ok(answer)
}

/// Shows a tag: its row in the store, and its state on this server.
#[utoipa::path(
    get, path = "/v1/tags/{tag}", tag = "tags", operation_id = "show_tag",
    params(TagPath),
    responses((status = 200, description = "the tag", body = api::Tag))
)]
pub(crate) async fn show(call: Call, Path(TagPath { tag }): Path<TagPath>) -> Answered {
    let view = call.service.tag(&call.caller, &Tag::new(tag)?).await?;
    Ok(answer::ok(&document(&view)))
}

/// Changes the settings of a tag that the body names; the others stay as they are.
#[utoipa::path(
    patch, path = "/v1/tags/{tag}", tag = "tags", operation_id = "change_tag",
    params(TagPath),
    request_body = api::TagChange,
    responses((status = 200, description = "the tag as it is now", body = api::Tag))
)]
pub(crate) async fn change(
    call: Change,
    Path(TagPath { tag }): Path<TagPath>,
    request: Request,
) -> Answered {
    let tag = Tag::new(tag)?;
    let body = JsonBody::read(request, call.service.limits()).await?;
    let (patch, next) = body::patch(&body)?;
    let view = call
        .service
        .change_tag(&call.caller, &tag, &patch, next)
        .await?;
    Ok(answer::ok(&document(&view)))
}

/// Deletes a tag. The store remembers how far it went, so that a later tag of the same name repeats
/// no id.
#[utoipa::path(
    delete, path = "/v1/tags/{tag}", tag = "tags", operation_id = "delete_tag",
    params(TagPath),
    responses((status = 204, description = "it is gone"))
)]
pub(crate) async fn delete(call: Change, Path(TagPath { tag }): Path<TagPath>) -> Answered {
    call.service
        .delete_tag(&call.caller, &Tag::new(tag)?)
        .await?;
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

/// How many entries a page is to have, which the service checks.
pub(super) fn page_len<const MAX: u64>(limit: Option<Whole<MAX>>, limits: &Limits) -> u32 {
    let asked = limit.map(|limit| u32::try_from(limit.get()).unwrap_or(u32::MAX));
    asked.unwrap_or(limits.page_len)
}

pub(super) fn document(view: &TagView) -> api::Tag {
    let live = view.live.as_ref();
    api::Tag {
        live: Some(live.map(|status| Live::new(status, view.record.max_id))),
        warnings: view.warnings.clone(),
        ..api::Tag::from(&view.record)
    }
}
