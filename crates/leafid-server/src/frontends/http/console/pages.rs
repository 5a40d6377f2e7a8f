//! `/console/overview` and `/console/history`: the server at a glance.

use axum::extract::State;
use hyper::HeaderMap;

use crate::api::console::Overview;
use crate::frontends::http::answer;
use crate::frontends::http::auth::Call;
use crate::frontends::http::problem::{Answered, Problem};
use crate::frontends::http::request_context::RequestContext;
use crate::service::Caller;
use crate::worker_ids::PEER_PROOF;

/// For the pages, and for other servers, which prove in whose name they ask.
pub(super) async fn overview(
    call: Result<Call, Problem>,
    context: State<RequestContext>,
    headers: HeaderMap,
) -> Answered {
    let service = &context.service;
    let proof = headers
        .get(PEER_PROOF)
        .and_then(|proof| proof.to_str().ok());
    let caller = match proof {
        Some(proof) if service.needs_token() => {
            service.proven(proof, &context.console.monitor.about.name)?
        }
        _ => call?.caller,
    };
    service.check_look(&caller)?;
    Ok(answer::ok(&shown_to(&context, &caller).await))
}

/// The overview, as a caller may see it.
pub(super) async fn shown_to(context: &RequestContext, caller: &Caller) -> Overview {
    let service = &context.service;
    let shows = |tag: &leafid::Tag| service.shows(caller, tag.as_str());
    context.console.monitor.overview(service, shows).await
}

pub(super) async fn history(call: Call, context: State<RequestContext>) -> Answered {
    call.service.check_look(&call.caller)?;
    Ok(answer::ok(&context.console.monitor.history()))
}
