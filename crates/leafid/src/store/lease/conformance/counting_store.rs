//! `CountingStore`: a registry that knows whether a call is under way. A server under test has a
//! clock of its own, which must not run while it waits for the registry: that takes real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::store::{LeaseRecord, LeaseStore, LeaseSwap, StoreReport, StoreResult};
use crate::worker_id::WorkerId;

pub(super) struct CountingStore {
    store: Arc<dyn LeaseStore>,
    calls: AtomicUsize,
}

/// A call that is under way, until it is dropped.
struct Call<'a>(&'a AtomicUsize);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CountingStore {
    pub(super) fn new(store: &Arc<dyn LeaseStore>) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(store),
            calls: AtomicUsize::new(0),
        })
    }

    /// Whether a call is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    fn count<'a, T: 'a>(&'a self, call: StoreResult<'a, T>) -> StoreResult<'a, T> {
        // Relaxed: a server and its calls are driven by one task.
        self.calls.fetch_add(1, Ordering::Relaxed);
        let counted = Call(&self.calls);
        Box::pin(async move {
            let _counted = counted;
            call.await
        })
    }
}

impl LeaseStore for CountingStore {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        self.count(self.store.bind(layout))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        self.count(self.store.identity())
    }

    fn location(&self) -> String {
        self.store.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        self.count(self.store.leases())
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        self.count(self.store.lease(worker))
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        self.count(self.store.swap(swap))
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        self.count(self.store.report(record, now_ms))
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        self.count(self.store.clock_ms())
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.count(self.store.inspect())
    }
}
