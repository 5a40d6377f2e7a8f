//! `Call` and `Change`: authentication; find the caller of a request by its `Authorization` header.

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
        RequestContext { service, .. }: &RequestContext,
    ) -> Result<Self, Problem> {
        let peer = peer(parts);
        let caller = caller(service, &parts.headers)
            .inspect_err(|error| service.note_unknown(peer, parts.uri.path(), error))?
            .at(peer);
        json::check_declared(&parts.headers, &caller)?;
        let service = Arc::clone(service);
        Ok(Self { service, caller })
    }
}

impl FromRequestParts<RequestContext> for Call {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        RequestContext { service, .. }: &RequestContext,
    ) -> Result<Self, Problem> {
        let caller = caller(service, &parts.headers)?.at(peer(parts));
        let service = Arc::clone(service);
        Ok(Self { service, caller })
    }
}

/// The address of the connection's peer, not one from a header.
fn peer(parts: &Parts) -> Option<SocketAddr> {
    parts.extensions.get::<Peer>().and_then(|peer| peer.0)
}
