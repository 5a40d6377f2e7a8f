//! `KeptConnection`: a connection to a registry without SQL that is kept for the next read of one
//! row, apart from those of all other calls. Databases have a pool for that (`store.rs`).
//!
//! Several reads may be under way, because one that is late is waited for beside the next ones. None
//! waits for a connection that another one uses longer than it takes to make its own.
//!
//! An old connection is replaced in the background: the address may belong to another server by now,
//! while the former one still answers over the connection that it has.
//!
//! Where there is none, one is made with more patience than for any other call: a registry that is
//! slow needs several times as long for a connection as for an answer.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};
use leafid::{Clock as _, SystemClock};
use tokio::sync::Notify;

use crate::StoreOptions;
use crate::options::{Patience, RENEW_PAUSE};
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
        patience: Patience,
    ) -> impl Future<Output = Result<(Self::Connection, Self::Answer), StoreError>> + Send;

    /// Makes a connection that answers, for later questions. `None` if nothing asks any more.
    fn renewal(
        &self,
        patience: Patience,
    ) -> Option<BoxFuture<'static, Result<Self::Connection, StoreError>>>;
}

/// It is taken out by the read that uses it, and dropped with it if the caller gives up.
pub(crate) struct KeptConnection<C> {
    /// The youngest connection that has answered.
    idle: Mutex<Option<Kept<C>>>,
    /// A connection was put there.
    returned: Notify,
    clock: SystemClock,
    /// How long a call over a connection that is there may take.
    look_timeout: Duration,
    /// How long any other call may take.
    timeout: Duration,
    /// A list of servers is tried as fast as for any other call first: its first one may be gone.
    is_listed: bool,
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
    /// For connections to one of this many servers.
    pub(crate) fn new(options: &StoreOptions, servers_len: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Mutex::new(None),
            returned: Notify::new(),
            clock: SystemClock::new(),
            look_timeout: options.look_timeout(),
            timeout: options.statement_timeout,
            is_listed: servers_len > 1,
            age_max: options.connection_age_max,
            renewal_from: Mutex::default(),
        })
    }

    /// Asks over the kept connection, or over whichever comes first: one that another call gives
    /// back, or a new one.
    pub(crate) async fn ask<Q: Question<Connection = C>>(
        self: &Arc<Self>,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        if let Some(kept) = self.take() {
            self.renew_if_old(&kept, question);
            let again = async {
                let answer = self.again(kept, question).await;
                // It may have died meanwhile.
                Ok(answer.ok())
            };
            if let Some(answer) = self.within_look(again).await? {
                return Ok(answer);
            }
        }
        let returned = tokio::select! {
            biased;
            kept = self.returned() => kept,
            made = self.anew(question) => {
                let (connection, answer) = made?;
                self.keep(self.new_kept(connection));
                return Ok(answer);
            }
        };
        self.within_look(self.again(returned, question)).await
    }

    async fn within_look<T>(
        &self,
        look: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let max = self.look_timeout;
        within(max, look, || no_answer_within(max)).await
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

    async fn anew<Q: Question<Connection = C>>(
        &self,
        question: &Q,
    ) -> Result<(C, Q::Answer), StoreError> {
        let (usual, long) = (self.timeout, self.look_timeout);
        if !self.is_listed {
            let max = usual.saturating_add(long);
            return within(max, question.anew(Patience::Long), || no_answer_within(max)).await;
        }
        let made = within(usual, question.anew(Patience::Usual), || {
            no_answer_within(usual)
        });
        if let Ok(made) = made.await {
            return Ok(made);
        }
        within(long, question.anew(Patience::Long), || {
            no_answer_within(long)
        })
        .await
    }

    /// Makes another connection beside an old one, which serves until then. One at a time, and with
    /// the usual patience first: what hangs now may answer a moment later, when the old one's server
    /// is no longer the right one.
    fn renew_if_old<Q: Question<Connection = C>>(self: &Arc<Self>, kept: &Kept<C>, question: &Q) {
        let now = self.clock.now();
        let mut renewal_from = lock(&self.renewal_from);
        if now.saturating_sub(kept.born) <= self.age_max || now < *renewal_from {
            return;
        }
        let (usual, long) = (self.timeout, self.look_timeout);
        let renewal = |patience| question.renewal(patience);
        let Some((first, second)) = renewal(Patience::Usual).zip(renewal(Patience::Long)) else {
            return;
        };
        *renewal_from = now.saturating_add(usual).saturating_add(long);
        let connections = Arc::clone(self);
        let renewed: BoxFuture<'static, ()> = Box::pin(async move {
            let late = |max| move || no_answer_within(max);
            let made = match within(usual, first, late(usual)).await {
                Err(_) => within(long, second, late(long)).await,
                made => made,
            };
            let pause = match made {
                Ok(connection) => {
                    connections.keep(connections.new_kept(connection));
                    Duration::ZERO
                }
                Err(_) => RENEW_PAUSE,
            };
            *lock(&connections.renewal_from) = connections.clock.now().saturating_add(pause);
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

fn no_answer_within(max: Duration) -> String {
    format!("no answer within {max:?}")
}
