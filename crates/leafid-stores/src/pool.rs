//! `Pool`: the connection pool of a store. A connection returns to the pool only after a call that
//! succeeded, so that no call meets what another left half done.
//!
//! A call that finds no idle connection waits for whichever comes first: one that another call
//! gives back, or a new one. Making one takes several round trips, in which a segment could run out
//! beside an idle connection.
//!
//! Connections are replaced from time to time. Calls do not wait for that: they use the old ones
//! until the new one is ready. If the new one is refused, the durability of the old ones is checked
//! again before they are used.

mod attempt;
mod pooled;
mod state;

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};
use leafid::{Clock, SystemClock};
use tokio::sync::Semaphore;

use self::attempt::Attempt;
use self::pooled::Counted;
pub(crate) use self::pooled::PooledConnection;
use self::state::{Age, Idle, State, Urgency};
use crate::backend::{Backend, refused};
use crate::options::Patience;
use crate::options::RENEW_PAUSE;
use crate::sql::Dialect as _;
use crate::sql_error::SqlError;

/// A store whose calls take longer than this keeps a spare connection, for a segment that may not
/// last as long as making one.
const SLOW: Duration = Duration::from_millis(100);
/// If the database has no connections left: how long a call waits for one in use before it tries
/// again.
const FULL_PAUSE: Duration = Duration::from_secs(1);
/// How long a call waits for a connection that is being made for an earlier one before it makes its
/// own.
const ATTEMPT_PAUSE: Duration = Duration::from_secs(1);
/// A connection that was idle for longer than this is pinged before use.
const IDLE_MAX: Duration = Duration::from_secs(10);

pub(crate) struct Pool<S: Backend> {
    backend: Arc<S>,
    /// How long a connection is waited for.
    patience: Patience,
    clock: SystemClock,
    permits: Semaphore,
    /// One less, if there is more than one: a reservation waits behind no other call.
    others: Semaphore,
    connections_max: usize,
    /// Older connections are replaced.
    age_max: Duration,
    /// Whether a connection is being made in place of the old ones.
    is_renewing: AtomicBool,
    /// No new connection is made before this time, because the last attempt failed.
    pause_until: Mutex<Duration>,
    /// Whether the last completed call took long.
    is_slow: AtomicBool,
    /// The number of connections in use.
    in_use_len: AtomicUsize,
    /// The number of connections that are being made for calls.
    attempts_len: AtomicUsize,
    /// When a new connection was last refused. Connections checked before that are checked again.
    refused_at: Mutex<Option<Duration>>,
    state: Mutex<State<S::Connection>>,
    /// The server of the connection that was taken last; `None` after a failure.
    in_use: Mutex<Option<String>>,
}

impl<S: Backend> Pool<S> {
    pub(crate) fn new(
        backend: Arc<S>,
        connections_max: usize,
        age_max: Duration,
        patience: Patience,
    ) -> Self {
        Self {
            backend,
            patience,
            clock: SystemClock::new(),
            permits: Semaphore::new(connections_max.max(1)),
            others: Semaphore::new(connections_max.saturating_sub(1).max(1)),
            connections_max,
            age_max,
            is_renewing: AtomicBool::new(false),
            pause_until: Mutex::default(),
            is_slow: AtomicBool::new(false),
            in_use_len: AtomicUsize::new(0),
            attempts_len: AtomicUsize::new(0),
            refused_at: Mutex::new(None),
            state: Mutex::new(State::new()),
            in_use: Mutex::default(),
        }
    }

    pub(crate) fn backend(&self) -> &S {
        &self.backend
    }

    /// The server that calls go to, by its URL without a password, if it is known.
    pub(crate) fn in_use(&self) -> Option<String> {
        self.lock_in_use().clone()
    }

    pub(crate) async fn take(self: &Arc<Self>) -> Result<PooledConnection<'_, S>, StoreError> {
        self.take_with(Urgency::Other).await
    }

    /// For a reservation: it comes before all other calls, and leaves a spare connection.
    pub(crate) async fn take_to_reserve(
        self: &Arc<Self>,
    ) -> Result<PooledConnection<'_, S>, StoreError> {
        let pooled = self.take_with(Urgency::Reserving).await?;
        self.keep_spare();
        Ok(pooled)
    }

    async fn take_with(
        self: &Arc<Self>,
        urgency: Urgency,
    ) -> Result<PooledConnection<'_, S>, StoreError> {
        let pooled = self.take_any(urgency).await?;
        if let Some(server) = S::server(&pooled.connection) {
            let mut in_use = self.lock_in_use();
            if in_use.as_deref() != Some(server) {
                *in_use = Some(server.to_owned());
            }
        }
        Ok(pooled)
    }

    async fn take_any(
        self: &Arc<Self>,
        urgency: Urgency,
    ) -> Result<PooledConnection<'_, S>, StoreError> {
        let closed = |error| StoreError::unavailable("the store is closed", error);
        let other = match urgency {
            Urgency::Reserving => None,
            Urgency::Other => Some(self.others.acquire().await.map_err(closed)?),
        };
        let permit = self.permits.acquire().await.map_err(closed)?;
        if let Some(reason) = self.backend.refusal() {
            return Err(refused(&reason));
        }
        loop {
            let (mut idle, is_new) = self.next(urgency).await?;
            let now = self.clock.now();
            let is_old = !is_new && self.is_old(&idle, now);
            if is_old && S::CONNECTIONS_MAX == 1 {
                continue;
            }
            if is_old || self.has_old(now) {
                self.renew();
            }
            let is_fresh = now.saturating_sub(idle.since) <= IDLE_MAX;
            if (is_fresh || self.backend.is_alive(&mut idle.connection).await)
                && self.passes_recheck(&mut idle).await
            {
                let Idle {
                    connection, age, ..
                } = idle;
                return Ok(PooledConnection {
                    connection,
                    age,
                    taken: now,
                    pool: self,
                    _counted: Counted::one_of(&self.in_use_len),
                    _permits: (other, permit),
                });
            }
        }
    }

    /// An idle connection, or whichever comes first: one that another call gives back, or a new
    /// one; and whether it is new.
    async fn next(
        self: &Arc<Self>,
        urgency: Urgency,
    ) -> Result<(Idle<S::Connection>, bool), StoreError> {
        let mut returned = match self.lock().pop(urgency) {
            Ok(idle) => return Ok((idle, false)),
            Err(returned) => returned,
        };
        let mut waits = urgency == Urgency::Other && (self.makes_enough() || self.has_all());
        while waits {
            if let Ok(Ok(idle)) = tokio::time::timeout(ATTEMPT_PAUSE, &mut returned).await {
                return Ok((idle, false));
            }
            waits = self.has_all();
        }
        let (made, checked) = loop {
            let checked = self.clock.now();
            let mut attempt = Attempt::new(self, checked);
            let made = tokio::select! {
                biased;
                Ok(idle) = &mut returned => return Ok((idle, false)),
                made = attempt.completed() => made,
            };
            let is_full = made.as_ref().is_err_and(is_full::<S>);
            if !is_full || self.in_use_len.load(Ordering::Relaxed) == 0 {
                break (made, checked);
            }
            // All of them are in use.
            if let Ok(Ok(idle)) = tokio::time::timeout(FULL_PAUSE, &mut returned).await {
                return Ok((idle, false));
            }
        };
        returned.close();
        match (made, returned.try_recv()) {
            (Ok(connection), returned) => {
                let mut state = self.lock();
                returned.into_iter().for_each(|idle| state.put(idle));
                Ok((self.new_idle(connection, checked), true))
            }
            (Err(_), Ok(idle)) => Ok((idle, false)),
            (Err(error), Err(_)) => {
                self.note_refusal(&error);
                Err(error)
            }
        }
    }

    /// Whether there will be a connection for each call that waits for one, if all goes well.
    fn makes_enough(&self) -> bool {
        let attempts_len = self.attempts_len.load(Ordering::Relaxed);
        attempts_len > 0 && attempts_len >= self.lock().waiting_len()
    }

    /// Whether there are as many connections as there may be, with those that are being made.
    fn has_all(&self) -> bool {
        let in_use_len = self.in_use_len.load(Ordering::Relaxed);
        let len = in_use_len + self.attempts_len.load(Ordering::Relaxed);
        len + self.lock().idle.len() >= self.connections_max
    }

    /// Gives a connection to a call that waits, or keeps it idle unless there are too many.
    fn put(&self, idle: Idle<S::Connection>) {
        let mut state = self.lock();
        let len = state.idle.len() + self.in_use_len.load(Ordering::Relaxed);
        if len <= self.connections_max || state.waiting_len() > 0 {
            state.put(idle);
        }
    }

    fn note_refusal(&self, error: &StoreError) {
        // A server was reached and may not be used.
        if error.weak_store().is_some() || matches!(error, StoreError::Unsupported { .. }) {
            self.refused();
        }
    }

    /// Keeps a spare idle connection beside the only one in use, if the store is slow and allows
    /// two: the next call may need it sooner than it can be made.
    fn keep_spare(self: &Arc<Self>) {
        let is_alone = self.in_use_len.load(Ordering::Relaxed) <= 1;
        let is_wanted = self.connections_max > 1 && self.is_slow.load(Ordering::Relaxed);
        if is_wanted && is_alone && self.lock().idle.is_empty() {
            self.renew();
        }
    }

    /// Checks a connection again if another one was refused since it was checked.
    async fn passes_recheck(&self, idle: &mut Idle<S::Connection>) -> bool {
        let refused_at = *lock(&self.refused_at);
        if refused_at.is_none_or(|at| at < idle.age.checked) {
            return true;
        }
        let now = self.clock.now();
        let passes_recheck = self.backend.recheck(&mut idle.connection).await.is_ok();
        idle.age.checked = now;
        passes_recheck
    }

    /// Makes a new connection in the background, in place of an old idle one if there is one. If
    /// none can be made, the old ones stay, and are checked again before they are used.
    fn renew(self: &Arc<Self>) {
        let pause_until = *lock(&self.pause_until);
        if self.clock.now() < pause_until || self.is_renewing.swap(true, Ordering::Relaxed) {
            return;
        }
        let pool = Arc::clone(self);
        spawn(async move {
            // Reset even if the task is dropped with its runtime.
            let _renewing = Renewing(&pool.is_renewing);
            let checked = pool.clock.now();
            // What hangs now may answer a moment later.
            let made = match pool.backend.connect(Patience::Usual).await {
                Err(_) if pool.patience == Patience::Long => {
                    pool.backend.connect(Patience::Long).await
                }
                made => made,
            };
            match made {
                Ok(connection) => pool.replace(connection, checked),
                Err(_) => {
                    pool.refused();
                    *lock(&pool.pause_until) = pool.clock.now().saturating_add(RENEW_PAUSE);
                }
            }
        });
    }

    /// Closes an old idle connection, now that there is a new one. The next old one is replaced at
    /// the next call.
    fn replace(&self, connection: S::Connection, checked: Duration) {
        let new = self.new_idle(connection, checked);
        let mut state = self.lock();
        let old = state
            .idle
            .iter()
            .position(|idle| self.is_old(idle, new.since));
        let old = old.map(|index| state.idle.remove(index));
        state.put(new);
        drop(state);
        drop(old);
    }

    /// A connection that no call takes is replaced too: its server may no longer be the one in use.
    fn has_old(&self, now: Duration) -> bool {
        let state = self.lock();
        state.idle.iter().any(|idle| self.is_old(idle, now))
    }

    fn is_old(&self, idle: &Idle<S::Connection>, now: Duration) -> bool {
        now.saturating_sub(idle.age.born) > self.age_max
    }

    fn new_idle(&self, connection: S::Connection, checked: Duration) -> Idle<S::Connection> {
        let now = self.clock.now();
        Idle {
            connection,
            age: Age { born: now, checked },
            since: now,
        }
    }

    fn refused(&self) {
        *lock(&self.refused_at) = Some(self.clock.now());
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Closes the idle connections: after a failure they are probably dead too, except those that
    /// served calls since the failed one began.
    pub(crate) fn clear(&self, began: Duration) {
        let mut state = self.lock();
        let dead = state.idle.extract_if(.., |idle| idle.since <= began);
        let dead: Vec<_> = dead.collect();
        let is_empty = state.idle.is_empty();
        drop(state);
        drop(dead);
        if is_empty {
            *self.lock_in_use() = None;
        }
    }

    fn lock_in_use(&self) -> MutexGuard<'_, Option<String>> {
        lock(&self.in_use)
    }

    fn lock(&self) -> MutexGuard<'_, State<S::Connection>> {
        lock(&self.state)
    }
}

/// Boxed, so that the program has one kind of task and not one for each database.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    tokio::spawn(work);
}

/// Whether the database has no connection left for us.
fn is_full<S: Backend>(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    let error = source.and_then(|source| source.downcast_ref::<SqlError>());
    error.is_some_and(S::Dialect::is_full)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While a connection is being made.
struct Renewing<'a>(&'a AtomicBool);

impl Drop for Renewing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, feature = "mysql"))]
mod tests;
