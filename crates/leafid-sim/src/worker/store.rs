//! `SimLeaseStore`: the one registry that all simulated servers share. What it holds is leafid's own
//! `MemoryLeaseStore`; each server process has a connection of its own, which notes what it came to
//! know. The faults are those of `network.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use leafid::store::{
    LeaseRecord, LeaseStore, LeaseSwap, MemoryLeaseStore, StoreError, StoreReport, StoreResult,
};
use leafid::{Clock as _, WorkerId};

use super::bug::Bug;
use super::history::{Event, Held, History, Identity};
use crate::executor::lock;
use crate::network::Network;

/// The shared half.
pub(crate) struct Registry {
    pub(crate) rows: MemoryLeaseStore,
    pub(crate) network: Arc<Network>,
    pub(crate) history: Arc<History>,
    /// Whether it has a clock that others can ask.
    pub(crate) has_clock: bool,
    /// Who is behind the name of a holder.
    holders: Mutex<BTreeMap<String, Identity>>,
    /// Who is gone for good, and has left name and journal to others.
    gone: Mutex<BTreeSet<Identity>>,
    /// When each worker id was heard of last.
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
            rows: MemoryLeaseStore::new(),
            network,
            history,
            has_clock,
            holders: Mutex::default(),
            gone: Mutex::default(),
            heard: Mutex::default(),
            bug,
        }
    }

    /// Notes who is behind a name: the first one, of whom others may have a copy.
    pub(crate) fn knows(&self, holder: &str, identity: Identity) {
        let mut holders = lock(&self.holders);
        holders.entry(holder.to_owned()).or_insert(identity);
    }

    /// Notes that nobody has this identity any more.
    pub(crate) fn bury(&self, identity: Identity) {
        lock(&self.gone).insert(identity);
    }

    /// All rows, at once.
    pub(crate) fn rows_now(&self) -> Vec<LeaseRecord> {
        self.rows
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

    /// How long nobody has heard of a worker id.
    pub(crate) fn silence(&self, worker: WorkerId) -> Duration {
        let heard = lock(&self.heard).get(&worker).copied();
        self.network
            .clock
            .now()
            .saturating_sub(heard.unwrap_or_default())
    }

    fn hears(&self, worker: WorkerId) {
        lock(&self.heard).insert(worker, self.network.clock.now());
    }

    /// Swaps, and notes what became durable.
    pub(crate) async fn swap(&self, swap: &LeaseSwap) -> Result<bool, StoreError> {
        let worker = swap.record.worker;
        let row = self.row(worker);
        let is_done = self.rows.swap(swap).await?;
        if let Some(held) = self.held(&swap.record).filter(|_| is_done) {
            self.hears(worker);
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
    pub(crate) registry: Arc<Registry>,
    pub(crate) identity: Identity,
}

impl SimLeaseStore {
    fn call<T: Send + 'static>(
        &self,
        effect: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreResult<'static, T> {
        self.registry.network.call(effect)
    }

    fn acknowledge(&self, row: &LeaseRecord) {
        let held = self.registry.held(row);
        if let Some(held) = held.filter(|held| held.identity == self.identity) {
            self.registry.history.push(Event::Acknowledged { held });
        }
    }
}

impl LeaseStore for SimLeaseStore {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        let (registry, layout) = (Arc::clone(&self.registry), layout.to_owned());
        self.call(async move { registry.rows.bind(&layout).await })
    }

    fn identity(&self) -> StoreResult<'_, String> {
        let registry = Arc::clone(&self.registry);
        self.call(async move { registry.rows.identity().await })
    }

    fn location(&self) -> String {
        self.registry.rows.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        let registry = Arc::clone(&self.registry);
        let call = self.call(async move {
            let rows = registry.rows.leases().await?;
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
        let registry = Arc::clone(&self.registry);
        let call = self.call(async move {
            if registry.bug.is_some_and(|bug| !bug.looks()) {
                return Err(StoreError::unavailable("the row is not read", "a bug"));
            }
            registry.rows.lease(worker).await
        });
        Box::pin(async move {
            let row = call.await?;
            row.iter().for_each(|row| self.acknowledge(row));
            Ok(row)
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        let (registry, wish) = (Arc::clone(&self.registry), swap.clone());
        let call = self.call(async move {
            match registry.bug {
                Some(bug) => bug.swap(&registry, &wish).await,
                None => registry.swap(&wish).await,
            }
        });
        Box::pin(async move {
            let is_done = call.await?;
            if is_done {
                self.acknowledge(&swap.record);
            }
            Ok(is_done)
        })
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        let (registry, worker) = (Arc::clone(&self.registry), record.worker);
        self.call(async move {
            registry.hears(worker);
            Ok(())
        })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        let registry = Arc::clone(&self.registry);
        self.call(async move {
            let truth = registry.network.clock.wall().as_millis();
            let shown = u64::try_from(truth).ok();
            Ok(shown.filter(|_| registry.has_clock))
        })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        let registry = Arc::clone(&self.registry);
        self.call(async move { registry.rows.inspect().await })
    }
}
