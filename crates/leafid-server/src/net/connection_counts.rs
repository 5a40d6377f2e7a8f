//! `ConnectionCounts`: open and refused connections, by protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::named::named;

named! {
    /// The protocol of a front end, as metrics and logs name it.
    pub(crate) enum Protocol, by name {
        Http "http"
        Resp "resp"
        Grpc "grpc"
    }
}

/// Open and refused connections of each protocol.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    /// Each open connection has a clone.
    open: [OpenConnection; Protocol::ALL.len()],
    refused: [AtomicU64; Protocol::ALL.len()],
}

/// An open connection, until it is dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenConnection(Arc<()>);

impl ConnectionCounts {
    pub(crate) fn connection(&self, protocol: Protocol) -> OpenConnection {
        self.open[protocol as usize].clone()
    }

    /// Connections that are open now.
    pub(crate) fn open(&self, protocol: Protocol) -> i64 {
        let clones = Arc::strong_count(&self.open[protocol as usize].0) - 1;
        i64::try_from(clones).unwrap_or(i64::MAX)
    }

    // Relaxed, in both: counters order nothing.

    /// Connections that were refused.
    pub(crate) fn refused(&self, protocol: Protocol) -> u64 {
        self.refused[protocol as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn refuse(&self, protocol: Protocol) {
        self.refused[protocol as usize].fetch_add(1, Ordering::Relaxed);
    }
}
