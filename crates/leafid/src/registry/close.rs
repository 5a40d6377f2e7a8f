//! `close`: ends a registry, and reports what became of its worker id.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;

use super::{RegistryStage, RegistryState, Shared, WorkerRegistry};
use crate::error_kind::ErrorKind;
use crate::layout::Instant;
use crate::lease::Lease;
use crate::store::StoreError;
use crate::worker_id::WorkerId;

/// What became of the worker id when a registry was closed.
///
/// # Example
///
/// See [`WorkerRegistry::close`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closed {
    /// No store holds a worker id for this process: none was claimed, it was lost, or it is a fixed
    /// one without a store.
    NotHeld,
    /// The worker id was given back. Another process can claim it within seconds.
    Released {
        /// The worker id.
        worker: WorkerId,
    },
    /// The worker id stays leased to this process. A restart with the same journal continues with
    /// it; others get it after `lease.until_ms`, or up to a whole
    /// [`lease`](super::RegistryOptions::lease) later if an extension was under way.
    Leased {
        /// The lease.
        lease: Lease,
        /// Why it was not given back.
        reason: Arc<str>,
    },
}

impl Closed {
    /// Until when the worker id stays leased, in milliseconds since 1970-01-01T00:00:00Z; `None` if
    /// it does not.
    #[must_use]
    pub const fn leased_until_ms(&self) -> Option<u64> {
        match self {
            Self::Leased { lease, .. } => Some(lease.until_ms),
            Self::NotHeld | Self::Released { .. } => None,
        }
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeld => f.write_str("no worker id was leased"),
            Self::Released { worker } => write!(f, "worker id {worker} was given back"),
            Self::Leased { lease, reason } => {
                let unix_ms = lease.until_ms.cast_signed();
                let until = Instant { unix_ms };
                let worker = lease.worker;
                write!(f, "worker id {worker} stays leased until {until}: {reason}")
            }
        }
    }
}

impl WorkerRegistry {
    /// Stops issuing for good, gives the worker id back, and waits for that, at most for `timeout`.
    /// The driver must run meanwhile; it ends afterwards. Closing twice is harmless and returns the
    /// same.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use leafid::store::MemoryLeaseStore;
    /// use leafid::{Closed, WorkerRegistry, blocking};
    ///
    /// let (registry, driver) = WorkerRegistry::builder().store(MemoryLeaseStore::new()).build();
    /// blocking::spawn(driver)?;
    /// registry.snowflake().next_blocking()?;
    /// match blocking::block_on(registry.close(Duration::from_secs(5))) {
    ///     Closed::Released { worker } => println!("worker id {worker} is free"),
    ///     closed => println!("{closed}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn close(&self, timeout: Duration) -> Closed {
        let shared = &self.handle.shared;
        shared.stop();
        let ended = shared.ended.listen();
        if shared.lock().stage != RegistryStage::Stopped {
            select(ended, pin!(shared.sleep(timeout))).await;
        }
        let now_ms = shared.core.timeline.now_ms();
        shared.lock().closed(now_ms)
    }
}

impl Shared {
    /// Records the lease that the store may hold for this process from now on.
    pub(super) fn set_leased(&self, lease: Option<Lease>) {
        self.lock().leased = lease.filter(|_| self.store.is_some());
    }

    /// The driver has ended: nothing is issued any longer.
    pub(super) fn end(&self, reason: &'static str) {
        self.core.close(reason, ErrorKind::Stopped, None);
        self.lock().stage = RegistryStage::Stopped;
        self.ended.notify(usize::MAX);
    }
}

impl RegistryState {
    /// Records whether the worker id was given back.
    pub(super) fn on_release(
        &mut self,
        lease: Lease,
        given_back: &Result<bool, StoreError>,
        now_ms: u64,
    ) {
        match given_back {
            Ok(is_ours) => {
                self.leased = None;
                self.released = is_ours.then_some(lease.worker);
            }
            Err(_) if lease.until_ms <= now_ms => self.leased = None,
            Err(error) => self.kept = Some(error.to_string().into()),
        }
    }

    fn closed(&self, now_ms: u64) -> Closed {
        let leased = self.leased.filter(|lease| lease.until_ms > now_ms);
        match (leased, self.released) {
            (Some(lease), _) => Closed::Leased {
                lease,
                reason: self.kept_reason(),
            },
            (None, Some(worker)) => Closed::Released { worker },
            (None, None) => Closed::NotHeld,
        }
    }

    fn kept_reason(&self) -> Arc<str> {
        match &self.kept {
            Some(reason) => Arc::clone(reason),
            None if self.stage == RegistryStage::Stopped => "its driver was dropped".into(),
            None => "it was not given back in time".into(),
        }
    }
}
