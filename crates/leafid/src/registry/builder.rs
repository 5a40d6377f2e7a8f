//! `RegistryBuilder`: the parts of a registry: the store, the journal, the clocks of this machine
//! and of others, and the observer of its events.

use std::fmt;
use std::sync::Arc;

use super::{PeerClocks, RegistryDriver, RegistryOptions, WorkerRegistry};
use crate::clock::{Clock, SystemClock};
use crate::event::Observer;
use crate::store::{Journal, LeaseStore, MemoryJournal};

/// Opens a [`WorkerRegistry`].
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryJournal, MemoryLeaseStore};
/// use leafid::{RegistryOptions, WorkerRegistry, blocking};
///
/// let (registry, driver) = WorkerRegistry::builder()
///     .store(MemoryLeaseStore::new())
///     .journal(MemoryJournal::new())
///     .options(RegistryOptions::default())
///     .build();
/// let driver = blocking::spawn(driver)?; // or: tokio::spawn(driver)
/// let id = registry.snowflake().next_blocking()?;
/// # drop((id, driver));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a registry is opened by `build`"]
pub struct RegistryBuilder {
    pub(super) store: Option<Arc<dyn LeaseStore>>,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) peers: Arc<dyn PeerClocks>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) options: RegistryOptions,
}

impl RegistryBuilder {
    pub(super) fn new() -> Self {
        Self {
            store: None,
            journal: Arc::new(MemoryJournal::new()),
            peers: Arc::new(()),
            clock: Arc::new(SystemClock::new()),
            observer: Arc::new(()),
            options: RegistryOptions::default(),
        }
    }

    /// Leases worker ids from this store. Without one, the worker id is the one in
    /// [`WorkerChoice::Exactly`](super::WorkerChoice::Exactly).
    pub fn store(mut self, store: impl LeaseStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Writes this process's lease to this journal, so that a restart continues with it even while
    /// the store is down. Without one, a restart claims a worker id anew.
    pub fn journal(mut self, journal: impl Journal) -> Self {
        self.journal = Arc::new(journal);
        self
    }

    /// Compares the clock with those of running peers if it is in doubt.
    pub fn peers(mut self, peers: Arc<dyn PeerClocks>) -> Self {
        self.peers = peers;
        self
    }

    /// Uses other clocks than the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Reports events to this observer, for logs, metrics and alarms.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Sets how worker ids are leased, and how ids are made.
    pub fn options(mut self, options: RegistryOptions) -> Self {
        self.options = options;
        self
    }

    /// Returns the registry with the driver that keeps the worker id. Nothing is claimed before
    /// the driver runs.
    #[must_use]
    pub fn build(self) -> (WorkerRegistry, RegistryDriver) {
        WorkerRegistry::of(self)
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
