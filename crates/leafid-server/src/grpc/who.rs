//! Who calls: the holder of the token in the metadata `authorization: Bearer SECRET`.

use tonic::metadata::MetadataMap;

use crate::service::{Caller, Service, ServiceError};

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
