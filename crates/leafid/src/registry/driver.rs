//! `RegistryDriver`: the background half of a registry. It gets a worker id (`start.rs`), holds it
//! (`hold.rs`), and when it is lost gets another; meanwhile it keeps the time for those who take
//! ids fast (`fast.rs`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::{Either, select};

use super::{RegistryStage, Shared, claim, fast};
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{BoxFuture, JournalLease, JournalRecord, LeaseRecord, StoreError};
use crate::worker_id::WorkerId;

/// The background half of [`WorkerRegistry`](crate::WorkerRegistry): a plain future, to be placed
/// on any runtime (`tokio::spawn(driver)`) or on a thread
/// ([`blocking::spawn`](crate::blocking::spawn)).
///
/// It ends once [`stop`](crate::WorkerRegistry::stop) was called, or the last handle dropped, and
/// the worker id was given back. Dropped before that, it stops issuing at once, and the worker id
/// stays reserved.
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
        self.shared.core.word.halt();
        self.shared.core.close("the driver has ended", true);
        self.shared.lock().stage = RegistryStage::Stopped;
    }
}

impl std::fmt::Debug for RegistryDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryDriver").finish_non_exhaustive()
    }
}

/// What the driver remembers from one worker id to the next.
pub(super) struct Run {
    pub(super) shared: Arc<Shared>,
    pub(super) rng: Rng,
    /// What the journal holds, once it was read.
    pub(super) journal: Option<JournalRecord>,
    /// Worker ids whose ids lie too far in the future.
    pub(super) quarantined: Vec<WorkerId>,
    /// Failures of the registry in a row.
    pub(super) failures: u32,
    /// What was refused last, so that it is told once.
    pub(super) refused: String,
}

/// How holding a worker id ended.
#[derive(Debug)]
pub(super) enum End {
    /// `stop` was called.
    Stopped,
    /// The reservation was lost, used up, or put in quarantine; another one is wanted.
    Another,
}

async fn run(shared: Arc<Shared>) {
    let work = Run {
        rng: Rng::with_seed(shared.options.seed),
        journal: None,
        quarantined: Vec::new(),
        failures: 0,
        refused: String::new(),
        shared: Arc::clone(&shared),
    };
    let fast = std::pin::pin!(fast::keep(&shared));
    let work = std::pin::pin!(work.run());
    select(work, fast).await;
    shared.core.close("the worker id was given back", true);
    shared.lock().stage = RegistryStage::Stopped;
}

impl Run {
    async fn run(mut self) {
        while let Some(lease) = self.start().await {
            match self.hold(lease).await {
                End::Another => {}
                End::Stopped => return,
            }
        }
    }

    /// Stops issuing, and gives back what was not used.
    pub(super) async fn release(&mut self, lease: Lease) {
        let used_tick = self.shared.core.word.halt();
        let layout = self.shared.core.options.layout;
        let used_ms = used_tick.map_or(lease.until_ms, |tick| {
            layout.unix_ms_of(tick).unsigned_abs()
        });
        self.shared.lock().lease = None;
        match self.give_back(lease, used_ms.max(lease.start_ms)).await {
            Ok(true) => {
                let worker = lease.worker;
                self.shared.tell(&Event::WorkerReleased { worker });
            }
            Ok(false) => {}
            Err(error) => {
                let retry_after = Duration::ZERO;
                self.shared.tell(&Event::RegistryFailed {
                    error: &error,
                    retry_after,
                });
            }
        }
    }

    /// Answers whether there was something to give back.
    async fn give_back(&mut self, lease: Lease, used_ms: u64) -> Result<bool, StoreError> {
        // First here, so that a restart begins right after the last id.
        self.note_end(used_ms, true).await?;
        let shared = Arc::clone(&self.shared);
        let Some(store) = shared.store.as_deref() else {
            return Ok(false);
        };
        // An extension may be under way: the row tells how far the lease goes now. And while the
        // registry is down nothing is given back, so that a restart can go on without it.
        let rows = shared.bounded(store.leases()).await?;
        let holder = self.holder();
        let is_ours = |row: &LeaseRecord| {
            row.worker == lease.worker && row.holder == holder && row.epoch == lease.epoch
        };
        let Some(row) = rows.into_iter().find(is_ours) else {
            return Ok(false);
        };
        // From here on somebody else may get what is left of it.
        self.note_end(used_ms, false).await?;
        let lease = Lease {
            until_ms: row.until_ms,
            ..lease
        };
        let address = &shared.options.address;
        let given_back = claim::release(store, lease, used_ms, &holder, address);
        shared.bounded(given_back).await
    }

    /// Notes in the journal where the ids of its lease end, and whether the rest is still ours.
    async fn note_end(&mut self, used_ms: u64, is_ours: bool) -> Result<(), StoreError> {
        let Some(last) = self.journal.as_ref().and_then(|journal| journal.lease) else {
            return Ok(());
        };
        let noted = JournalLease {
            below_ms: used_ms,
            written_ms: self.shared.core.timeline.now_ms(),
            acknowledged: is_ours && last.acknowledged,
            ..last
        };
        self.write_journal(noted).await
    }

    pub(super) fn holder(&self) -> String {
        self.journal
            .as_ref()
            .map_or_else(String::new, |journal| journal.holder.clone())
    }

    pub(super) async fn write_journal(&mut self, lease: JournalLease) -> Result<(), StoreError> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let record = JournalRecord {
            lease: Some(lease),
            ..journal.clone()
        };
        self.shared.journal.write(&record).await?;
        *journal = record;
        Ok(())
    }

    /// How long to wait after a failure: longer with each in a row, with a random half taken off.
    pub(super) fn retry_after(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let options = &self.shared.options;
        let doubled = options
            .retry_min
            .saturating_mul(1 << (self.failures - 1).min(20));
        let longest = doubled.min(options.retry_max);
        longest.mul_f64(0.5 + self.rng.f64() / 2.0)
    }

    /// Waits, but not once stopped.
    pub(super) async fn pause(&self, duration: Duration) {
        let called = self.shared.core.called.listen();
        if self.shared.is_stopped() {
            return;
        }
        match select(called, std::pin::pin!(self.shared.sleep(duration))).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }
}
