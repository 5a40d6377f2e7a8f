//! `Pool`: the connections of a store. One goes back only after a call that ended well, so that
//! no call meets what another left half done.
//!
//! Connections are made anew from time to time. Calls do not wait for that: they use the old ones
//! until the new one is there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::StoreError;
use leafid::{Clock, SystemClock};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::store::{Fault, System};

/// A connection that rested longer than this is asked whether it still lives.
const REST_MAX: Duration = Duration::from_secs(10);

pub(crate) struct Pool<S: System> {
    system: S,
    clock: SystemClock,
    permits: Semaphore,
    /// Older connections are replaced.
    age_max: Duration,
    /// Whether a connection is being made in place of the old ones.
    is_renewing: AtomicBool,
    /// Connections at rest, the most recently used last.
    resting: Mutex<Vec<Resting<S::Connection>>>,
}

struct Resting<C> {
    connection: C,
    born: Duration,
    since: Duration,
}

/// A connection in use. Dropped, it is closed; [`Loan::settle`] may put it back.
pub(crate) struct Loan<'a, S: System> {
    pub(crate) connection: S::Connection,
    born: Duration,
    pool: &'a Pool<S>,
    _permit: SemaphorePermit<'a>,
}

impl<S: System> Pool<S> {
    pub(crate) fn new(system: S, connections_max: usize, age_max: Duration) -> Self {
        Self {
            system,
            clock: SystemClock::new(),
            permits: Semaphore::new(connections_max.max(1)),
            age_max,
            is_renewing: AtomicBool::new(false),
            resting: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn system(&self) -> &S {
        &self.system
    }

    pub(crate) async fn take(self: &Arc<Self>) -> Result<Loan<'_, S>, StoreError> {
        let closed = |error| StoreError::unavailable("the store is closed", error);
        let permit = self.permits.acquire().await.map_err(closed)?;
        while let Some(mut resting) = self.pop() {
            let now = self.clock.now();
            if now - resting.born > self.age_max {
                if S::CONNECTIONS_MAX == 1 {
                    continue;
                }
                self.renew();
            }
            let is_fresh = now - resting.since <= REST_MAX;
            if is_fresh || self.system.is_alive(&mut resting.connection).await {
                let Resting {
                    connection, born, ..
                } = resting;
                return Ok(Loan {
                    connection,
                    born,
                    pool: self,
                    _permit: permit,
                });
            }
        }
        let connection = self.system.connect().await?;
        Ok(Loan {
            connection,
            born: self.clock.now(),
            pool: self,
            _permit: permit,
        })
    }

    /// Makes a new connection in the background, and closes the old ones at rest when it is there.
    /// If none can be made, the old ones stay, and the next call that meets one tries again.
    fn renew(self: &Arc<Self>) {
        if self.is_renewing.swap(true, Ordering::Relaxed) {
            return;
        }
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            // Unset also when the task is dropped with its runtime.
            let _renewing = Renewing(&pool.is_renewing);
            if let Ok(connection) = pool.system.connect().await {
                let now = pool.clock.now();
                let mut resting = pool.lock();
                resting.retain(|resting| now - resting.born <= pool.age_max);
                resting.push(Resting {
                    connection,
                    born: now,
                    since: now,
                });
            }
        });
    }

    /// Closes the connections at rest: after a failure they are probably as dead.
    pub(crate) fn clear(&self) {
        let resting = std::mem::take(&mut *self.lock());
        drop(resting);
    }

    fn pop(&self) -> Option<Resting<S::Connection>> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Resting<S::Connection>>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While a connection is being made.
struct Renewing<'a>(&'a AtomicBool);

impl Drop for Renewing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl<S: System> Loan<'_, S> {
    /// Puts the connection back if it can be used again, which the answer tells.
    pub(crate) fn settle<T>(self, answer: Result<T, Fault>) -> Result<T, Fault> {
        let is_usable = match &answer {
            Ok(_) => true,
            Err(Fault::Meaning(error)) => !error.is_retryable(),
            Err(Fault::Sql(_)) => false,
        };
        if is_usable {
            let Self {
                connection,
                born,
                pool,
                ..
            } = self;
            let since = pool.clock.now();
            let mut resting = pool.lock();
            let is_young = |born| since - born <= pool.age_max;
            // An old one is needed no more once a young one is there.
            if is_young(born) || !resting.iter().any(|other| is_young(other.born)) {
                resting.push(Resting {
                    connection,
                    born,
                    since,
                });
            }
        }
        answer
    }
}
