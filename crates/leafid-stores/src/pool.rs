//! `Pool`: the connections of a store. One goes back only after a call that ended well, so that
//! no call meets what another left half done.
//!
//! Connections are made anew from time to time. Calls do not wait for that: they use the old ones
//! until the new one is there. Where the new one is refused, the old ones are judged again before
//! they are used.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::StoreError;
use leafid::{Clock, SystemClock};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::store::{Fault, System, refused};

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
    /// When a new connection was refused last. Those that were judged before are judged again.
    refused_at: Mutex<Option<Duration>>,
    /// Connections at rest, the most recently used last.
    resting: Mutex<Vec<Resting<S::Connection>>>,
    /// The server of the connection taken last; `None` after a failure.
    in_use: Mutex<Option<String>>,
}

struct Resting<C> {
    connection: C,
    age: Age,
    since: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Age {
    born: Duration,
    /// When its server was found to be one that can be trusted.
    judged: Duration,
}

/// A connection in use. Dropped, it is closed; [`Loan::settle`] may put it back.
pub(crate) struct Loan<'a, S: System> {
    pub(crate) connection: S::Connection,
    age: Age,
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
            refused_at: Mutex::new(None),
            resting: Mutex::new(Vec::new()),
            in_use: Mutex::default(),
        }
    }

    pub(crate) fn system(&self) -> &S {
        &self.system
    }

    /// The server that calls go to, by its URL without a password, if it is known.
    pub(crate) fn in_use(&self) -> Option<String> {
        self.lock_in_use().clone()
    }

    pub(crate) async fn take(self: &Arc<Self>) -> Result<Loan<'_, S>, StoreError> {
        let loan = self.take_any().await?;
        if let Some(server) = S::server(&loan.connection) {
            let mut in_use = self.lock_in_use();
            if in_use.as_deref() != Some(server) {
                *in_use = Some(server.to_owned());
            }
        }
        Ok(loan)
    }

    async fn take_any(self: &Arc<Self>) -> Result<Loan<'_, S>, StoreError> {
        let closed = |error| StoreError::unavailable("the store is closed", error);
        let permit = self.permits.acquire().await.map_err(closed)?;
        if let Some(reason) = self.system.refusal() {
            return Err(refused(&reason));
        }
        while let Some(mut resting) = self.pop() {
            let now = self.clock.now();
            if now.saturating_sub(resting.age.born) > self.age_max {
                if S::CONNECTIONS_MAX == 1 {
                    continue;
                }
                self.renew();
            }
            let is_fresh = now.saturating_sub(resting.since) <= REST_MAX;
            if (is_fresh || self.system.is_alive(&mut resting.connection).await)
                && self.is_trusted(&mut resting).await
            {
                let Resting {
                    connection, age, ..
                } = resting;
                return Ok(Loan {
                    connection,
                    age,
                    pool: self,
                    _permit: permit,
                });
            }
        }
        let judged = self.clock.now();
        let connection = self.system.connect().await?;
        let born = self.clock.now();
        Ok(Loan {
            connection,
            age: Age { born, judged },
            pool: self,
            _permit: permit,
        })
    }

    /// Judges a connection again if another one was refused since it was judged.
    async fn is_trusted(&self, resting: &mut Resting<S::Connection>) -> bool {
        let refused_at = *self
            .refused_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if refused_at.is_none_or(|at| at < resting.age.judged) {
            return true;
        }
        let now = self.clock.now();
        let is_trusted = self.system.judge(&mut resting.connection).await.is_ok();
        resting.age.judged = now;
        is_trusted
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
            let judged = pool.clock.now();
            match pool.system.connect().await {
                Ok(connection) => pool.replace(connection, judged),
                Err(error) if is_refusal(&error) => pool.refused(),
                Err(_) => {}
            }
        });
    }

    /// Closes the old connections at rest, now that there is a new one.
    fn replace(&self, connection: S::Connection, judged: Duration) {
        let now = self.clock.now();
        let mut resting = self.lock();
        resting.retain(|resting| now.saturating_sub(resting.age.born) <= self.age_max);
        resting.push(Resting {
            connection,
            age: Age { born: now, judged },
            since: now,
        });
    }

    fn refused(&self) {
        let mut at = self
            .refused_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *at = Some(self.clock.now());
    }

    /// Closes the connections at rest: after a failure they are probably as dead.
    pub(crate) fn clear(&self) {
        let resting = std::mem::take(&mut *self.lock());
        drop(resting);
        *self.lock_in_use() = None;
    }

    fn lock_in_use(&self) -> MutexGuard<'_, Option<String>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<Resting<S::Connection>> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Resting<S::Connection>>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server was reached and may not be used.
fn is_refusal(error: &StoreError) -> bool {
    error.weak_store().is_some() || matches!(error, StoreError::Unsupported { .. })
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
                age,
                pool,
                ..
            } = self;
            let since = pool.clock.now();
            let mut resting = pool.lock();
            // The other may have been made while this one waited for the lock.
            let is_young = |age: Age| since.saturating_sub(age.born) <= pool.age_max;
            // An old one is needed no more once a young one is there.
            if is_young(age) || !resting.iter().any(|other| is_young(other.age)) {
                resting.push(Resting {
                    connection,
                    age,
                    since,
                });
            }
        }
        answer
    }
}
