//! `/console/tags` and `/console/tags/{tag}`: the table of tags, and all about one.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use leafid::store::{TagKind, TagRecord};
use leafid::{Status, Tag};
use serde::Deserialize;

use crate::api::console::{SegmentBounds, TagDetail, TagRow, TagRows};
use crate::api::{self, Whole};
use crate::config::QuotaScope;
use crate::excerpt::shown;
use crate::frontends::http::answer;
use crate::frontends::http::auth::Call;
use crate::frontends::http::path::Query;
use crate::frontends::http::problem::{Answered, Kind, Problem};
use crate::frontends::http::request_context::RequestContext;
use crate::frontends::http::tags::{TagPath, document};
use crate::service::{Caller, RANKED_MAX, Ranking, Service, ServiceError};

/// How many rows a page has, unless it asks for another number.
const PAGE_LEN: usize = 50;
/// How many events of one tag are shown.
const EVENTS_SHOWN: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsRequest {
    sort: Option<String>,
    #[serde(default)]
    search: String,
    after: Option<String>,
    #[serde(default)]
    offset: Option<Whole<{ RANKED_MAX as u64 }>>,
    limit: Option<Whole<200>>,
}

pub(super) async fn list(
    call: Call,
    context: State<RequestContext>,
    RawQuery(query): RawQuery,
) -> Answered {
    let request: RowsRequest = Query::parse(query.as_deref())?.to()?;
    let limit = request.limit.map_or(PAGE_LEN, |limit| len(limit.get()));
    let ranking = match request.sort.as_deref() {
        None | Some("name") => None,
        Some("rate") => Some(Ranking::Rate),
        Some("cover") => Some(Ranking::Cover),
        Some("headroom") => Some(Ranking::Headroom),
        Some(other) => return Err(bad_sort(other)),
    };
    let rows = match ranking {
        None => by_name(&call, &request, limit).await?,
        Some(ranking) => {
            let _turn = context.console.rankings.acquire().await;
            ranked(&call, ranking, request, limit).await?
        }
    };
    Ok(answer::ok(&rows))
}

fn bad_sort(found: &str) -> Problem {
    let detail = format!("\"{}\" is no order of tags", shown(found));
    let next = "send sort as name, rate, cover or headroom";
    Problem::new(Kind::BAD_FIELD, detail, next).with_field("sort")
}

fn len(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Rows of the store whose names begin with what is searched for.
async fn by_name(call: &Call, request: &RowsRequest, limit: usize) -> Result<TagRows, Problem> {
    let Call { service, caller } = call;
    let begin = request.search.as_str();
    let start = match (&request.after, begin.is_empty()) {
        (Some(after), _) => Some(Tag::new(after.as_str())?),
        (None, true) => None,
        (None, false) => Some(Tag::new(begin)?),
    };
    let mut records = Vec::new();
    // A tag is not after its own name.
    if request.after.is_none()
        && let Some(tag) = &start
        && let Ok(view) = service.tag(caller, tag).await
    {
        records.push(view.record);
    }
    let count = u32::try_from(limit).unwrap_or(u32::MAX);
    let page = service.tags(caller, start.as_ref(), count).await?;
    let mut next_after = page.next.map(|tag| tag.as_str().to_owned());
    let all = page.tags.len();
    let found = page.tags.into_iter();
    records.extend(found.take_while(|record| record.tag.as_str().starts_with(begin)));
    if !begin.is_empty() && records.len() < all {
        next_after = None;
    }
    let row = |record: &TagRecord| {
        let live = service.status_of(record.tag.as_str());
        row(service, Some(record), live.as_ref(), &record.tag)
    };
    Ok(TagRows {
        tags: records.iter().map(row).collect(),
        next_after,
        next_offset: None,
        loaded: service.loaded_len(),
    })
}

/// Tags in use here, by what an operator looks for.
async fn ranked(
    call: &Call,
    ranking: Ranking,
    request: RowsRequest,
    limit: usize,
) -> Result<TagRows, Problem> {
    let (service, caller) = (Arc::clone(&call.service), call.caller.clone());
    let ranking = move || service.ranked(&caller, ranking, &request.search);
    // A million tags take a good part of a second, in which this thread serves others.
    let statuses = tokio::task::spawn_blocking(ranking).await;
    let statuses = statuses.unwrap_or_else(|_| Ok(Vec::new()))?;
    let offset = request.offset.map_or(0, |offset| len(offset.get()));
    let page = statuses.iter().skip(offset).take(limit);
    let row = |status: &Status| row(&call.service, None, Some(status), &status.tag);
    let next = offset + limit;
    Ok(TagRows {
        tags: page.map(row).collect(),
        next_after: None,
        next_offset: (next < statuses.len()).then_some(next),
        loaded: call.service.loaded_len(),
    })
}

fn row(service: &Service, record: Option<&TagRecord>, live: Option<&Status>, tag: &Tag) -> TagRow {
    let stored = record.map(api::Tag::from);
    let stored = stored.as_ref();
    let is_of_segments = record.is_none_or(|record| record.settings.kind == TagKind::Segment);
    let live = live.filter(|_| is_of_segments);
    let max_id = record
        .map(|record| record.max_id)
        .or(live.and_then(|live| live.max_id));
    TagRow {
        tag: tag.as_str().to_owned(),
        kind: stored.map_or_else(|| "segment".to_owned(), |stored| stored.kind.clone()),
        format: stored.and_then(|stored| stored.format.clone()),
        max_id: max_id
            .filter(|_| is_of_segments)
            .map(|max_id| max_id.to_string()),
        step: live
            .map(|live| live.step)
            .or(stored.and_then(|stored| stored.step).map(u64::from)),
        limit: stored
            .and_then(|stored| stored.limit.clone())
            .or(live.map(|live| live.limit.to_string())),
        description: stored.and_then(|stored| stored.description.clone()),
        updated: stored.and_then(|stored| stored.updated.clone()),
        stage: live.map(|live| live.stage.name()),
        rate: live.map(|live| live.rate),
        cover_seconds: live
            .and_then(|live| live.cover)
            .map(|cover| cover.as_secs_f64()),
        remaining: live.map(|live| live.remaining),
        headroom_days: live
            .zip(max_id)
            .and_then(|(live, max_id)| live.headroom_days(max_id)),
        quota: service.quota_of(&QuotaScope::Tag(tag.clone())),
    }
}

pub(super) async fn show(
    call: Call,
    context: State<RequestContext>,
    Path(TagPath { tag }): Path<TagPath>,
) -> Answered {
    let tag = Tag::new(tag)?;
    let document = read(&call.service, &call.caller, &tag).await?;
    Ok(answer::ok(&detail(&context, &tag, document)))
}

/// A tag as the store has it; while the store fails, what memory holds.
pub(super) async fn read(
    service: &Service,
    caller: &Caller,
    tag: &Tag,
) -> Result<api::Tag, Problem> {
    match service.tag(caller, tag).await {
        Ok(view) => Ok(document(&view)),
        Err(error @ ServiceError::UnknownTag { .. }) => Err(error.into()),
        Err(error) if service.shows(caller, tag.as_str()) => {
            from_memory(service, tag).ok_or_else(|| error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// What memory holds of a tag that is in use.
fn from_memory(service: &Service, tag: &Tag) -> Option<api::Tag> {
    let live = service.status_of(tag.as_str())?;
    let max_id = live.max_id?;
    Some(api::Tag {
        tag: tag.as_str().to_owned(),
        kind: TagKind::Segment.to_string(),
        format: None,
        max_id: Some(max_id.to_string()),
        step: u32::try_from(live.own_step).ok(),
        policy: None,
        limit: Some(live.limit.to_string()),
        description: None,
        updated: None,
        live: Some(Some(api::Live::new(&live, max_id))),
        warnings: Vec::new(),
    })
}

/// All about a tag whose row was read, now or some seconds ago.
pub(super) fn detail(context: &RequestContext, tag: &Tag, mut document: api::Tag) -> TagDetail {
    let (service, monitor) = (&context.service, &context.console.monitor);
    let live = service.status_of(tag.as_str());
    let live = live.filter(|_| document.max_id.is_some());
    if let Some(live) = &live
        && let Some(max_id) = live.max_id
    {
        document.max_id = Some(max_id.to_string());
        document.live = Some(Some(api::Live::new(live, max_id)));
    }
    let live = live.as_ref();
    let bounds = live.into_iter().flat_map(|live| live.segments);
    // One that is used up stays in its place until the next one comes.
    let cursor = live.map_or(0, |live| live.cursor);
    let bounds = bounds.filter(|segment| !segment.is_empty() && segment.end() > cursor);
    let mut bounds: Vec<_> = bounds.collect();
    bounds.sort_by_key(leafid::Segment::start);
    // The mark lies a tenth into the last segment.
    let refill_at = bounds.last();
    let refill_at = refill_at.map(|segment| segment.start() + segment.len() / 10);
    TagDetail {
        tag: document,
        cursor: live.map(|live| live.cursor.to_string()),
        refill_at: refill_at.map(|mark| mark.to_string()),
        quota: service.quota_of(&QuotaScope::Tag(tag.clone())),
        reservations: monitor.recent.reservations(tag),
        events: monitor
            .recent
            .events(EVENTS_SHOWN, |of| of.is_some_and(|of| of == tag)),
        row: monitor.place(),
        segments: bounds
            .iter()
            .map(|segment| SegmentBounds {
                start: segment.start().to_string(),
                end: segment.end().to_string(),
            })
            .collect(),
    }
}
