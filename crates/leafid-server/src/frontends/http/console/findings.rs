//! `/console/findings`: what the server found about itself.

use axum::extract::State;

use crate::api::console::Findings;
use crate::frontends::http::answer;
use crate::frontends::http::auth::Call;
use crate::frontends::http::problem::Answered;
use crate::frontends::http::request_context::RequestContext;
use crate::ops::findings;

pub(super) async fn list(call: Call, context: State<RequestContext>) -> Answered {
    let Call { service, caller } = &call;
    service.check_look(caller)?;
    let monitor = &context.console.monitor;
    let shows = |tag: &leafid::Tag| service.shows(caller, tag.as_str());
    let overview = monitor.overview(service, shows).await;
    let totals = monitor.totals(service).await;
    let facts = findings::Facts {
        about: &monitor.about,
        overview: &overview,
        needs_token: service.needs_token(),
        went_back: service.health().readiness().store_went_back(),
        failed_reloads: service.reloads().failed_files(),
    };
    let found = findings::of(&facts, &totals, shows);
    Ok(answer::ok(&Findings { findings: found }))
}
