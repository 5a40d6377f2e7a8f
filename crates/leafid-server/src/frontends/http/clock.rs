//! `/v1/clock` and `/v1/clock/accept`: what this server's clocks show, for peers and for people.

use axum::extract::State;
use hyper::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer;
use super::answered::Answered;
use super::auth::Changer;
use super::served::Served;
use crate::service::ClockView;

/// What a server's clocks show. Peers read it too (`workers/peers.rs`).
#[derive(Serialize, ToSchema)]
#[schema(as = Clock)]
pub(crate) struct ClockDocument {
    /// The time that its ids carry, save for what they have borrowed, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    #[schema(example = "1795250400000")]
    unix_ms: String,
    /// What the wall clock shows, in the same unit.
    #[schema(example = "1795250400000")]
    wall_ms: String,
    /// How far the wall clock is ahead of the time in ids, in milliseconds.
    #[schema(example = 0)]
    offset_ms: i64,
    /// The worker id that the server holds; null for none.
    #[schema(example = 3)]
    worker: Option<u32>,
}

impl From<ClockView> for ClockDocument {
    fn from(view: ClockView) -> Self {
        Self {
            unix_ms: view.unix_ms.to_string(),
            wall_ms: view.wall_ms().to_string(),
            offset_ms: view.offset_ms,
            worker: view.worker.map(leafid::WorkerId::get),
        }
    }
}

/// Shows the clocks of this server.
#[utoipa::path(
    get, path = "/v1/clock", tag = "workers", operation_id = "show_clock",
    responses((status = 200, description = "the clocks", body = ClockDocument))
)]
pub(crate) async fn show(State(service): Served) -> Answered {
    let clock = ClockDocument::from(service.clock()?);
    Ok(answer::json(StatusCode::OK, &clock))
}

/// Takes the wall clock for right although it disagrees with the time in ids: for an operator who
/// knows. If ids were issued far ahead of it, the worker id is left alone until that time, and
/// another one is claimed. The answer shows the clocks from before.
#[utoipa::path(
    post, path = "/v1/clock/accept", tag = "workers", operation_id = "accept_clock",
    responses((status = 202, description = "it will be followed at the next look", body = ClockDocument))
)]
pub(crate) async fn accept(State(service): Served, Changer(caller): Changer) -> Answered {
    let clock = ClockDocument::from(service.accept_clock(&caller)?);
    Ok(answer::json(StatusCode::ACCEPTED, &clock))
}
