//! `Traced`: the span of a call, with the names of OpenTelemetry's semantic conventions for gRPC.

use std::pin::Pin;

use hyper::HeaderMap;
use tonic::Code;

use super::Method;
use super::counts::code_name;
use crate::trace::{Outcome, RequestSpan, Tracer};

/// A call that is traced.
pub(super) struct Traced(RequestSpan);

impl Traced {
    /// `None`: it is not.
    pub(super) fn begin(tracer: &Tracer, method: Method, headers: &HeaderMap) -> Option<Self> {
        let mut span = tracer.request(headers)?;
        span.name(method.path().to_owned());
        span.text("rpc.system", "grpc");
        if let Some((service, method)) = method.path().split_once('/') {
            span.text("rpc.service", service);
            span.text("rpc.method", method);
        }
        Some(Self(span))
    }

    /// The answer, with the span around the store calls that it makes.
    pub(super) fn scope<F>(&self, answering: F) -> Pin<Box<dyn Future<Output = F::Output> + Send>>
    where
        F: Future + Send + 'static,
    {
        Box::pin(self.0.scope(answering))
    }

    pub(super) fn end(mut self, code: Code) {
        self.0
            .number("rpc.grpc.status_code", i64::from(i32::from(code)));
        self.0.end(match code {
            Code::Ok => Outcome::Ok,
            // The server's own, by the conventions.
            Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss => Outcome::Failed(code_name(code).to_owned()),
            _ => Outcome::Refused,
        });
    }
}
