//! The router: every route but those that issue ids, as axum's handlers.
//!
//! It knows no caller: an error leaves it as a [`Problem`] beside an empty answer, which
//! [`answer`] writes down.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post, put};
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::Incoming;
use hyper::header::{ALLOW, HOST};
use hyper::service::Service as _;
use hyper::{Method, StatusCode, Uri};
use hyper_util::service::TowerToHyperService;

use super::answer::Answer;
use super::problem::{Kind, Problem};
use super::request_context::RequestContext;
use super::route::Route;
use super::{
    audit, clock, console, decode, gear, ids, leaf, openapi, path, probes, quotas, tags, workers,
};
use crate::excerpt::shown;
use crate::net::unread::{Backlog, Charge};

/// Bytes of the longest list, roughly: what it took is counted once it is made.
const LIST_LEN_MAX: usize = 256 * 1024;

/// The router, as hyper calls it.
pub(super) type Routes = TowerToHyperService<Router>;

pub(super) fn routes(context: &RequestContext) -> Routes {
    let router = Router::new()
        .route(Route::Cache.path(), any(leaf::table::cache))
        .route(Route::Db.path(), any(leaf::table::db))
        .route(Route::Decode.path(), any(leaf::decode))
        .route(Route::GearGetId.path(), get(gear::get_id))
        .route(Route::Ranges.path(), post(ids::post_range))
        .route(Route::Tags.path(), get(tags::list).post(tags::create))
        .route(
            Route::Tag.path(),
            get(tags::show).patch(tags::change).delete(tags::delete),
        )
        .route(Route::DecodeId.path(), get(decode::show))
        .route(Route::Worker.path(), get(workers::show))
        .route(Route::Workers.path(), get(workers::list))
        .route(Route::WorkerRelease.path(), post(workers::release))
        .route(Route::Clock.path(), get(clock::show))
        .route(Route::ClockAccept.path(), post(clock::accept))
        .route(Route::Quotas.path(), get(quotas::list))
        .route(
            Route::ServerQuota.path(),
            put(quotas::set_server).delete(quotas::remove_server),
        )
        .route(
            Route::TagQuota.path(),
            put(quotas::set_tag).delete(quotas::remove_tag),
        )
        .route(
            Route::TokenQuota.path(),
            put(quotas::set_token).delete(quotas::remove_token),
        )
        .route(Route::Audit.path(), get(audit::list))
        .route(Route::Livez.path(), get(probes::livez))
        .route(Route::Readyz.path(), get(probes::readyz))
        .route(Route::Metrics.path(), get(probes::metrics))
        .route(Route::OpenApi.path(), get(openapi::openapi_json))
        .merge(console::routes())
        .fallback(not_found)
        .layer(from_fn_with_state(context.clone(), enter))
        .with_state(context.clone());
    TowerToHyperService::new(router)
}

async fn not_found(uri: Uri) -> Problem {
    let detail = format!("there is nothing at {}", shown(uri.path()));
    let next = "see /openapi.json for all paths";
    Problem::new(Kind::NOT_FOUND, detail, next)
}

/// Lets a request in to its route, and notes on the answer which one it was.
async fn enter(State(context): State<RequestContext>, request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or(Route::Other, |path| Route::of_matched(path.as_str()));
    let (parts, body) = request.into_parts();
    let answering = async {
        context.check(route, &parts)?;
        // So that axum, which leaves malformed parts as they are, meets none.
        path::decode(parts.uri.path())?;
        if route.takes_no_parameters() {
            path::Query::parse(parts.uri.query())?.check_empty()?;
        }
        let request = Request::from_parts(parts, body);
        context.in_time(async { Ok(next.run(request).await) }).await
    };
    let answered: Result<Response, Problem> = answering.await;
    let mut answer = answered.unwrap_or_else(Problem::into_response);
    answer.extensions_mut().insert(route);
    answer
}

/// Leads a request through the router, and writes down what went wrong.
pub(super) async fn answer(
    context: &RequestContext,
    routes: &Routes,
    request: hyper::Request<Incoming>,
    backlog: &Arc<Backlog>,
) -> Answer {
    let uri = request.uri().clone();
    let host = request.headers().get(HOST).cloned();
    let is_list = request.method() != Method::POST && Route::of_matched(uri.path()).is_list();
    let room = context.in_time(async {
        match is_list {
            true => Ok(Some(backlog.room(LIST_LEN_MAX).await)),
            false => Ok(None),
        }
    });
    let mut answer = match room.await {
        Ok(room) => {
            let Ok(answer) = routes.call(request).await;
            whole(answer, room).await
        }
        Err(problem) => whole(problem.into_response(), None).await,
    };
    let route = answer.extensions_mut().remove().unwrap_or(Route::Other);
    let problem = match answer.headers().get(ALLOW) {
        Some(allow) if answer.status() == StatusCode::METHOD_NOT_ALLOWED => {
            let allow = allow.to_str().unwrap_or_default();
            Some(Problem::method_not_allowed(&allow.replace(',', ", ")))
        }
        _ => answer.extensions_mut().remove(),
    };
    if let Some(problem) = problem {
        answer = context.explain(route, &uri, host.as_ref(), &problem);
    }
    context.counts.count(route, answer.status());
    answer
}

/// The answer with its text, which is there at once, counted as unread if it is a list.
async fn whole(answer: Response, room: Option<Charge>) -> Answer {
    let (parts, body) = answer.into_parts();
    let text = body.collect().await.map(Collected::to_bytes);
    let text = text.unwrap_or_default();
    let text = match room {
        Some(room) => room.keep(text),
        None => text,
    };
    Answer::from_parts(parts, Full::new(text))
}
