//! `/console/session`: log in with a token, ask who is logged in, log out.

use axum::extract::{Request, State};
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{HeaderMap, StatusCode};

use crate::api::console::{Login, Session};
use crate::frontends::http::answer::{self, Answer};
use crate::frontends::http::auth::{Call, check_same_origin};
use crate::frontends::http::json::read_json;
use crate::frontends::http::problem::{Answered, Kind, Problem};
use crate::frontends::http::request_context::RequestContext;
use crate::service::{Caller, Code};

/// Who is logged in. Anyone may ask: the answer of a server that needs a token names none.
pub(super) async fn show(call: Result<Call, Problem>, context: State<RequestContext>) -> Answer {
    let caller = call.map_or_else(|_| Caller::anonymous(), |call| call.caller);
    answer::ok(&session(&context, &caller))
}

/// Logs in.
pub(super) async fn begin(context: State<RequestContext>, request: Request) -> Answered {
    check_same_origin(request.headers())?;
    let Login { token } = read_json(request, context.service.limits()).await?;
    if !context.service.needs_token() {
        return Ok(answer::ok(&session(&context, &Caller::anonymous())));
    }
    let caller = context.service.authenticate(None, token.trim())?;
    let mut answer = answer::ok(&session(&context, &caller));
    let begun = context.console.sessions.begin(caller, is_tls(&context));
    let cookie = begun.map_err(|error| {
        let detail = format!("this system has no random numbers for a session: {error}");
        Problem::new(Kind::of(Code::Overloaded), detail, "try again")
    })?;
    set_cookie(&mut answer, &cookie);
    Ok(answer)
}

/// Logs out.
pub(super) async fn end(context: State<RequestContext>, headers: HeaderMap) -> Answered {
    check_same_origin(&headers)?;
    let cookie = context.console.sessions.end(&headers, is_tls(&context));
    let mut answer = answer::empty(StatusCode::NO_CONTENT);
    set_cookie(&mut answer, &cookie);
    Ok(answer)
}

fn is_tls(context: &RequestContext) -> bool {
    context.scheme == "https"
}

fn set_cookie(answer: &mut Answer, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
}

fn session(context: &RequestContext, caller: &Caller) -> Session {
    let service = &context.service;
    let token = caller.token().map(str::to_owned);
    Session {
        needs_token: service.needs_token(),
        admin: service.is_admin(caller),
        token,
        server: context.console.monitor.about.name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        segment: service.serves_segments(),
        snowflake: service.worker_settings().is_some(),
    }
}
