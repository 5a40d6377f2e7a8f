//! `ConnectionCounts`: connections by door, those that are open and those that were refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::Metrics;

/// A door, as metrics and logs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoorName {
    Http,
    Resp,
    Grpc,
}

/// Connections of each door.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    open: [AtomicI64; DoorName::ALL.len()],
    refused: [AtomicU64; DoorName::ALL.len()],
}

/// A connection that is open, until it is dropped.
pub(crate) struct Connected {
    metrics: Arc<Metrics>,
    door: DoorName,
}

impl DoorName {
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

    /// Connections of a door that are open now.
    pub(super) fn open(&self, door: DoorName) -> i64 {
        self.open[door as usize].load(Ordering::Relaxed)
    }

    /// Connections of a door that were refused.
    pub(super) fn refused(&self, door: DoorName) -> u64 {
        self.refused[door as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn refuse(&self, door: DoorName) {
        self.refused[door as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl Connected {
    pub(crate) fn new(metrics: Arc<Metrics>, door: DoorName) -> Self {
        metrics.connections.open[door as usize].fetch_add(1, Ordering::Relaxed);
        Self { metrics, door }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let open = &self.metrics.connections.open;
        open[self.door as usize].fetch_sub(1, Ordering::Relaxed);
    }
}
