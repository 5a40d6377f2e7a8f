//! `Gate`: how many calls may wait at once. Calls that memory answers never come here, so that
//! they share nothing but the ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::error::ServiceError;
use crate::config::Limits;

/// How many calls wait for ids, and how many look at or change tags and workers.
#[derive(Debug)]
pub(super) struct Gate {
    waiting: AtomicU64,
    waiting_max: u64,
    /// Calls of operators have places of their own: callers who wait for ids cannot take them.
    /// They queue, and are never refused; their number is bounded by that of the connections.
    admin: Semaphore,
    /// What callers who take ids make the store do past the driver: few at a time.
    caller_calls: Arc<Semaphore>,
}

/// A call that waits for ids, until it is dropped.
pub(super) struct Waiting<'a>(&'a AtomicU64);

impl Gate {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            waiting: AtomicU64::new(0),
            waiting_max: limits.requests_max,
            admin: Semaphore::new(limits.admin_requests_max),
            caller_calls: Arc::new(Semaphore::new(limits.caller_calls_max)),
        }
    }

    /// Lets a call for ids wait, or refuses it at once.
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

    /// How many calls wait for ids.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a place among the calls of operators.
    pub(super) async fn admin(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed, so there is always a place in the end.
        self.admin.acquire().await.ok()
    }

    /// Waits for a place among the calls to the store for callers who take ids.
    pub(super) async fn caller_call(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.caller_calls).acquire_owned().await.ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
