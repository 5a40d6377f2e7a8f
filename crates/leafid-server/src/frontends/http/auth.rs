//! `Who`: authentication; finds the caller of a request by its `Authorization` header.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use hyper::http::request::Parts;

use super::json;
use super::problem::Problem;
use super::request_context::RequestContext;
use crate::frontends::bearer::caller;
use crate::net::front_end::Peer;
use crate::service::{Caller, Service};

/// The extractor of handlers that need the service.
pub(super) type Served = State<Arc<Service>>;

/// The caller of a request, for handlers of the router.
pub(super) struct Who(pub(super) Caller);

/// The caller of a request that changes something, for handlers of the router. The request has a
/// token, or declares its body as JSON: a browser does not let a foreign page send either without
/// asking, even if the request does not name its origin.
pub(super) struct Changer(pub(super) Caller);

impl FromRequestParts<RequestContext> for Changer {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        RequestContext { service, .. }: &RequestContext,
    ) -> Result<Self, Problem> {
        let peer = peer(parts);
        let caller = caller(service, &parts.headers)
            .inspect_err(|error| service.note_unknown(peer, parts.uri.path(), error))?
            .at(peer);
        json::check_declared(&parts.headers, &caller)?;
        Ok(Self(caller))
    }
}

impl FromRequestParts<RequestContext> for Who {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        RequestContext { service, .. }: &RequestContext,
    ) -> Result<Self, Problem> {
        Ok(Self(caller(service, &parts.headers)?.at(peer(parts))))
    }
}

/// The address of the connection's peer, not one from a header.
fn peer(parts: &Parts) -> Option<SocketAddr> {
    parts.extensions.get::<Peer>().and_then(|peer| peer.0)
}
