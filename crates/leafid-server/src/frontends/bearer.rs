//! Authentication over HTTP and gRPC: the caller is the holder of the token in
//! `Authorization: Bearer SECRET`, a header of the one and metadata of the other.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use crate::service::{Caller, Service, ServiceError};

/// The caller of a request. If no tokens are configured, the header is ignored.
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

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use crate::config::{Limits, TokenSpec};

    /// Guards that no header panics, and that only the secret itself is accepted.
    #[test]
    fn any_header_is_read_or_refused() {
        const SECRET: &str = "secret of the shop";
        let tokens = vec![TokenSpec::new("shop", SECRET)];
        let (service, _driver) = Service::in_memory(tokens, Limits::default());
        leafid_fuzz::fuzz("bearers", |data| {
            let Ok(value) = HeaderValue::from_bytes(data) else {
                return false;
            };
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
            let is_known = caller(&service, &headers).is_ok();
            assert!(!is_known || data.ends_with(SECRET.as_bytes()));
            is_known
        });
    }
}
