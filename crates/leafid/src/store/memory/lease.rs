//! `MemoryLeaseStore`: worker ids leased within this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{
    LeaseRecord, LeaseStore, LeaseSwap, StoreReport, StoreResult, Weakness, new_identity,
};
use crate::worker_id::WorkerId;

/// A registry in this process's memory, for tests and examples: everything is forgotten when the
/// process ends. **Thread-safe**; a clone is another handle on the same rows.
///
/// # Example
///
/// ```
/// use leafid::blocking::block_on;
/// use leafid::store::{LeaseStore, MemoryLeaseStore};
///
/// let store = MemoryLeaseStore::new();
/// assert_eq!(block_on(store.bind("leaf"))?, "leaf");
/// assert_eq!(block_on(store.bind("baidu"))?, "leaf");
/// assert!(block_on(store.leases())?.is_empty());
/// # Ok::<(), leafid::store::StoreError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryLeaseStore {
    rows: Arc<Mutex<Rows>>,
}

#[derive(Debug, Default)]
struct Rows {
    layout: Option<String>,
    identity: Option<String>,
    leases: BTreeMap<WorkerId, LeaseRecord>,
}

impl MemoryLeaseStore {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseStore for MemoryLeaseStore {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(async move {
            let mut rows = self.lock();
            Ok(rows.layout.get_or_insert_with(|| layout.to_owned()).clone())
        })
    }

    fn identity(&self) -> StoreResult<'_, String> {
        Box::pin(async {
            let mut rows = self.lock();
            Ok(rows.identity.get_or_insert_with(new_identity).clone())
        })
    }

    fn location(&self) -> String {
        "memory:".into()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(async { Ok(self.lock().leases.values().cloned().collect()) })
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(async move { Ok(self.lock().leases.get(&worker).cloned()) })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async {
            let mut rows = self.lock();
            let worker = swap.record.worker;
            if rows.leases.get(&worker).map(LeaseRecord::key) != swap.expected {
                return Ok(false);
            }
            rows.leases.insert(worker, swap.record.clone());
            Ok(true)
        })
    }

    fn report<'a>(&'a self, _record: &'a LeaseRecord, _now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(async {
            Ok(StoreReport {
                product: "memory".into(),
                location: "memory:".into(),
                identity: "this process".into(),
                has_own_table: true,
                missing: Vec::new(),
                transport: None,
                weaknesses: vec![Weakness {
                    setting: "registry".into(),
                    value: "memory".into(),
                    wanted: "a durable registry".into(),
                    danger: "everything is forgotten when the process ends".into(),
                }],
            })
        })
    }
}
