//! `Queue`: spans on their way to the exporter. There is no waiting for room: a span for which there
//! is none is dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use leafid::Clock;
use opentelemetry_sdk::trace::SpanData;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Spans that wait to be sent, at half a kilobyte each.
const LEN: usize = 2048;

#[derive(Clone)]
pub(super) struct Queue {
    clock: Arc<dyn Clock>,
    spans: Sender<SpanData>,
    pub(super) counts: Arc<Counts>,
}

/// Relaxed: counters order nothing.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) exported: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Queue {
    pub(super) fn new(clock: Arc<dyn Clock>) -> (Self, Receiver<SpanData>) {
        let (sender, receiver) = channel(LEN);
        let queue = Self {
            clock,
            spans: sender,
            counts: Arc::default(),
        };
        (queue, receiver)
    }

    /// The time for spans.
    pub(super) fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.clock.wall()
    }

    pub(super) fn send(&self, span: SpanData) {
        if self.spans.try_send(span).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
