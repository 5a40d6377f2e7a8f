//! `Shared`: what a registry's handle and its driver share, and what the driver reports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use event_listener::Event as Notice;

use super::calls::{FailedWrites, Reachability};
use super::rows_seen::RowsSeen;
use super::{PeerClocks, RegistryOptions, RegistryStage, RegistryStatus};
use crate::event::{Event, Observer};
use crate::lease::Lease;
use crate::snowflake::Core;
use crate::store::{Journal, LeaseStore, StoreError};
use crate::worker_id::WorkerId;

/// The state that the handle and the driver share.
pub(crate) struct Shared {
    pub(crate) core: Arc<Core>,
    pub(crate) store: Option<Arc<dyn LeaseStore>>,
    pub(super) rows_seen: Arc<RowsSeen>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) peers: Arc<dyn PeerClocks>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) options: RegistryOptions,
    pub(super) is_stopped: AtomicBool,
    /// Notified when the driver has ended.
    pub(super) ended: Notice,
    pub(super) accepts_clock: AtomicBool,
    pub(super) state: Mutex<RegistryState>,
}

/// The driver's report to the handle.
#[derive(Debug)]
pub(super) struct RegistryState {
    pub(super) stage: RegistryStage,
    pub(super) lease: Option<Lease>,
    /// The lease that the store may hold for this process.
    pub(super) leased: Option<Lease>,
    /// The worker id that was given back at the end.
    pub(super) released: Option<WorkerId>,
    /// Why none was given back.
    pub(super) kept: Option<Arc<str>>,
    /// Where the ids of the only allowed worker id end, while they prevent a claim; in milliseconds
    /// since 1970.
    pub(super) ahead_until_ms: Option<u64>,
    pub(super) clock_steps: u64,
    pub(super) claims: u64,
    pub(super) failures: u64,
    pub(super) journal_fails: bool,
    pub(super) reachability: Reachability,
    pub(super) failed_writes: FailedWrites,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store(&self) -> Result<&dyn LeaseStore, StoreError> {
        self.store
            .as_deref()
            .ok_or_else(|| StoreError::Unsupported {
                message:
                    "there is no registry of worker ids: the worker id of this server is fixed"
                        .into(),
            })
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.core.driver_wake.notify(usize::MAX);
    }

    pub(super) fn takes_accepted_clock(&self) -> bool {
        self.accepts_clock.swap(false, Ordering::AcqRel)
    }

    pub(super) fn emit(&self, event: &Event<'_>) {
        self.observer.event(event);
    }

    pub(super) async fn sleep(&self, duration: Duration) {
        self.core.timeline.clock().sleep(duration).await;
    }

    pub(super) fn status(&self) -> RegistryStatus {
        let core = &self.core;
        let layout = core.options.layout;
        let now_ms = core.timeline.now_ms();
        let next_ms = core.state.next_tick().map(|tick| layout.unix_ms_of(tick));
        let next_ms = next_ms.map_or(now_ms, i64::unsigned_abs);
        let state = self.lock();
        RegistryStatus {
            stage: state.stage.clone(),
            lease: state.lease,
            left_ms: state
                .lease
                .map_or(0, |lease| lease.left_ms(now_ms.max(next_ms))),
            borrowed_ms: next_ms.saturating_sub(now_ms),
            clock_offset_ms: core.timeline.offset_ms(),
            clock_steps: state.clock_steps,
            claims: state.claims,
            failures: state.failures,
            journal_fails: state.journal_fails,
            store_answers: state.reachability.is_reachable(),
            end_ms: layout.end_unix_ms(),
        }
    }
}
