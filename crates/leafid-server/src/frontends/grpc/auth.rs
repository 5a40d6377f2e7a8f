//! Authentication: the caller is the holder of the token in the metadata `authorization: Bearer SECRET`.

use std::sync::Arc;

use tonic::Request;
use tonic::metadata::MetadataMap;

use super::Method;
use super::connection::Connection;
use crate::service::{Caller, Service, ServiceError};

/// The caller of a method that changes something.
pub(super) fn changer<T>(
    service: &Service,
    request: &Request<T>,
    method: Method,
) -> Result<Caller, ServiceError> {
    let connection = request.extensions().get::<Arc<Connection>>();
    let peer = connection.and_then(|connection| connection.peer.0);
    let caller = caller(service, request.metadata());
    let caller = caller.inspect_err(|error| service.note_unknown(peer, method.path(), error))?;
    Ok(caller.at(peer))
}

/// The caller. If no tokens are configured, the metadata is ignored.
pub(super) fn caller(service: &Service, metadata: &MetadataMap) -> Result<Caller, ServiceError> {
    if !service.needs_token() {
        return Ok(Caller::anonymous());
    }
    let Some(authorization) = metadata.get("authorization") else {
        return Ok(Caller::anonymous());
    };
    let secret = authorization.to_str().ok().and_then(|text| {
        let (scheme, secret) = text.split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        is_bearer.then(|| secret.trim_start_matches(' '))
    });
    // Malformed metadata counts as a wrong secret.
    service.authenticate(None, secret.unwrap_or_default())
}
