//! `WorkerRegistry`: keeps this process supplied with a worker id. `lease.rs` and
//! `registry/claim.rs` explain why two servers with one worker id do no harm.
//!
//! The handle is here; the driver, which does the work, in `registry/driver.rs`.

mod accept_clock;
mod builder;
mod calls;
mod candidate;
mod claim;
mod clock_check;
mod close;
mod driver;
mod grant;
mod hold;
mod journal;
mod late_reads;
mod obstacle;
mod options;
mod own_row;
mod peers;
mod release;
mod retrying_store;
mod row_read;
mod rows_seen;
mod shared;
mod start;
mod status;
mod timekeeper;
mod two_phase_claim;

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use event_listener::Event as Notice;

use crate::conflict_retry::ConflictRetry;
use crate::snowflake::{Core, Snowflake};
use crate::store::{Journal, LeaseRecord, LeaseStore, LeaseSwap, StoreError};

use calls::{FailedWrites, Reachability};
use retrying_store::RetryingStore;
use rows_seen::RowsSeen;
use shared::{RegistryState, Shared};

pub use accept_clock::ClockAhead;
pub use builder::RegistryBuilder;
pub use close::Closed;
pub use driver::RegistryDriver;
pub use late_reads::LateReads;
pub use options::{RegistryOptions, WorkerChoice};
pub use peers::PeerClocks;
pub use status::{RegistryStage, RegistryStatus};

/// Keeps this process supplied with a worker id, and makes snowflake ids with it.
///
/// A worker id is leased in a [`LeaseStore`] for an hour of times in ids, and extended long before
/// that ends. While the registry is down the server continues within its lease, even after a
/// restart, which its [`Journal`] makes safe.
///
/// **Thread-safe**; a clone is another handle.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::store::{MemoryJournal, MemoryLeaseStore};
/// use leafid::{WorkerRegistry, blocking};
///
/// let (registry, driver) = WorkerRegistry::builder()
///     .store(MemoryLeaseStore::new())
///     .journal(MemoryJournal::new())
///     .build();
/// let driver = blocking::spawn(driver)?; // or: tokio::spawn(driver)
/// let first = registry.snowflake().next_blocking()?;
/// let second = registry.snowflake().next_blocking()?;
/// assert!(first < second);
/// blocking::block_on(registry.close(Duration::from_secs(5))); // gives the worker id back
/// # driver.join().ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WorkerRegistry {
    handle: Arc<Handle>,
}

/// Stops the driver when the last registry and the last generator are dropped.
pub(crate) struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl WorkerRegistry {
    /// Opens a registry, and returns the driver that keeps the worker id. Nothing is claimed
    /// before the driver runs.
    ///
    /// # Example
    ///
    /// See [`WorkerRegistry`].
    pub fn open(
        store: Option<Arc<dyn LeaseStore>>,
        journal: impl Journal,
        options: RegistryOptions,
    ) -> (Self, RegistryDriver) {
        let builder = Self::builder().journal(journal).options(options);
        RegistryBuilder { store, ..builder }.build()
    }

    /// Sets up a registry with a clock, an observer and peers of your own.
    ///
    /// # Example
    ///
    /// See [`RegistryBuilder`].
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::new()
    }

    fn of(parts: RegistryBuilder) -> (Self, RegistryDriver) {
        let options = parts.options;
        let core = Arc::new(Core::new(options.snowflake, Arc::clone(&parts.clock)));
        let rows_seen = Arc::new(RowsSeen::default());
        let store = parts.store.map(|store| {
            let (clock, observer) = (Arc::clone(&parts.clock), Arc::clone(&parts.observer));
            let conflict_retry =
                ConflictRetry::new(clock, observer, options.call_max, options.seed);
            Arc::new(RetryingStore {
                store,
                conflict_retry,
                core: Arc::clone(&core),
                rows_seen: Arc::clone(&rows_seen),
            }) as Arc<dyn LeaseStore>
        });
        let shared = Arc::new(Shared {
            core,
            store,
            rows_seen,
            journal: parts.journal,
            peers: parts.peers,
            observer: parts.observer,
            options,
            is_stopped: AtomicBool::new(false),
            ended: Notice::new(),
            accepts_clock: AtomicBool::new(false),
            state: Mutex::new(RegistryState {
                stage: RegistryStage::Starting,
                lease: None,
                leased: None,
                released: None,
                kept: None,
                ahead_until_ms: None,
                clock_steps: 0,
                claims: 0,
                failures: 0,
                journal_fails: false,
                reachability: Reachability::Unknown,
                failed_writes: FailedWrites::default(),
            }),
        });
        let driver = RegistryDriver::new(Arc::clone(&shared));
        let handle = Arc::new(Handle { shared });
        (Self { handle }, driver)
    }

    /// The generator that issues with this registry's worker id. It keeps the registry alive.
    ///
    /// # Example
    ///
    /// See [`WorkerRegistry`].
    #[must_use]
    pub fn snowflake(&self) -> Snowflake {
        let core = Arc::clone(&self.handle.shared.core);
        Snowflake::of(core, Arc::clone(&self.handle))
    }

    /// The state of this process's worker id and clock.
    ///
    /// # Example
    ///
    /// See [`RegistryStatus`].
    #[must_use]
    pub fn status(&self) -> RegistryStatus {
        self.handle.shared.status()
    }

    /// The time of this process, in milliseconds since 1970-01-01T00:00:00Z: the time in its ids,
    /// without what they have borrowed.
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::WorkerRegistry;
    /// # let (registry, _driver) = WorkerRegistry::builder().build();
    /// assert!(registry.now_ms() > 1_700_000_000_000);
    /// ```
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.handle.shared.core.timeline.now_ms()
    }

    /// Accepts the wall clock, although it disagrees with the time in ids: for an operator who
    /// knows that it is right. If ids have been issued far ahead of it, their worker id is left
    /// unused until that time, and another one is claimed.
    ///
    /// # Errors
    ///
    /// [`ClockAhead`] if there is no other worker id to claim, because this one was chosen by
    /// [`WorkerChoice::Exactly`]. Nothing changes then: ids continue with their time.
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::WorkerRegistry;
    /// # let (registry, _driver) = WorkerRegistry::builder().build();
    /// registry.accept_clock()?;
    /// # Ok::<(), leafid::ClockAhead>(())
    /// ```
    pub fn accept_clock(&self) -> Result<(), ClockAhead> {
        self.handle.shared.accept_clock()
    }

    /// Stops issuing for good, has the driver give the worker id back, and ends it. Does not wait:
    /// see [`close`](Self::close).
    ///
    /// # Example
    ///
    /// See [`WorkerRegistry`].
    pub fn stop(&self) {
        self.handle.shared.stop();
    }

    /// All worker ids with their holders. Says nothing about the registry in the
    /// [`status`](Self::status): only the driver's own calls do.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; [`StoreError::Unsupported`] without a registry.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leafid::store::{MemoryJournal, MemoryLeaseStore};
    /// use leafid::{RegistryOptions, WorkerRegistry, blocking};
    ///
    /// let store = Arc::new(MemoryLeaseStore::new());
    /// let (registry, _driver) =
    ///     WorkerRegistry::open(Some(store), MemoryJournal::new(), RegistryOptions::default());
    /// assert!(blocking::block_on(registry.leases())?.is_empty());
    /// # Ok::<(), leafid::store::StoreError>(())
    /// ```
    pub async fn leases(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        let shared = &self.handle.shared;
        let leases = shared.store()?.leases();
        let mut leases = shared.within(shared.options.call_max, leases).await?;
        leases.sort_by_key(|row| row.worker);
        Ok(leases)
    }

    /// Frees a worker id whose holder is known to be gone for good, before its lease ends: it can
    /// be claimed some seconds later. Returns whether the row was still as given.
    ///
    /// If the holder is alive after all, it continues within the lease that it knows, and so may
    /// the next holder of the worker id: **the one call here that can make ids repeat**. It is for
    /// an operator who has seen that the process does not run.
    ///
    /// # Errors
    ///
    /// As [`leases`](Self::leases).
    ///
    /// # Example
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use leafid::store::{MemoryJournal, MemoryLeaseStore};
    /// # use leafid::{RegistryOptions, WorkerRegistry, blocking};
    /// # let store = Arc::new(MemoryLeaseStore::new());
    /// # let (registry, _driver) =
    /// #     WorkerRegistry::open(Some(store), MemoryJournal::new(), RegistryOptions::default());
    /// for row in blocking::block_on(registry.leases())? {
    ///     blocking::block_on(registry.force_release(&row))?;
    /// }
    /// # Ok::<(), leafid::store::StoreError>(())
    /// ```
    pub async fn force_release(&self, row: &LeaseRecord) -> Result<bool, StoreError> {
        let shared = &self.handle.shared;
        // The last ids of the holder may have been ahead of its clock, and its clock ahead of ours.
        let options = &shared.options;
        let margin = options.journal_ahead + options.snowflake.ahead_max + options.clock_offset_max;
        let margin_ms = u64::try_from(margin.as_millis()).unwrap_or(u64::MAX);
        let free_ms = self.now_ms().saturating_add(margin_ms);
        let swap = LeaseSwap {
            expected: Some(row.key()),
            record: LeaseRecord {
                epoch: row.epoch + 1,
                holder: String::new(),
                until_ms: free_ms.min(row.until_ms),
                ..row.clone()
            },
        };
        let released = shared.store()?.swap(&swap);
        shared.within(shared.options.call_max, released).await
    }
}

impl fmt::Debug for WorkerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerRegistry")
            .field("stage", &self.status().stage)
            .finish_non_exhaustive()
    }
}
