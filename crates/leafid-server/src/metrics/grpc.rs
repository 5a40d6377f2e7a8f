//! `GrpcCounts`: calls by method and status, in a fixed table of counters for each thread.

use std::sync::atomic::{AtomicU64, Ordering};

use tonic::Code;

use crate::grpc::Method;
use crate::sharded::Sharded;

/// How many statuses gRPC has.
const CODES: usize = 17;

/// Calls by method and status.
#[derive(Debug, Default)]
pub(crate) struct GrpcCounts {
    tables: Sharded<Table>,
}

struct Table([[AtomicU64; CODES]; Method::ALL.len()]);

impl Default for Table {
    fn default() -> Self {
        Self([const { [const { AtomicU64::new(0) }; CODES] }; Method::ALL.len()])
    }
}

impl GrpcCounts {
    #[inline]
    pub(crate) fn count(&self, method: Method, code: Code) {
        // Relaxed: a counter orders nothing.
        self.tables.here().0[method as usize][code as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Method, status and count, of those that were counted.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Method, Code, u64)> {
        Method::ALL.into_iter().flat_map(move |method| {
            (0_i32..).zip(0..CODES).filter_map(move |(code, column)| {
                let counts = self
                    .tables
                    .iter()
                    .map(|table| &table.0[method as usize][column]);
                let sum: u64 = counts.map(|count| count.load(Ordering::Relaxed)).sum();
                (sum > 0).then(|| (method, Code::from_i32(code), sum))
            })
        })
    }
}

/// A status as the definition of gRPC writes it, such as `NOT_FOUND`.
pub(crate) const fn name(code: Code) -> &'static str {
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
