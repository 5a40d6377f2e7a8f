//! `GrpcCounts`: calls by method and status.

use tonic::Code;

use super::Method;
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::{CallCounts, CallMetric, CountedCalls, Latency};

/// The number of gRPC statuses.
const CODES: usize = 17;

/// Calls by method and status, and how long they took.
#[derive(Debug, Default)]
pub(crate) struct GrpcCounts {
    calls: CallCounts<{ Method::ALL.len() }, CODES>,
    pub(super) latency: Latency,
}

impl GrpcCounts {
    #[inline]
    pub(crate) fn count(&self, method: Method, code: Code) {
        self.calls.add(method as usize, code as usize, 1);
    }
}

impl CountedCalls for GrpcCounts {
    fn metric(&self) -> CallMetric {
        CallMetric {
            name: "grpc_calls",
            help: "gRPC calls by method and status, counted when they end",
            labels: ["method", "code"],
        }
    }

    fn protocol(&self) -> Protocol {
        Protocol::Grpc
    }

    fn latency(&self) -> &Latency {
        &self.latency
    }

    fn for_each(&self, each: &mut dyn FnMut([&str; 2], u64)) {
        let codes: [Code; CODES] =
            std::array::from_fn(|code| Code::from_i32(i32::try_from(code).unwrap_or_default()));
        for (method, code, count) in self.calls.counted() {
            each([Method::ALL[method].path(), code_name(codes[code])], count);
        }
    }
}

/// The name of a status in the gRPC specification, such as `NOT_FOUND`.
pub(crate) const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
