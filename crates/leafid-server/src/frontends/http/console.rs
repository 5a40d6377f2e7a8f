//! The web console at `/`: its pages, which are part of the program, and what they read. The pages
//! change things by the calls of the API, as any other client.

mod assets;
pub(super) mod context;
mod findings;
mod live;
mod login;
mod pages;
mod servers;
mod sessions;
mod tags;
mod workers;

use axum::Router;
use axum::routing::get;

use super::request_context::RequestContext;

pub(super) use live::answer as live;

/// The path of the stream of events, which the router does not serve.
pub(in crate::frontends::http) const LIVE: &str = "/console/live";

pub(super) fn routes() -> Router<RequestContext> {
    Router::new()
        .route("/", get(assets::index))
        .route("/console", get(assets::index))
        .route("/console/app.js", get(assets::script))
        .route("/console/app.css", get(assets::style))
        .route("/console/favicon.svg", get(assets::icon))
        .route(
            "/console/session",
            get(login::show).post(login::begin).delete(login::end),
        )
        .route("/console/overview", get(pages::overview))
        .route("/console/history", get(pages::history))
        .route("/console/tags", get(tags::list))
        .route("/console/tags/{tag}", get(tags::show))
        .route("/console/workers", get(workers::map))
        .route("/console/servers", get(servers::list))
        .route("/console/findings", get(findings::list))
}
