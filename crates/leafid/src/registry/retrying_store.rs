//! `RetryingStore`: a registry whose calls are retried after conflicts with other transactions,
//! like those to a store of segments. Everything else passes through.

use std::sync::Arc;

use crate::conflict_retry::ConflictRetry;
use crate::store::{LeaseRecord, LeaseStore, LeaseSwap, StoreReport, StoreResult};
use crate::worker_id::WorkerId;

pub(super) struct RetryingStore {
    pub(super) store: Arc<dyn LeaseStore>,
    pub(super) conflict_retry: ConflictRetry,
}

impl LeaseStore for RetryingStore {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(self.conflict_retry.run(|| self.store.bind(layout)))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        Box::pin(self.conflict_retry.run(|| self.store.identity()))
    }

    fn location(&self) -> String {
        self.store.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(self.conflict_retry.run(|| self.store.leases()))
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(self.conflict_retry.run(move || self.store.lease(worker)))
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(self.conflict_retry.run(|| self.store.swap(swap)))
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(
            self.conflict_retry
                .run(move || self.store.report(record, now_ms)),
        )
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        Box::pin(self.conflict_retry.run(|| self.store.clock_ms()))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(self.conflict_retry.run(|| self.store.inspect()))
    }
}
