//! `Place`: where a span is, in which trace.

use opentelemetry::trace::{SpanId, TraceId, TraceState};
use opentelemetry_sdk::trace::{IdGenerator as _, RandomIdGenerator};

/// A span in its trace.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    /// What the caller's tracing system adds, passed on as it is.
    pub(super) state: TraceState,
}

impl Place {
    /// A new span in a trace.
    pub(super) fn new(trace_id: TraceId, state: TraceState) -> Self {
        Self {
            trace_id,
            span_id: RandomIdGenerator::default().new_span_id(),
            state,
        }
    }

    /// A new trace.
    pub(super) fn root() -> Self {
        let trace_id = RandomIdGenerator::default().new_trace_id();
        Self::new(trace_id, TraceState::NONE)
    }
}
