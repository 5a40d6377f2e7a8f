//! `Call` and `Change`: authentication; find the caller of a request by its `Authorization` header.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue, ORIGIN};
use hyper::http::request::Parts;

use super::csrf::{SEC_FETCH_SITE, foreign_page};
use super::json;
use super::problem::Problem;
use super::request_context::RequestContext;
use crate::frontends::bearer::caller;
use crate::net::front_end::Peer;
use crate::service::{Caller, Service};

/// The extractor of handlers that need the service.
pub(super) type Served = State<Arc<Service>>;

/// A call of a handler of the router.
pub(super) struct Call {
    pub(super) service: Arc<Service>,
    pub(super) caller: Caller,
}

/// A call that changes something. The request has a token, or declares its body as JSON: a browser does not let a foreign page send either without
/// asking, even if the request does not name its origin.
pub(super) struct Change {
    pub(super) service: Arc<Service>,
    pub(super) caller: Caller,
}

impl FromRequestParts<RequestContext> for Change {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        context: &RequestContext,
    ) -> Result<Self, Problem> {
        let service = &context.service;
        let peer = peer(parts);
        let caller = match of_session(context, parts) {
            Some(caller) => {
                check_same_origin(&parts.headers)?;
                caller
            }
            None => caller(service, &parts.headers)
                .inspect_err(|error| service.note_unknown(peer, parts.uri.path(), error))?,
        };
        let caller = caller.at(peer);
        json::check_declared(&parts.headers, &caller)?;
        let service = Arc::clone(service);
        Ok(Self { service, caller })
    }
}

impl FromRequestParts<RequestContext> for Call {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        context: &RequestContext,
    ) -> Result<Self, Problem> {
        let caller = match of_session(context, parts) {
            Some(caller) => caller,
            None => caller(&context.service, &parts.headers)?,
        };
        let caller = caller.at(peer(parts));
        let service = Arc::clone(&context.service);
        Ok(Self { service, caller })
    }
}

/// The caller of a request that issues ids or watches: by its token, or by a session of the console.
///
/// # Errors
///
/// As for an unknown token, and for a session without the word of the browser that this server's
/// own page sent the request.
pub(super) fn caller_of(context: &RequestContext, parts: &Parts) -> Result<Caller, Problem> {
    match of_session(context, parts) {
        Some(caller) => {
            check_same_origin(&parts.headers)?;
            Ok(caller.at(peer(parts)))
        }
        None => Ok(caller(&context.service, &parts.headers)?.at(peer(parts))),
    }
}

/// The caller of a request of the console's pages, which has no token but the cookie of a session;
/// or of another server, which proves for whom it asks.
fn of_session(context: &RequestContext, parts: &Parts) -> Option<Caller> {
    let headers = &parts.headers;
    if headers.contains_key(AUTHORIZATION) || !context.service.needs_token() {
        return None;
    }
    context.console.sessions.caller(headers)
}

/// Refuses a request with the cookie of a session unless the browser says that a page of this
/// server sent it. What it says of its origin was compared with the name of this server already.
pub(super) fn check_same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get(&SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    match site {
        Some(b"same-origin") => Ok(()),
        None if headers.contains_key(ORIGIN) => Ok(()),
        _ => Err(foreign_page()),
    }
}

/// The address of the connection's peer, not one from a header.
fn peer(parts: &Parts) -> Option<SocketAddr> {
    parts.extensions.get::<Peer>().and_then(|peer| peer.0)
}
