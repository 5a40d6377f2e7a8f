//! `Pool`: the connections of a store. One goes back only after a call that ended well, so that
//! no call meets what another left half done.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::StoreError;
use leafid::{Clock, SystemClock};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::store::{Fault, System};

/// A connection that rested longer than this is asked whether it still lives.
const REST_MAX: Duration = Duration::from_secs(10);
/// An older connection is not used again: so a store that was given a table of its own, or whose
/// first server came back, is noticed.
const AGE_MAX: Duration = Duration::from_secs(120);

pub(crate) struct Pool<S: System> {
    system: S,
    clock: SystemClock,
    permits: Semaphore,
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
    pub(crate) fn new(system: S, connections_max: usize) -> Self {
        Self {
            system,
            clock: SystemClock::new(),
            permits: Semaphore::new(connections_max.max(1)),
            resting: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn system(&self) -> &S {
        &self.system
    }

    pub(crate) async fn take(&self) -> Result<Loan<'_, S>, StoreError> {
        let closed = |error| StoreError::unavailable("the store is closed", error);
        let permit = self.permits.acquire().await.map_err(closed)?;
        while let Some(mut resting) = self.pop() {
            let now = self.clock.now();
            if now - resting.born > AGE_MAX {
                continue;
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
            pool.lock().push(Resting {
                connection,
                born,
                since,
            });
        }
        answer
    }
}
