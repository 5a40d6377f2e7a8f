//! Reflection: lists the services to clients, so that grpcurl needs no protocol files. Older
//! clients use the name that the service had as v1alpha.

use std::sync::OnceLock;

use hyper::Request;
use tonic::codegen::Service as _;
use tonic_reflection::server::Builder;

use super::call::Answering;
use super::error::Refusal;
use super::request_body::RequestBody;
use super::{Method, v1 as messages};

/// A service whose type has no name.
type Called = Box<dyn Fn(Request<RequestBody>) -> Option<Answering> + Send + Sync>;

/// Both versions of the service, each created on first use: hardly any server is ever asked.
pub(super) struct Reflection {
    v1: OnceLock<Called>,
    v1alpha: OnceLock<Called>,
    message_len_max: usize,
}

impl Reflection {
    pub(super) const fn new(message_len_max: usize) -> Self {
        Self {
            v1: OnceLock::new(),
            v1alpha: OnceLock::new(),
            message_len_max,
        }
    }

    /// An error means that the descriptors cannot be read, which a test rules out.
    pub(super) fn call(
        &self,
        method: Method,
        request: Request<RequestBody>,
    ) -> Result<Answering, Refusal> {
        let called = match method {
            Method::ReflectionAlpha => self.v1alpha.get_or_init(|| v1alpha(self.message_len_max)),
            _ => self.v1.get_or_init(|| v1(self.message_len_max)),
        };
        called(request).ok_or_else(Refusal::unknown_method)
    }
}

fn v1(message_len_max: usize) -> Called {
    let server = builder().build_v1().ok();
    let server = server.map(|server| server.max_decoding_message_size(message_len_max));
    Box::new(move |request| Some(server.clone()?.call(request)))
}

fn v1alpha(message_len_max: usize) -> Called {
    let server = builder().build_v1alpha().ok();
    let server = server.map(|server| server.max_decoding_message_size(message_len_max));
    Box::new(move |request| Some(server.clone()?.call(request)))
}

fn builder() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(messages::DESCRIPTION)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        // The types of error details, so that tools can show them.
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
