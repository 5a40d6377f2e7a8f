//! `Pool`: the connections of a store. One goes back only after a call that ended well, so that
//! no call meets what another left half done.
//!
//! A call that finds none waits for whichever comes first: one that another call gives back, or a new
//! one. To make one takes several round trips, in which ids could end beside a connection at rest.
//!
//! Connections are made anew from time to time. Calls do not wait for that: they use the old ones
//! until the new one is there. Where the new one is refused, the old ones are judged again before
//! they are used.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};
use leafid::{Clock, SystemClock};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use crate::store::{Fault, System, refused};

/// A connection that rested longer than this is asked whether it still lives.
const REST_MAX: Duration = Duration::from_secs(10);

pub(crate) struct Pool<S: System> {
    system: S,
    clock: SystemClock,
    permits: Semaphore,
    connections_max: usize,
    /// Older connections are replaced.
    age_max: Duration,
    /// Whether a connection is being made in place of the old ones.
    is_renewing: AtomicBool,
    /// When a new connection was refused last. Those that were judged before are judged again.
    refused_at: Mutex<Option<Duration>>,
    state: Mutex<State<S::Connection>>,
    /// The server of the connection taken last; `None` after a failure.
    in_use: Mutex<Option<String>>,
}

/// All connections but those in use. Together they are as many as there are permits at the most,
/// since one is made only for a call that has a permit and finds none at rest.
struct State<C> {
    /// Connections at rest, the most recently used last.
    resting: Vec<Resting<C>>,
    /// Calls that wait for one: reservations, then the longest wait first.
    waiting: VecDeque<oneshot::Sender<Found<C>>>,
    /// How many are being made for them.
    connecting: usize,
}

/// Who waits for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    /// A reservation, without which ids end.
    Reserving,
    Other,
}

type Found<C> = Result<Resting<C>, StoreError>;

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
            connections_max,
            age_max,
            is_renewing: AtomicBool::new(false),
            refused_at: Mutex::new(None),
            state: Mutex::new(State {
                resting: Vec::new(),
                waiting: VecDeque::new(),
                connecting: 0,
            }),
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
        self.take_with(Urgency::Other).await
    }

    /// For a reservation: before all other calls, and with a spare connection behind it.
    pub(crate) async fn take_to_reserve(self: &Arc<Self>) -> Result<Loan<'_, S>, StoreError> {
        let loan = self.take_with(Urgency::Reserving).await?;
        self.keep_spare();
        Ok(loan)
    }

    async fn take_with(self: &Arc<Self>, urgency: Urgency) -> Result<Loan<'_, S>, StoreError> {
        let loan = self.take_any(urgency).await?;
        if let Some(server) = S::server(&loan.connection) {
            let mut in_use = self.lock_in_use();
            if in_use.as_deref() != Some(server) {
                *in_use = Some(server.to_owned());
            }
        }
        Ok(loan)
    }

    async fn take_any(self: &Arc<Self>, urgency: Urgency) -> Result<Loan<'_, S>, StoreError> {
        let closed = |error: &str| StoreError::unavailable("the store is closed", error);
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|error| closed(&error.to_string()))?;
        if let Some(reason) = self.system.refusal() {
            return Err(refused(&reason));
        }
        loop {
            let (mut resting, is_at_hand) = match self.pop(urgency) {
                Ok(resting) => (resting, true),
                Err(found) => (
                    found.await.map_err(|error| closed(&error.to_string()))??,
                    false,
                ),
            };
            let now = self.clock.now();
            if is_at_hand && now.saturating_sub(resting.age.born) > self.age_max {
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
    }

    /// A connection at rest, or where the next one will come from.
    fn pop(
        self: &Arc<Self>,
        urgency: Urgency,
    ) -> Result<Resting<S::Connection>, oneshot::Receiver<Found<S::Connection>>> {
        let mut state = self.lock();
        if let Some(resting) = state.resting.pop() {
            return Ok(resting);
        }
        let (waiter, found) = oneshot::channel();
        // Calls that were given up wait no more.
        state.waiting.retain(|waiter| !waiter.is_closed());
        match urgency {
            Urgency::Reserving => state.waiting.push_front(waiter),
            Urgency::Other => state.waiting.push_back(waiter),
        }
        // One that was begun for a call that found another will do.
        if state.connecting < state.waiting.len() {
            self.connect(&mut state);
        }
        Err(found)
    }

    /// Has one at rest beside the only one in use, if there may be two: the next call may need it
    /// sooner than it can be made.
    fn keep_spare(self: &Arc<Self>) {
        let mut state = self.lock();
        let in_use = self
            .connections_max
            .saturating_sub(self.permits.available_permits());
        let is_alone = state.resting.is_empty() && state.connecting == 0 && in_use <= 1;
        if is_alone && self.connections_max > 1 {
            self.connect(&mut state);
        }
    }

    fn connect(self: &Arc<Self>, state: &mut State<S::Connection>) {
        state.connecting += 1;
        let connecting = Connecting {
            pool: Arc::clone(self),
            is_ended: false,
        };
        spawn(connecting.connect());
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
        spawn(async move {
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

    /// Closes the old connections at rest but one, now that there is a new one.
    fn replace(&self, connection: S::Connection, judged: Duration) {
        let now = self.clock.now();
        let is_young = |resting: &Resting<_>| now.saturating_sub(resting.age.born) <= self.age_max;
        let mut has_old = false;
        let is_kept =
            |resting: &Resting<_>| is_young(resting) || !std::mem::replace(&mut has_old, true);
        self.lock().resting.retain(is_kept);
        self.put(self.new_resting(connection, judged));
    }

    fn new_resting(&self, connection: S::Connection, judged: Duration) -> Resting<S::Connection> {
        let now = self.clock.now();
        Resting {
            connection,
            age: Age { born: now, judged },
            since: now,
        }
    }

    /// Gives a connection to the call that waits longest, or lets it rest.
    fn put(&self, resting: Resting<S::Connection>) {
        self.lock().put(resting);
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
        let resting = std::mem::take(&mut self.lock().resting);
        drop(resting);
        *self.lock_in_use() = None;
    }

    fn lock_in_use(&self) -> MutexGuard<'_, Option<String>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State<S::Connection>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> State<C> {
    fn put(&mut self, resting: Resting<C>) {
        let mut found = Ok(resting);
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(found) {
                Ok(()) => return,
                Err(back) => found = back,
            }
        }
        self.resting.extend(found);
    }

    /// Tells the call that waits longest why there is none for it.
    fn fail(&mut self, error: StoreError) {
        let mut found = Err(error);
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(found) {
                Ok(()) => return,
                Err(back) => found = back,
            }
        }
    }
}

/// A connection that is being made for a call that waits.
struct Connecting<S: System> {
    pool: Arc<Pool<S>>,
    is_ended: bool,
}

impl<S: System> Connecting<S> {
    async fn connect(mut self) {
        let pool = Arc::clone(&self.pool);
        let judged = pool.clock.now();
        let found = pool.system.connect().await;
        let found = found.map(|connection| pool.new_resting(connection, judged));
        self.end(found);
    }

    fn end(&mut self, found: Found<S::Connection>) {
        self.is_ended = true;
        let mut state = self.pool.lock();
        state.connecting = state.connecting.saturating_sub(1);
        match found {
            Ok(resting) => state.put(resting),
            Err(error) => {
                let is_refusal = is_refusal(&error);
                state.fail(error);
                drop(state);
                if is_refusal {
                    self.pool.refused();
                }
            }
        }
    }
}

impl<S: System> Drop for Connecting<S> {
    fn drop(&mut self) {
        if !self.is_ended {
            let message = "the connection was not made to its end";
            self.end(Err(StoreError::unavailable(message, "its runtime ended")));
        }
    }
}

/// In a box, so that there is one kind of task in the program and not one for each database.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    tokio::spawn(work);
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
            let mut state = pool.lock();
            // The others may have been made while this one waited for the lock.
            let is_young = since.saturating_sub(age.born) <= pool.age_max;
            // An old one is needed no more once there is one to use, and a spare one.
            if is_young || state.resting.len() < 2 {
                state.put(Resting {
                    connection,
                    age,
                    since,
                });
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests;
