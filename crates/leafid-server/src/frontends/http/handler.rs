//! `Handler`: answers a request. Those for ids take a short way; all others are axum's.

use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use leafid::Tag;

use super::answer::Answer;
use super::body::AnswerBody;
use super::problem::Problem;
use super::request_context::RequestContext;
use super::route::Route;
use super::router::{self, Routes};
use super::{auth, console, ids, leaf, path};
use crate::net::front_end::Peer;
use crate::net::unread::{Backlog, request_len};
use crate::service::{Caller, Service, ServiceError};

/// Answers requests.
pub(super) struct Handler {
    pub(super) context: RequestContext,
    routes: Routes,
}

impl Handler {
    pub(super) fn new(context: RequestContext) -> Self {
        let routes = router::routes(&context);
        Self { context, routes }
    }

    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
        backlog: &Arc<Backlog>,
    ) -> Response<AnswerBody> {
        let (mut parts, body) = request.into_parts();
        if parts.method == Method::GET && parts.uri.path() == console::LIVE {
            parts.extensions.insert(peer);
            return self.watch(&parts);
        }
        let _held = (!body.is_end_stream()).then(|| backlog.hold(self.held_len(&parts, &body)));
        let answer = match Route::issuing(parts.uri.path()) {
            Some((route, name)) if route != Route::Ranges => {
                self.issue(route, name, &parts, body, backlog).await
            }
            _ => {
                let mut request = Request::from_parts(parts, body);
                request.extensions_mut().insert(peer);
                router::answer(&self.context, &self.routes, request, backlog).await
            }
        };
        answer.map(AnswerBody::from)
    }

    /// The stream of events of a page of the console.
    fn watch(&self, parts: &Parts) -> Response<AnswerBody> {
        let answer = console::live(&self.context, parts).unwrap_or_else(|problem| {
            let host = parts.headers.get(HOST);
            let answer = self
                .context
                .explain(Route::Console, &parts.uri, host, &problem);
            answer.map(AnswerBody::from)
        });
        self.context.counts.count(Route::Console, answer.status());
        answer
    }

    /// What a request holds until all of its body has come in.
    fn held_len(&self, parts: &Parts, body: &Incoming) -> usize {
        let body_len_max = self.context.service.limits().body_len_max;
        let body_len = body.size_hint().upper().map(usize::try_from);
        let body_len = body_len.and_then(Result::ok).unwrap_or(body_len_max);
        let fields = parts.headers.iter();
        let text_len = fields.map(|(name, value)| name.as_str().len() + value.len());
        request_len(parts.headers.len(), text_len.sum()) + body_len.min(body_len_max)
    }

    /// The short way of the routes that issue ids: past the router, and past what it allocates.
    async fn issue(
        &self,
        route: Route,
        name: &str,
        parts: &Parts,
        body: Incoming,
        backlog: &Arc<Backlog>,
    ) -> Answer {
        let (context, service) = (&self.context, &*self.context.service);
        let answering = async {
            context.check(route, parts)?;
            let caller = &auth::caller_of(context, parts)?;
            if context.creates_nothing(route, &parts.uri, &parts.headers) {
                let tag = Tag::new(&*path::decode(name)?)?;
                context.in_time(exists(service, caller, &tag)).await?;
            }
            match route {
                // No timer: it has no body, and its wait is bounded by wait_max.
                Route::SegmentGet => leaf::segment(service, caller, name).await,
                Route::SnowflakeGet => leaf::snowflake(service, caller, name).await,
                _ => {
                    let called = ids::Called {
                        service,
                        caller,
                        backlog,
                    };
                    let answering = ids::answer(called, name, parts, body);
                    context.in_time(answering).await
                }
            }
        };
        let answered = answering.await;
        let answer = answered.unwrap_or_else(|problem| {
            let host = parts.headers.get(HOST);
            context.explain(route, &parts.uri, host, &problem)
        });
        context.counts.count(route, answer.status());
        answer
    }

    /// Refuses a request for ids, for which there is no place; `None`: it is not for ids.
    pub(super) fn refuse<B>(&self, request: &Request<B>) -> Option<Response<AnswerBody>> {
        let uri = request.uri();
        let is_gear = uri.path() == Route::GearGetId.path();
        let gear = is_gear.then_some(Route::GearGetId);
        let issuing = Route::issuing(uri.path()).map(|(route, _)| route);
        let route = issuing.or(gear)?;
        let host = request.headers().get(HOST);
        let problem = Problem::from(ServiceError::TooManyConnections);
        let mut answer = self.context.explain(route, uri, host, &problem);
        self.context.counts.count(route, answer.status());
        // Who came for ids gives its place up.
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
        Some(answer.map(AnswerBody::from))
    }
}

async fn exists(service: &Service, caller: &Caller, tag: &Tag) -> Result<(), Problem> {
    Ok(service.check_exists(caller, tag).await?)
}
