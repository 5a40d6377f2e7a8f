//! `Snowflakes`: the generator of snowflake ids, with the registry of its worker id.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leafid::{Id, Snowflake, WorkerRegistry};

use crate::sharded::Sharded;
use crate::worker_ids::Peers;

/// The generator, and the registry that supplies its worker id.
#[derive(Debug)]
pub(super) struct Snowflakes {
    pub(super) registry: WorkerRegistry,
    pub(super) peers: Peers,
    /// How far the clocks of servers may differ.
    pub(super) clock_margin: Duration,
    pub(super) snowflake: Snowflake,
    pub(super) counts: Sharded<Counts>,
}

/// The ids that one thread issued.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) ids: AtomicU64,
    /// The last id.
    pub(super) last: AtomicU64,
}

impl Snowflakes {
    #[inline]
    pub(super) fn count(&self, ids: u64, last: Option<Id>) {
        let counts = self.counts.here();
        // Relaxed: counters order nothing.
        counts.ids.fetch_add(ids, Ordering::Relaxed);
        if let Some(last) = last {
            counts.last.store(last.get(), Ordering::Relaxed);
        }
    }

    pub(super) fn new(registry: WorkerRegistry, peers: Peers, clock_margin: Duration) -> Self {
        Self {
            clock_margin,
            snowflake: registry.snowflake(),
            registry,
            peers,
            counts: Sharded::default(),
        }
    }
}
