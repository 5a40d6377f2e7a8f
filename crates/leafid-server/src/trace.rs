//! Traces over OTLP: a span for each request that is traced, and for the store calls that it waits
//! for. Without the feature `otel` nothing is ever traced, and the types here have no value.
//!
//! Left to others: which attributes a request has (the front ends), and which calls are watched
//! (`ops/instrumented_store.rs`). Invariant: nothing here waits; a span for which the queue has no
//! room is dropped and counted.

#[cfg(feature = "otel")]
mod exporter;
#[cfg(feature = "otel")]
mod place;
#[cfg(feature = "otel")]
mod queue;
#[cfg(feature = "otel")]
mod span;
#[cfg(any(feature = "otel", test))]
mod traceparent;
#[cfg(feature = "otel")]
mod tracer;
#[cfg(feature = "otel")]
mod waiting;

#[cfg(not(feature = "otel"))]
mod off;

#[cfg(feature = "otel")]
pub(crate) use self::{
    exporter::Exporter,
    span::{RequestSpan, note_tag},
    tracer::Tracer,
};

#[cfg(not(feature = "otel"))]
pub(crate) use off::{Exporter, RequestSpan, Tracer, note_tag};

/// The server, for its tracer.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "nothing is traced"))]
pub(crate) struct TracedServer {
    /// Where spans are sent.
    pub(crate) endpoint: String,
    /// The part of requests without a trace that begin one, 0 to 1.
    pub(crate) sample: f64,
    /// The name of the service, as traces show it.
    pub(crate) service: String,
    /// The kind of database behind the store, such as `mysql`.
    pub(crate) store: &'static str,
}

/// How a request ended.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "nothing is traced"))]
pub(crate) enum Outcome {
    Ok,
    /// The caller's mistake: no error of this server.
    Refused,
    /// An error of this server, with its kind.
    Failed(String),
}

/// How many spans were sent and dropped.
pub(crate) struct SpanCounts {
    pub(crate) exported: u64,
    pub(crate) dropped: u64,
}
