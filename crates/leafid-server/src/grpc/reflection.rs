//! Reflection: tells clients which services there are, so that grpcurl needs no protocol files.
//! Old ones ask by the name that the service had before it was finished.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use tonic::codegen::Service as _;
use tonic_reflection::server::Builder;

use super::error::Refusal;
use super::{Answering, Method, v1};

/// A service whose type has no name.
type Called = Arc<dyn Fn(Request<Incoming>) -> Option<Answering> + Send + Sync>;

/// Both services.
pub(super) struct Reflection {
    v1: Called,
    v1alpha: Called,
}

impl Reflection {
    pub(super) fn new(message_len_max: usize) -> Self {
        let v1 = builder().build_v1().ok();
        let v1 = v1.map(|server| server.max_decoding_message_size(message_len_max));
        let v1alpha = builder().build_v1alpha().ok();
        let v1alpha = v1alpha.map(|server| server.max_decoding_message_size(message_len_max));
        Self {
            v1: Arc::new(move |request| Some(v1.clone()?.call(request))),
            v1alpha: Arc::new(move |request| Some(v1alpha.clone()?.call(request))),
        }
    }

    /// An error means that the descriptions cannot be read, which a test rules out.
    pub(super) fn call(
        &self,
        method: Method,
        request: Request<Incoming>,
    ) -> Result<Answering, Refusal> {
        let answering = match method {
            Method::ReflectionAlpha => (self.v1alpha)(request),
            _ => (self.v1)(request),
        };
        answering.ok_or_else(Refusal::unknown_method)
    }
}

fn builder() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(v1::DESCRIPTION)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        // The details of errors, so that tools can show them.
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptions_can_be_read() {
        assert!(builder().build_v1().is_ok());
        assert!(builder().build_v1alpha().is_ok());
    }
}
