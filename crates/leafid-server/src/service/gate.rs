//! `Gate`: limits how many calls wait at once. Calls that memory answers never come here, so they
//! share nothing but the ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::error::ServiceError;
use crate::config::Limits;

/// The limits of calls that wait for ids, and of calls that read or change tags and worker ids.
#[derive(Debug)]
pub(super) struct Gate {
    waiting: AtomicU64,
    waiting_max: u64,
    /// Calls of admins have slots of their own: callers that wait for ids cannot take them. They
    /// queue, and are never refused; their number is bounded by that of the connections.
    admin: Semaphore,
    /// Reads of tags take a turn first, and so leave a slot of those to changes: whoever may read
    /// can send many.
    reads: Semaphore,
    /// The calls about worker ids: they must not take the connections with which this server keeps
    /// its own.
    registry: Semaphore,
    /// The store calls that requests for ids cause outside the driver: few at a time.
    caller_calls: Arc<Semaphore>,
    /// Those with which periods of calendar counters begin: calls for unknown names, which anyone
    /// may invent, cannot take their places.
    period_calls: Arc<Semaphore>,
    /// The deletion of old periods, for which nobody waits: one at a time.
    deletion: Arc<Semaphore>,
}

/// A call that waits for ids, until it is dropped.
pub(super) struct Waiting<'a>(&'a AtomicU64);

impl Gate {
    /// `store_connections` are shared with the reads that loading a tag waits for: admins get half
    /// of them at most.
    pub(super) fn new(limits: &Limits, store_connections: u32) -> Self {
        let half = usize::try_from(store_connections / 2).unwrap_or(usize::MAX);
        let admin = limits.admin_requests_max.min(half.max(1));
        Self {
            waiting: AtomicU64::new(0),
            waiting_max: limits.requests_max,
            admin: Semaphore::new(admin),
            reads: Semaphore::new((admin - 1).max(1)),
            registry: Semaphore::new(limits.registry_requests_max),
            caller_calls: Arc::new(Semaphore::new(limits.caller_calls_max)),
            period_calls: Arc::new(Semaphore::new(limits.caller_calls_max)),
            deletion: Arc::new(Semaphore::new(1)),
        }
    }

    /// Admits a waiting call for ids, or refuses it at once.
    pub(super) fn wait(&self) -> Result<Waiting<'_>, ServiceError> {
        // Relaxed: only the count matters, nothing is read behind it.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(&self.waiting);
        if before >= self.waiting_max {
            let max = self.waiting_max;
            return Err(ServiceError::Overloaded { max });
        }
        Ok(waiting)
    }

    /// The number of calls that wait for ids.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a slot for a read of tags.
    pub(super) async fn read(&self) -> Option<(SemaphorePermit<'_>, SemaphorePermit<'_>)> {
        let turn = self.reads.acquire().await.ok()?;
        Some((turn, self.admin().await?))
    }

    /// Waits for a slot for a change of tags: at most behind other changes and a few reads.
    pub(super) async fn admin(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed, so a slot always becomes free.
        self.admin.acquire().await.ok()
    }

    /// Waits for a slot among the calls about worker ids.
    pub(super) async fn registry(&self) -> Option<SemaphorePermit<'_>> {
        self.registry.acquire().await.ok()
    }

    /// Waits for a slot among the store calls that requests for ids cause.
    pub(super) fn caller_call(
        &self,
    ) -> impl Future<Output = Option<OwnedSemaphorePermit>> + Send + use<> {
        let calls = Arc::clone(&self.caller_calls);
        async move { calls.acquire_owned().await.ok() }
    }

    /// Waits for a slot among those with which periods begin.
    pub(super) fn period_call(
        &self,
    ) -> impl Future<Output = Option<OwnedSemaphorePermit>> + Send + use<> {
        let calls = Arc::clone(&self.period_calls);
        async move { calls.acquire_owned().await.ok() }
    }

    /// The one slot for the deletion of old periods.
    pub(super) fn deletion(&self) -> Arc<Semaphore> {
        Arc::clone(&self.deletion)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Guards that admins leave store connections to the tags that are being loaded.
    #[tokio::test]
    async fn admins_take_half_of_the_store_connections_at_most() {
        for (store_connections, expected) in [(1, 1), (2, 1), (8, 4), (1000, 32)] {
            let gate = Gate::new(&Limits::default(), store_connections);
            let mut places = Vec::new();
            while let Some(Some(place)) = gate.admin().now_or_never() {
                places.push(place);
            }
            assert_eq!(places.len(), expected, "{store_connections}");
        }
    }

    /// Guards that a change waits behind few reads, however many callers read.
    #[tokio::test]
    async fn many_reads_leave_a_slot_to_changes() {
        for (store_connections, reads) in [(1, 1), (2, 1), (8, 3)] {
            let gate = Gate::new(&Limits::default(), store_connections);
            let mut waiting: Vec<_> = (0..50).map(|_| Box::pin(gate.read())).collect();
            let places: Vec<_> = waiting
                .iter_mut()
                .filter_map(|read| read.now_or_never().flatten())
                .collect();
            assert_eq!(places.len(), reads, "{store_connections}");
            let mut change = Box::pin(gate.admin());
            let at_once = (&mut change).now_or_never().flatten();
            assert_eq!(
                at_once.is_some(),
                store_connections > 2,
                "{store_connections}"
            );
            if at_once.is_none() {
                drop(places);
                assert!(change.now_or_never().is_some(), "{store_connections}");
            }
        }
    }
}
