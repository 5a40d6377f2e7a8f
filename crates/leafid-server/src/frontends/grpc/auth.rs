//! Who calls: the holder of the token in the metadata `authorization: Bearer SECRET`.

use tonic::Request;
use tonic::metadata::MetadataMap;

use super::Method;
use crate::net::front_end::Peer;
use crate::service::{Caller, Service, ServiceError};

/// Who calls in order to change something.
pub(super) fn changer<T>(
    service: &Service,
    request: &Request<T>,
    method: Method,
) -> Result<Caller, ServiceError> {
    let peer = request.extensions().get::<Peer>().and_then(|peer| peer.0);
    let caller = caller(service, request.metadata());
    let caller = caller.inspect_err(|error| service.note_unknown(peer, method.path(), error))?;
    Ok(caller.at(peer))
}

/// Who calls. Where tokens are not asked for the metadata is passed over.
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
    // What is malformed counts as a wrong secret.
    service.authenticate(None, secret.unwrap_or_default())
}
