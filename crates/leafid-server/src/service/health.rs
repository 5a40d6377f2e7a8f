//! `Health`: liveness and readiness of this process, and the state of its store.
//!
//! Ready means: better with requests than without them. The process becomes ready once the store
//! was reached, its settings were checked and reservations succeed, and stops being ready with the
//! shutdown signal. A store that fails later does not change that while memory holds ids: all
//! servers share the store, so all would leave the rotation at once and withhold the ids that they
//! hold.
//!
//! If segment ids are served, they alone decide: snowflake ids are on by default, and a server must
//! not leave or enter the rotation because of ids that its callers may not use. If they are off,
//! the worker id decides. A problem of this server alone, such as a journal that cannot be written,
//! always ends readiness: another server can issue snowflake ids.

mod worker;

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leafid::store::StoreState;
use leafid::{Clock, Generators, RegistryStatus, WorkerRegistry};
use tokio::sync::Notify;

use crate::service::regressions::{Regressions, WentBack};
use crate::worker_ids::RowLooks;
use worker::WorkerReadiness;

/// How many tags are checked for ids in memory while the store fails.
const TAGS_SEEN_MAX: usize = 1000;

/// Liveness and readiness of this process, and the state of its store.
///
/// # Example
///
/// See [`Service`](crate::Service).
pub struct Health {
    generators: Generators,
    /// Whether segment ids are served.
    segment: bool,
    /// `None`: snowflake ids are off.
    registry: Option<WorkerRegistry>,
    row_looks: Option<Arc<RowLooks>>,
    clock: Arc<dyn Clock>,
    /// The state of the store before the generators take over.
    first_seen: Mutex<StoreState>,
    regressions: Arc<Regressions>,
    phase: AtomicU8,
    /// Notified when the phase changes.
    changed: Notify,
}

/// Which kinds of ids are served.
pub(crate) struct Kinds {
    pub(crate) segment: bool,
    pub(crate) registry: Option<WorkerRegistry>,
    /// What is known of the database with `WORKER_NODE`, if the worker id is from it and not leased.
    pub(crate) row_looks: Option<Arc<RowLooks>>,
}

/// The phase of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(crate) enum Phase {
    /// The store's settings are not checked yet; nothing is reserved. Exits: `Serving`, `Leaving`,
    /// `Draining`.
    Starting = 0,
    /// Segments are fetched. Exits: `Leaving`, `Draining`.
    Serving = 1,
    /// Told to stop: no longer ready, but still serving until load balancers have noticed. Exits:
    /// `Draining`.
    Leaving = 2,
    /// Finishes the requests in flight. No exit.
    Draining = 3,
}

impl Phase {
    /// The phase in one word, as the console shows it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Leaving => "leaving",
            Self::Draining => "draining",
        }
    }
}

/// Whether the process is ready, and why.
///
/// # Example
///
/// See [`Service`](crate::Service).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    phase: Phase,
    segment: bool,
    store: StoreState,
    /// For how long the store has failed.
    failing_for: Duration,
    /// Set if the store went back in time recently.
    went_back: Option<WentBack>,
    /// Whether memory holds ids; only checked while the store does not answer.
    has_ids: bool,
    /// `None`: snowflake ids are off.
    worker: Option<WorkerReadiness>,
}

impl Health {
    pub(crate) fn new(
        kinds: Kinds,
        generators: Generators,
        clock: Arc<dyn Clock>,
        regressions: Arc<Regressions>,
    ) -> Self {
        let Kinds {
            segment,
            registry,
            row_looks,
        } = kinds;
        Self {
            segment,
            registry,
            row_looks,
            generators,
            clock,
            first_seen: Mutex::default(),
            regressions,
            phase: AtomicU8::new(Phase::Starting as u8),
            changed: Notify::new(),
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        // A phase never goes back: a store that is reached while draining changes nothing.
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// The store could not be reached at the start.
    pub(crate) fn store_not_reached(&self, message: String) {
        let mut seen = self
            .first_seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let since = match *seen {
            StoreState::Down { since, .. } => since,
            _ => self.clock.now(),
        };
        *seen = StoreState::Down { since, message };
    }

    /// Whether reservations succeed.
    pub(crate) fn store(&self) -> StoreState {
        if self.phase() != Phase::Starting {
            return self.generators.store_state();
        }
        self.first_seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The state of the worker id and the clock; `None` if snowflake ids are off.
    pub(crate) fn worker_status(&self) -> Option<RegistryStatus> {
        let status = self.registry.as_ref()?.status();
        Some(match &self.row_looks {
            Some(looks) => looks.shown_in(status),
            None => status,
        })
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Leaving,
            _ => Phase::Draining,
        }
    }

    /// Waits up to `wait_max` for the store to be reached, just after the start. If the store is
    /// known to fail it does not wait.
    ///
    /// # Errors
    ///
    /// Why the store is not reached.
    pub(crate) async fn started(&self, wait_max: Duration) -> Result<(), String> {
        let mut changed = pin!(self.changed.notified());
        // From here on no change is missed.
        changed.as_mut().enable();
        if self.phase() != Phase::Starting {
            return Ok(());
        }
        let is_failing = matches!(self.store(), StoreState::Down { .. });
        if !is_failing && tokio::time::timeout(wait_max, changed).await.is_ok() {
            return Ok(());
        }
        Err(match self.store() {
            StoreState::Down { message, .. } => message,
            _ => "it has not answered yet".into(),
        })
    }

    /// Whether clients should reconnect elsewhere.
    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        // Relaxed: nothing is read behind it.
        self.phase.load(Ordering::Relaxed) >= Phase::Leaving as u8
    }

    /// Waits for a change of phase.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until the process was told to stop.
    pub(crate) async fn draining(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.phase() == Phase::Draining {
                return;
            }
            changed.await;
        }
    }

    /// Whether the process is ready now.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        let store = self.store();
        let mut failing_for = Duration::ZERO;
        let mut has_ids = false;
        if let StoreState::Down { since, .. } = store {
            failing_for = self.clock.now().saturating_sub(since);
        }
        if !store.is_up() {
            let statuses = self.generators.statuses(TAGS_SEEN_MAX);
            has_ids = statuses.iter().any(|status| status.remaining > 0);
        }
        Readiness {
            phase: self.phase(),
            segment: self.segment,
            store,
            failing_for,
            went_back: self.regressions.named(),
            has_ids,
            worker: self.worker_status().map(WorkerReadiness),
        }
    }
}

impl Readiness {
    /// Whether the server should receive requests.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match &self.worker {
            Some(worker) if !self.segment => self.phase < Phase::Leaving && worker.0.is_ready(),
            _ => {
                let worker = self.worker.as_ref();
                let is_whole = worker.is_none_or(|worker| !worker.0.journal_fails);
                let has_ids = self.store.is_up() || self.has_ids;
                self.phase == Phase::Serving && has_ids && is_whole
            }
        }
    }

    /// Whether the store was found to have gone back in time within a day. The server continues to
    /// serve: its own ids do not repeat, and whether those of others do is not known here.
    #[must_use]
    pub const fn store_went_back(&self) -> bool {
        self.went_back.is_some()
    }

    /// Whether reservations succeed.
    #[must_use]
    pub const fn store_answers(&self) -> bool {
        self.store.is_up()
    }
}

/// One line for each check, and the result.
impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |is_good: bool| if is_good { '+' } else { '-' };
        let phase = match self.phase {
            Phase::Starting => "waiting for the store",
            Phase::Serving => "segments are fetched",
            Phase::Leaving => "shutting down: requests are served until `shutdown-delay` is over",
            Phase::Draining => "shutting down",
        };
        writeln!(f, "[{}]driver: {phase}", mark(self.phase == Phase::Serving))?;
        match &self.store {
            StoreState::Unasked => writeln!(f, "[-]store: not reached yet")?,
            StoreState::Up { location: None } => writeln!(f, "[+]store: answers")?,
            StoreState::Up {
                location: Some(location),
            } => writeln!(f, "[+]store: {location} answers")?,
            StoreState::Down { message, .. } => {
                let seconds = self.failing_for.as_secs();
                writeln!(f, "[-]store: failing for {seconds} s: {message}")?;
                let memory = if self.has_ids { "holds" } else { "holds no" };
                writeln!(f, "[{}]memory: {memory} ids", mark(self.has_ids))?;
            }
        }
        if let Some(went_back) = &self.went_back {
            writeln!(f, "{went_back}")?;
        }
        if let Some(worker) = &self.worker {
            write!(f, "{worker}")?;
        }
        f.write_str(if self.is_ready() {
            "ready\n"
        } else {
            "not ready\n"
        })
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}
