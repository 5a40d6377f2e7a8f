//! `/v1/clock` and `/v1/clock/accept`: what this server's clocks show, for peers and for people.

use axum::extract::State;
use hyper::StatusCode;

use super::answer;
use super::auth::{Change, Served};
use super::problem::Answered;
use crate::api::Clock;
use crate::service::ClockView;

impl From<ClockView> for Clock {
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
    responses((status = 200, description = "the clocks", body = Clock))
)]
pub(crate) async fn show(State(service): Served) -> Answered {
    let clock = Clock::from(service.clock()?);
    Ok(answer::ok(&clock))
}

/// Accepts the wall clock although it disagrees with the time in ids: for an operator who knows
/// that it is right. If ids were issued far ahead of it, their worker id is left unused until that
/// time, and another one is claimed. The answer shows the clocks as they were before.
#[utoipa::path(
    post, path = "/v1/clock/accept", tag = "workers", operation_id = "accept_clock",
    responses((status = 202, description = "it will be followed at the next look", body = Clock))
)]
pub(crate) async fn accept(call: Change) -> Answered {
    let clock = Clock::from(call.service.accept_clock(&call.caller)?);
    Ok(answer::json(StatusCode::ACCEPTED, &clock))
}
