//! `KeptConnection`: a connection to a registry without SQL that is kept for the next read of one
//! row.
//!
//! Several reads may be under way, because one that is late is waited for beside the next ones. None
//! waits for a connection that another one uses longer than it takes to make its own.
//!
//! An old connection is replaced in the background: the address may belong to another server by now,
//! while the former one still answers over the connection that it has.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};
use leafid::{Clock as _, SystemClock};
use tokio::sync::Notify;

use crate::StoreOptions;
use crate::timeout::within;

/// A question that changes nothing.
pub(crate) trait Question: Sync {
    type Connection: Send + 'static;
    type Answer: Send;

    /// Asks over a connection that has answered before.
    fn again(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Self::Answer, StoreError>> + Send;

    /// Asks over a new connection.
    fn anew(
        &self,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Answer), StoreError>> + Send;

    /// Makes a connection that answers, for later questions. `None` if nothing asks any more.
    fn renewal(&self) -> Option<BoxFuture<'static, Result<Self::Connection, StoreError>>>;
}

/// It is taken out by the read that uses it, and dropped with it if the caller gives up.
pub(crate) struct KeptConnection<C> {
    /// The youngest connection that has answered.
    idle: Mutex<Option<Kept<C>>>,
    /// A connection was put there.
    returned: Notify,
    clock: SystemClock,
    /// An older connection is replaced.
    age_max: Duration,
    /// No other renewal begins before this time.
    renewal_from: Mutex<Duration>,
}

struct Kept<C> {
    connection: C,
    /// When it was made, on the boot clock.
    born: Duration,
}

impl<C: Send + 'static> KeptConnection<C> {
    pub(crate) fn new(options: &StoreOptions) -> Arc<Self> {
        Arc::new(Self {
            idle: Mutex::new(None),
            returned: Notify::new(),
            clock: SystemClock::new(),
            age_max: options.connection_age_max,
            renewal_from: Mutex::default(),
        })
    }

    /// Waits for a connection for up to the first time-out, and then for the answer for up to the
    /// second, so that a call which waited for an established connection is as patient as any other.
    pub(crate) async fn ask<Q: Question<Connection = C>>(
        self: &Arc<Self>,
        (timeout, look_timeout): (Duration, Duration),
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let late = |max: Duration| move || format!("no answer within {max:?}");
        if let Some(kept) = self.take() {
            self.renew_if_old(&kept, timeout, question);
            let again = async {
                let answer = self.again(kept, question).await;
                // It may have died meanwhile.
                Ok::<_, StoreError>(answer.ok())
            };
            if let Some(answer) = within(look_timeout, again, late(look_timeout)).await? {
                return Ok(answer);
            }
        }
        let returned = tokio::select! {
            biased;
            kept = self.returned() => kept,
            made = within(timeout, question.anew(), late(timeout)) => {
                let (connection, answer) = made?;
                self.keep(self.new_kept(connection));
                return Ok(answer);
            }
        };
        let again = self.again(returned, question);
        within(look_timeout, again, late(look_timeout)).await
    }

    async fn again<Q: Question<Connection = C>>(
        &self,
        mut kept: Kept<C>,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let answer = question.again(&mut kept.connection).await?;
        self.keep(kept);
        Ok(answer)
    }

    /// Makes another connection beside an old one, which serves until then. One at a time, as none
    /// takes longer than the time-out.
    fn renew_if_old<Q: Question<Connection = C>>(
        self: &Arc<Self>,
        kept: &Kept<C>,
        timeout: Duration,
        question: &Q,
    ) {
        let now = self.clock.now();
        let mut renewal_from = lock(&self.renewal_from);
        if now.saturating_sub(kept.born) <= self.age_max || now < *renewal_from {
            return;
        }
        *renewal_from = now + timeout;
        let Some(renewal) = question.renewal() else {
            return;
        };
        let connections = Arc::clone(self);
        let renewed: BoxFuture<'static, ()> = Box::pin(async move {
            if let Ok(Ok(connection)) = tokio::time::timeout(timeout, renewal).await {
                connections.keep(connections.new_kept(connection));
            }
        });
        tokio::spawn(renewed);
    }

    fn new_kept(&self, connection: C) -> Kept<C> {
        let born = self.clock.now();
        Kept { connection, born }
    }

    fn take(&self) -> Option<Kept<C>> {
        lock(&self.idle).take()
    }

    /// Waits until a connection was put there, and takes it.
    async fn returned(&self) -> Kept<C> {
        loop {
            self.returned.notified().await;
            if let Some(kept) = self.take() {
                return kept;
            }
        }
    }

    /// Keeps a connection that answered, unless there is a younger one.
    fn keep(&self, kept: Kept<C>) {
        let mut idle = lock(&self.idle);
        let dropped = match &*idle {
            Some(other) if other.born > kept.born => Some(kept),
            _ => idle.replace(kept),
        };
        drop(idle);
        drop(dropped);
        self.returned.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
