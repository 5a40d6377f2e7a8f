//! `RegistryDriver`: the background half of a registry. It gets a worker id (`start.rs`), holds it
//! (`hold.rs`), and gives it back (`release.rs`) or, if it is lost, gets another; meanwhile it
//! keeps the time for callers that take ids fast (`timekeeper.rs`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::{Either, select};

use super::{Shared, timekeeper};
use crate::backoff::backoff;
use crate::store::{BoxFuture, JournalLease, JournalRecord, StoreError};
use crate::worker_id::WorkerId;

/// The background half of [`WorkerRegistry`](crate::WorkerRegistry): a plain future, to be placed
/// on any runtime (`tokio::spawn(driver)`) or on a thread
/// ([`blocking::spawn`](crate::blocking::spawn)).
///
/// It ends once the registry was [closed](crate::WorkerRegistry::close) or stopped, or the last
/// registry and [`Snowflake`](crate::Snowflake) of it dropped, and the worker id was given back.
/// Dropped before that, it stops issuing at once, and the worker id stays leased.
///
/// # Example
///
/// See [`WorkerRegistry`](crate::WorkerRegistry).
pub struct RegistryDriver {
    shared: Arc<Shared>,
    run: BoxFuture<'static, ()>,
}

impl RegistryDriver {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let run = Box::pin(run(Arc::clone(&shared)));
        Self { shared, run }
    }
}

impl Future for RegistryDriver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.run.as_mut().poll(context)
    }
}

impl Drop for RegistryDriver {
    fn drop(&mut self) {
        self.shared.core.state.halt();
        self.shared.end("the driver has ended");
    }
}

impl std::fmt::Debug for RegistryDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryDriver").finish_non_exhaustive()
    }
}

/// What the driver remembers from one worker id to the next.
pub(super) struct DriverState {
    pub(super) shared: Arc<Shared>,
    pub(super) rng: Rng,
    /// The content of the journal, once it was read.
    pub(super) journal: Option<JournalRecord>,
    /// A number that no other process has, for the rows that this one claims.
    pub(super) nonce: u64,
    /// It issues because its journal allows it, and the registry has not confirmed that yet.
    pub(super) is_weak: bool,
    /// When the claim of the worker id was sent, on the boot clock: the registry may have forgotten
    /// it since. `None` if this start claimed nothing.
    pub(super) claimed_at: Option<Duration>,
    /// Worker ids whose ids lie too far in the future.
    pub(super) quarantined: Vec<WorkerUntil>,
    /// Worker ids that were lost, each once, and where their ids ended.
    pub(super) lost: Vec<WorkerUntil>,
    /// An operator has accepted the wall clock, and nothing was claimed since.
    pub(super) is_clock_accepted: bool,
    /// Failures of the registry in a row.
    pub(super) failures: u32,
    /// The last refusal, so that each is reported once.
    pub(super) last_refusal: String,
}

/// Up to when ids of a worker id may have been made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerUntil {
    pub(crate) worker: WorkerId,
    /// No id of it that we made carries this time or a later one, in milliseconds since 1970.
    pub(crate) until_ms: u64,
}

/// How holding a worker id ended.
#[derive(Debug)]
pub(super) enum End {
    /// `stop` was called.
    Stopped,
    /// The lease was lost, exhausted, or put in quarantine; another one is needed.
    Another,
    /// The registry has forgotten us, and another server holds our worker id. Other servers may be
    /// about to find out the same, so that no worker id can be trusted yet.
    Displaced,
}

async fn run(shared: Arc<Shared>) {
    let work = DriverState {
        rng: Rng::with_seed(shared.options.seed),
        journal: None,
        // Not from the registry's seed, which a copy of this server may share.
        nonce: fastrand::u64(1..),
        is_weak: false,
        claimed_at: None,
        quarantined: Vec::new(),
        lost: Vec::new(),
        is_clock_accepted: false,
        failures: 0,
        last_refusal: String::new(),
        shared: Arc::clone(&shared),
    };
    let timekeeper = std::pin::pin!(timekeeper::run(&shared));
    let work = std::pin::pin!(work.run());
    select(work, timekeeper).await;
    shared.end("the worker id was given back");
}

impl DriverState {
    async fn run(mut self) {
        while let Some(lease) = self.start().await {
            match self.hold(lease).await {
                End::Another => self.note_loss().await,
                End::Displaced => {
                    self.note_loss().await;
                    self.pause(self.noticed_max()).await;
                }
                End::Stopped => return,
            }
        }
    }

    /// Once this much time has passed since the registry forgot, every server that it answers has
    /// noticed, and the last ids that such a server made before lie in the past.
    fn noticed_max(&self) -> Duration {
        let options = &self.shared.options;
        options.check_interval + options.snowflake.ahead_max
    }

    /// The holder in the row of the present lease.
    pub(super) fn holder(&self) -> String {
        let journal = self.journal.as_ref();
        journal.map_or_else(String::new, |journal| {
            journal.row_holder(journal.lease.map_or(0, |lease| lease.nonce))
        })
    }

    /// The identity of the registry that the present lease is from.
    pub(super) fn identity(&self) -> String {
        let journal = self.journal.as_ref();
        let registry = journal.and_then(|journal| journal.registry.as_ref());
        registry.map_or_else(String::new, |registry| registry.identity.clone())
    }

    /// A lost lease gives no right to issue, even after a restart without the registry.
    async fn note_loss(&mut self) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        if let Some(lease) = &mut journal.lease {
            lease.acknowledged = false;
        }
        let record = journal.clone();
        // A failing journal is reported once ids must be issued.
        let _noted = self.write_record(record).await;
    }

    /// The worker ids that are left unused now.
    pub(super) fn avoided(&self, now_ms: u64) -> Vec<WorkerId> {
        let kept = self.shared.accepted_ahead_max();
        let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX);
        let left_alone = self.quarantined.iter().filter(|one| one.until_ms > now_ms);
        let ahead = self.lost.iter();
        let ahead = ahead.filter(|one| one.until_ms > now_ms.saturating_add(kept_ms));
        left_alone.chain(ahead).map(|one| one.worker).collect()
    }

    pub(super) async fn write_journal(&mut self, lease: JournalLease) -> Result<(), StoreError> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let record = JournalRecord {
            layout: self.shared.core.options.layout.to_string(),
            ..journal.with_lease(lease)
        };
        self.write_record(record).await
    }

    pub(super) async fn write_record(&mut self, record: JournalRecord) -> Result<(), StoreError> {
        self.shared.journal.write(&record).await?;
        self.journal = Some(record);
        Ok(())
    }

    /// The back-off after a failure: longer with each in a row, less a random half.
    pub(super) fn retry_after(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let options = &self.shared.options;
        let (min, max) = (options.retry_min, options.retry_max);
        backoff(min, max, self.failures, 0.5, self.rng.f64())
    }

    /// Waits, unless it was stopped.
    pub(super) async fn pause(&self, duration: Duration) {
        let called = self.shared.core.driver_wake.listen();
        if self.shared.is_stopped() {
            return;
        }
        match select(called, std::pin::pin!(self.shared.sleep(duration))).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }
}
