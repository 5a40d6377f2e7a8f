//! `RetryingStore`: a registry whose calls are retried after conflicts with other transactions,
//! like those to a store of segments. It keeps which rows it has read; everything else passes
//! through.

use std::sync::Arc;

use super::rows_seen::RowsSeen;
use crate::conflict_retry::ConflictRetry;
use crate::snowflake::Core;
use crate::store::{LeaseRecord, LeaseStore, LeaseSwap, StoreReport, StoreResult};
use crate::worker_id::WorkerId;

pub(super) struct RetryingStore {
    pub(super) store: Arc<dyn LeaseStore>,
    pub(super) conflict_retry: ConflictRetry,
    /// Has the time.
    pub(super) core: Arc<Core>,
    pub(super) rows_seen: Arc<RowsSeen>,
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
        Box::pin(async {
            let read_ms = self.core.timeline.now_ms();
            let rows = self.conflict_retry.run(|| self.store.leases()).await?;
            self.rows_seen.keep(read_ms, &rows);
            Ok(rows)
        })
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(self.conflict_retry.run(move || self.store.lease(worker)))
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async {
            let is_written = self.conflict_retry.run(|| self.store.swap(swap)).await?;
            if is_written {
                self.rows_seen.add(swap.record.worker);
            }
            Ok(is_written)
        })
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
