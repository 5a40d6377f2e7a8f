//! `Snowflakes`: the generator of snowflake ids, with the registry of its worker id.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leafid::{Id, Snowflake, WorkerRegistry};

use crate::config::WorkerConfig;
use crate::sharded::Sharded;
use crate::worker_ids::Peers;

/// The generator, and the registry that supplies its worker id.
#[derive(Debug)]
pub(super) struct Snowflakes {
    pub(super) registry: WorkerRegistry,
    pub(super) peers: Peers,
    pub(super) settings: WorkerSettings,
    pub(super) snowflake: Snowflake,
    pub(super) counts: Sharded<Counts>,
}

/// The settings of the worker id that are of use while it is held.
#[derive(Debug)]
pub(crate) struct WorkerSettings {
    /// The group of servers that share worker ids.
    pub(crate) pool: String,
    /// How long a worker id is leased ahead.
    pub(crate) lease: Duration,
    /// How far ids may run ahead of the clock.
    pub(crate) ahead_max: Duration,
    /// How far the clocks of servers may differ.
    pub(crate) clock_margin: Duration,
}

impl WorkerSettings {
    pub(super) fn of(config: &WorkerConfig) -> Self {
        Self {
            pool: config.pool.clone(),
            lease: config.lease,
            ahead_max: config.ahead_max,
            clock_margin: config.clock_offset_max,
        }
    }
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

    pub(super) fn new(registry: WorkerRegistry, peers: Peers, settings: WorkerSettings) -> Self {
        Self {
            settings,
            snowflake: registry.snowflake(),
            registry,
            peers,
            counts: Sharded::default(),
        }
    }
}
