//! `SimLeaseStore`: the one registry that all simulated servers share. It holds leafid's own
//! `MemoryLeaseStore`; each server process has a connection of its own, which records what the
//! process learned. The faults are those of `network.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, pending, select};
use leafid::store::{LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult};
use leafid::{Clock as _, WorkerId};

use super::bug::Bug;
use super::contents::Contents;
use super::history::{Event, Held, History, Identity};
use crate::executor::{Process, lock};
use crate::network::Network;

/// The shared half.
pub(crate) struct Registry {
    pub(super) contents: Contents,
    pub(crate) network: Arc<Network>,
    pub(crate) history: Arc<History>,
    /// Whether it has a clock that others can ask.
    pub(crate) has_clock: bool,
    /// The server behind the name of a holder.
    holders: Mutex<BTreeMap<String, Identity>>,
    /// The servers that are gone for good, and have left name and journal to others.
    gone: Mutex<BTreeSet<Identity>>,
    /// When each worker id was last used in a call.
    heard: Mutex<BTreeMap<WorkerId, Duration>>,
    pub(crate) bug: Option<Bug>,
}

impl Registry {
    pub(crate) fn new(
        network: Arc<Network>,
        history: Arc<History>,
        has_clock: bool,
        bug: Option<Bug>,
    ) -> Self {
        Self {
            contents: Contents::new(),
            network,
            history,
            has_clock,
            holders: Mutex::default(),
            gone: Mutex::default(),
            heard: Mutex::default(),
            bug,
        }
    }

    /// Records the server behind a name: the first one, which others may be copies of.
    pub(crate) fn knows(&self, holder: &str, identity: Identity) {
        let mut holders = lock(&self.holders);
        holders.entry(holder.to_owned()).or_insert(identity);
    }

    /// Records that no server has this identity any longer.
    pub(crate) fn retire_identity(&self, identity: Identity) {
        lock(&self.gone).insert(identity);
    }

    /// All rows, at once.
    pub(crate) fn rows_now(&self) -> Vec<LeaseRecord> {
        self.rows()
            .leases()
            .now_or_never()
            .and_then(Result::ok)
            .unwrap_or_default()
    }

    pub(crate) fn row(&self, worker: WorkerId) -> Option<LeaseRecord> {
        let mut rows = self.rows_now().into_iter();
        rows.find(|row| row.worker == worker)
    }

    pub(crate) fn held(&self, row: &LeaseRecord) -> Option<Held> {
        Some(Held {
            identity: *lock(&self.holders).get(&row.holder)?,
            worker: row.worker,
            until_ms: row.until_ms,
        })
    }

    /// How long a worker id was in no call.
    pub(crate) fn silence(&self, worker: WorkerId) -> Duration {
        let heard = lock(&self.heard).get(&worker).copied();
        self.network
            .clock
            .now()
            .saturating_sub(heard.unwrap_or_default())
    }

    fn note_contact(&self, worker: WorkerId) {
        lock(&self.heard).insert(worker, self.network.clock.now());
    }

    /// Swaps, and records what became durable.
    pub(crate) async fn swap(&self, swap: &LeaseSwap) -> Result<bool, StoreError> {
        let worker = swap.record.worker;
        let row = self.row(worker);
        let is_done = self.rows().swap(swap).await?;
        if let Some(held) = self.held(&swap.record).filter(|_| is_done) {
            self.note_contact(worker);
            let mut before = row.as_ref().and_then(|row| self.held(row));
            if let (Some(before), Some(row)) = (&mut before, &row)
                && lock(&self.gone).contains(&before.identity)
                && name(row) == name(&swap.record)
            {
                let (from, to) = (before.identity, held.identity);
                self.history.push(Event::Inherited { from, to, worker });
                before.identity = to;
            }
            self.history.push(Event::Written { held, before });
        }
        Ok(is_done)
    }
}

/// The name of a server, which its copies share.
pub(crate) fn name(row: &LeaseRecord) -> &str {
    row.holder.split('.').next().unwrap_or_default()
}

/// A server process's connection to the registry.
pub(crate) struct SimLeaseStore {
    registry: Arc<Registry>,
    identity: Identity,
    process: Process,
    /// From one read of its row to the next: one that takes longer is not waited for.
    read_interval: Duration,
    /// The rows that it wrote, as they were acknowledged to it last.
    promised: Mutex<BTreeMap<WorkerId, LeaseRecord>>,
    /// It has read a row of its own, or has written one.
    is_known: AtomicBool,
}

/// A call that may end without an answer: it fails on the way, or is given up.
struct Unanswered<'a> {
    connection: &'a SimLeaseStore,
    /// It was answered, or is known to hinder its process.
    is_settled: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.connection.hindered();
        }
    }
}

impl SimLeaseStore {
    pub(crate) fn new(
        registry: Arc<Registry>,
        identity: Identity,
        process: Process,
        read_interval: Duration,
    ) -> Self {
        Self {
            registry,
            identity,
            process,
            read_interval,
            promised: Mutex::default(),
            is_known: AtomicBool::new(false),
        }
    }

    /// Until its row is known, whatever is lost on the way keeps a process from looking at it.
    fn call<'a, T: Send + 'static>(
        &'a self,
        effect: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreResult<'a, T> {
        // Relaxed, here and below: there is one thread.
        if self.is_known.load(Ordering::Relaxed) {
            return self.registry.network.call(effect);
        }
        self.look(effect, pending())
    }

    /// The same for a call that is the read itself. From `overdue` on it hinders nothing: the next
    /// read begins, and this one is only waited for.
    fn look<'a, T: Send + 'static>(
        &'a self,
        effect: impl Future<Output = Result<T, StoreError>> + Send + 'static,
        overdue: impl Future<Output = ()> + Send + Unpin + 'a,
    ) -> StoreResult<'a, T> {
        let unanswered = Unanswered {
            connection: self,
            is_settled: false,
        };
        let call = self.registry.network.call(async move { Ok(effect.await) });
        Box::pin(async move {
            let mut unanswered = unanswered;
            let answer = match select(call, overdue).await {
                Either::Left((answer, _)) => answer,
                Either::Right(((), call)) => {
                    self.hindered();
                    unanswered.is_settled = true;
                    call.await
                }
            };
            unanswered.is_settled |= answer.is_ok();
            answer?
        })
    }

    fn hindered(&self) {
        self.registry.history.push(Event::Hindered {
            process: self.process,
            until: self.registry.network.clock.now(),
        });
    }

    fn acknowledge(&self, row: &LeaseRecord) {
        let held = self.registry.held(row);
        if let Some(held) = held.filter(|held| held.identity == self.identity) {
            self.registry.history.push(Event::Acknowledged { held });
        }
    }

    /// Records what a read has shown.
    fn looked(&self, worker: WorkerId, look: &Look) {
        self.is_known.store(true, Ordering::Relaxed);
        let (process, forgot) = (self.process, look.forgot);
        let history = &self.registry.history;
        if look.is_denied {
            history.push(Event::Denied { process, worker });
        }
        history.push(Event::Looked { process, forgot });
    }

    /// Records a row that it has written.
    fn won(&self, swap: &LeaseSwap, forgot: u64) {
        self.acknowledge(&swap.record);
        let (process, worker) = (self.process, swap.record.worker);
        lock(&self.promised).insert(worker, swap.record.clone());
        self.is_known.store(true, Ordering::Relaxed);
        let is_extension = swap
            .expected
            .is_some_and(|key| key.epoch == swap.record.epoch);
        if !is_extension {
            // It has issued nothing yet, and reads from now on.
            self.hindered();
        }
        self.registry.history.push(Event::Won {
            process,
            worker,
            forgot,
        });
    }
}

/// The result of reading a row.
struct Look {
    row: Option<LeaseRecord>,
    /// The row is not as promised.
    is_denied: bool,
    /// How often the registry had forgotten.
    forgot: u64,
}

impl Registry {
    /// Checks a row about which a server has a promise.
    async fn look(
        &self,
        worker: WorkerId,
        identity: Identity,
        promised: Option<LeaseRecord>,
    ) -> Result<Look, StoreError> {
        if self.bug.is_some_and(|bug| !bug.looks()) {
            return Err(StoreError::unavailable("the row is not read", "a bug"));
        }
        let row = self.rows().lease(worker).await?;
        let until_ms = promised.as_ref().map_or(0, |row| row.until_ms);
        let held = row.as_ref().and_then(|row| self.held(row));
        let is_kept = held.is_some_and(|held| held.identity == identity);
        let is_kept = is_kept && row.as_ref().is_some_and(|row| row.until_ms >= until_ms);
        let row = match self.bug {
            Some(Bug::RowTrusted) => promised.or(row),
            _ => row,
        };
        Ok(Look {
            row,
            is_denied: !is_kept,
            forgot: self.forgot(),
        })
    }
}

impl LeaseStore for SimLeaseStore {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        let (registry, layout) = (Arc::clone(&self.registry), layout.to_owned());
        self.call(async move { registry.rows().bind(&layout).await })
    }

    fn identity(&self) -> StoreResult<'_, String> {
        let registry = Arc::clone(&self.registry);
        self.call(async move { Ok(registry.identity()) })
    }

    fn location(&self) -> String {
        self.registry.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        let registry = Arc::clone(&self.registry);
        let call = self.call(async move {
            let rows = registry.rows().leases().await?;
            Ok(match registry.bug {
                Some(bug) => bug.show(&registry, rows),
                None => rows,
            })
        });
        Box::pin(async move {
            let rows = call.await?;
            rows.iter().for_each(|row| self.acknowledge(row));
            Ok(rows)
        })
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        let (registry, identity) = (Arc::clone(&self.registry), self.identity);
        let promised = lock(&self.promised).get(&worker).cloned();
        let overdue = self.registry.network.clock.sleep(self.read_interval);
        let look = async move { registry.look(worker, identity, promised).await };
        let call = self.look(look, overdue);
        Box::pin(async move {
            let look = call.await?;
            look.row.iter().for_each(|row| self.acknowledge(row));
            self.looked(worker, &look);
            Ok(look.row)
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        let (registry, request) = (Arc::clone(&self.registry), swap.clone());
        let call = self.call(async move {
            let is_done = match registry.bug {
                Some(bug) => bug.swap(&registry, &request).await?,
                None => registry.swap(&request).await?,
            };
            Ok((is_done, registry.forgot()))
        });
        Box::pin(async move {
            let (is_done, forgot) = call.await?;
            if is_done {
                self.won(swap, forgot);
            }
            Ok(is_done)
        })
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        let (registry, worker) = (Arc::clone(&self.registry), record.worker);
        self.registry.network.call(async move {
            registry.note_contact(worker);
            Ok(())
        })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        let registry = Arc::clone(&self.registry);
        self.registry.network.call(async move {
            let truth = registry.network.clock.wall().as_millis();
            let shown = u64::try_from(truth).ok();
            Ok(shown.filter(|_| registry.has_clock))
        })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        let registry = Arc::clone(&self.registry);
        self.call(async move { registry.rows().inspect().await })
    }
}
