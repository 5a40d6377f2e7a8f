//! `ConnectionCounts`: open and refused connections, by protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The protocol of a front end, as metrics and logs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Resp,
    Grpc,
}

/// Open and refused connections of each protocol.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    open: [AtomicI64; Protocol::ALL.len()],
    refused: [AtomicU64; Protocol::ALL.len()],
}

/// An open connection, until it is dropped.
pub(crate) struct OpenConnection {
    counts: Arc<ConnectionCounts>,
    protocol: Protocol,
}

impl Protocol {
    pub(crate) const ALL: [Self; 3] = [Self::Http, Self::Resp, Self::Grpc];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Resp => "resp",
            Self::Grpc => "grpc",
        }
    }
}

impl ConnectionCounts {
    // Relaxed, in all of them: counters order nothing.

    /// Connections that are open now.
    pub(crate) fn open(&self, protocol: Protocol) -> i64 {
        self.open[protocol as usize].load(Ordering::Relaxed)
    }

    /// Connections that were refused.
    pub(crate) fn refused(&self, protocol: Protocol) -> u64 {
        self.refused[protocol as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn refuse(&self, protocol: Protocol) {
        self.refused[protocol as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl OpenConnection {
    pub(crate) fn new(counts: Arc<ConnectionCounts>, protocol: Protocol) -> Self {
        counts.open[protocol as usize].fetch_add(1, Ordering::Relaxed);
        Self { counts, protocol }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.counts.open[self.protocol as usize].fetch_sub(1, Ordering::Relaxed);
    }
}
