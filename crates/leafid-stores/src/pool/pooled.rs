//! `PooledConnection`: a connection in use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leafid::Clock as _;
use tokio::sync::SemaphorePermit;

use super::state::{Age, Idle};
use super::{Pool, SLOW};
use crate::backend::Backend;
use crate::sql_error::CallError;

/// A connection in use. Dropping it closes it; [`PooledConnection::give_back`] may put it back.
pub(crate) struct PooledConnection<'a, S: Backend> {
    pub(crate) connection: S::Connection,
    pub(super) age: Age,
    pub(super) taken: Duration,
    pub(super) pool: &'a Pool<S>,
    pub(super) _counted: Counted<'a>,
    pub(super) _permits: (Option<SemaphorePermit<'a>>, SemaphorePermit<'a>),
}

impl<S: Backend> PooledConnection<'_, S> {
    /// Puts the connection back if it is reusable, which the return value says.
    pub(crate) fn give_back<T>(self, answer: Result<T, CallError>) -> Result<T, CallError> {
        let is_usable = match &answer {
            Ok(_) => true,
            Err(CallError::Store(error)) => !error.may_recover(),
            Err(CallError::Sql(_)) => false,
        };
        if is_usable {
            let Self {
                connection,
                age,
                taken,
                pool,
                ..
            } = self;
            let since = pool.clock.now();
            let is_slow = since.saturating_sub(taken) > SLOW;
            pool.is_slow.store(is_slow, Ordering::Relaxed);
            let idle = Idle {
                connection,
                age,
                since,
            };
            // An old one is no longer needed once there is a usable one, and a spare one.
            if pool.lock().idle.len() < 2 || !pool.is_old(&idle, since) {
                pool.put(idle);
            }
        }
        answer
    }
}

/// Counts a connection as long as it is in use.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub(super) fn one_of(len: &'a AtomicUsize) -> Self {
        len.fetch_add(1, Ordering::Relaxed);
        Self(len)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
