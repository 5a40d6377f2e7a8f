//! `/console/live`: the overview, and one tag, each second, as server-sent events. A stream ends
//! after a while, and the page opens the next one: so a connection that nobody reads is noticed,
//! and a server that stops is left.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use leafid::Tag;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use super::{LIVE, pages, tags};
use crate::api;
use crate::api::console::TagDetail;
use crate::frontends::http::auth;
use crate::frontends::http::body::AnswerBody;
use crate::frontends::http::path::Query;
use crate::frontends::http::problem::Problem;
use crate::frontends::http::request_context::RequestContext;
use crate::frontends::http::route::Route;
use crate::service::{Caller, ServiceError};

/// The time between two events.
const INTERVAL: Duration = Duration::from_secs(1);
/// The row of a tag is read with every fifth event.
const ROW_READ_EVERY: u32 = 5;
/// How many of them one stream has.
const EVENTS_MAX: u32 = 20;
/// How long a page waits before it opens the next stream.
const HEADER: &[u8] = b"retry: 200\n\n";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LiveRequest {
    tag: Option<String>,
}

/// A page that watches.
struct Watch {
    context: RequestContext,
    caller: Caller,
    tag: Option<Tag>,
    /// Its row, as it was read last.
    row: Option<api::Tag>,
    sent: u32,
    /// Its place among those that watch.
    _place: OwnedSemaphorePermit,
}

/// Opens a stream.
///
/// # Errors
///
/// As for reading what is shown, and when too many pages watch.
pub(in crate::frontends::http) fn answer(
    context: &RequestContext,
    parts: &Parts,
) -> Result<Response<AnswerBody>, Problem> {
    context.check(Route::Console, parts)?;
    let caller = auth::caller_of(context, parts)?;
    context.service.check_look(&caller)?;
    let LiveRequest { tag } = Query::parse(parts.uri.query())?.to()?;
    let place = Arc::clone(&context.console.watchers).try_acquire_owned();
    let place = place.map_err(|_| ServiceError::TooManyConnections)?;
    let watch = Watch {
        context: context.clone(),
        caller,
        tag: tag.map(Tag::new).transpose()?,
        row: None,
        sent: 0,
        _place: place,
    };
    let mut answer = Response::new(AnswerBody::from_stream(events(watch)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

fn events(watch: Watch) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold(watch, |mut watch| async move {
        if watch.sent == EVENTS_MAX || watch.context.service.health().is_leaving() {
            return None;
        }
        let mut text = Vec::new();
        match watch.sent {
            0 => text.extend_from_slice(HEADER),
            _ => tokio::time::sleep(INTERVAL).await,
        }
        watch.sent += 1;
        if let Err(problem) = watch.write(&mut text).await {
            let scheme = watch.context.scheme;
            write(&mut text, "problem", &problem.document(LIVE, scheme, None));
            watch.sent = EVENTS_MAX;
        }
        Some((Bytes::from(text), watch))
    })
}

impl Watch {
    /// What there is to see now. Rights are checked each time: a token may be removed.
    async fn write(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        self.context.service.check_look(&self.caller)?;
        let overview = pages::shown_to(&self.context, &self.caller).await;
        write(text, "overview", &overview);
        if let Some(tag) = self.tag.clone() {
            let detail = self.detail(&tag).await?;
            write(text, "tag", &detail);
        }
        Ok(())
    }
}

impl Watch {
    /// The row in the store is read only now and then; the rest is from memory.
    async fn detail(&mut self, tag: &Tag) -> Result<TagDetail, Problem> {
        let service = &self.context.service;
        if self.sent % ROW_READ_EVERY == 1 || !service.shows(&self.caller, tag.as_str()) {
            self.row = Some(tags::read(service, &self.caller, tag).await?);
        }
        let row = match &self.row {
            Some(row) => row.clone(),
            None => tags::read(service, &self.caller, tag).await?,
        };
        Ok(tags::detail(&self.context, tag, row))
    }
}

/// JSON has no line breaks, so one line holds it.
fn write(text: &mut Vec<u8>, event: &str, data: &impl Serialize) {
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(event.as_bytes());
    text.extend_from_slice(b"\ndata: ");
    // Serialising our own types to memory does not fail.
    let _written = serde_json::to_writer(&mut *text, data);
    text.extend_from_slice(b"\n\n");
}
