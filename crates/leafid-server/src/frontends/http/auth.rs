//! `Who`: authentication; finds the caller of a request by its `Authorization` header.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, State};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;

use super::json;
use super::problem::Problem;
use crate::net::front_end::Peer;
use crate::service::{Caller, Service, ServiceError};

/// The extractor of handlers that need the service.
pub(super) type Served = State<Arc<Service>>;

/// The caller of a request, for handlers of the router.
pub(super) struct Who(pub(super) Caller);

/// The caller of a request: the holder of the token in `Authorization: Bearer SECRET`. If no tokens
/// are configured, the header is ignored.
pub(super) fn caller(service: &Service, headers: &HeaderMap) -> Result<Caller, ServiceError> {
    if !service.needs_token() {
        return Ok(Caller::anonymous());
    }
    let Some(header) = headers.get(AUTHORIZATION) else {
        return Ok(Caller::anonymous());
    };
    let secret = header.to_str().ok().and_then(|text| {
        let (scheme, secret) = text.split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        is_bearer.then(|| secret.trim_start_matches(' '))
    });
    // A malformed header counts as a wrong secret.
    service.authenticate(None, secret.unwrap_or_default())
}

/// The caller of a request that changes something, for handlers of the router. The request has a
/// token, or declares its body as JSON: a browser does not let a foreign page send either without
/// asking, even if the request does not name its origin.
pub(super) struct Changer(pub(super) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Changer
where
    Arc<Service>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let service = <Arc<Service>>::from_ref(state);
        let peer = peer(parts);
        let caller = caller(&service, &parts.headers)
            .inspect_err(|error| service.note_unknown(peer, parts.uri.path(), error))?
            .at(peer);
        json::check_declared(&parts.headers, &caller)?;
        Ok(Self(caller))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Who
where
    Arc<Service>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let service = <Arc<Service>>::from_ref(state);
        Ok(Self(caller(&service, &parts.headers)?.at(peer(parts))))
    }
}

/// The address of the connection's peer, not one from a header.
fn peer(parts: &Parts) -> Option<SocketAddr> {
    parts.extensions.get::<Peer>().and_then(|peer| peer.0)
}
