//! `Calls`: what the calls to a registry without SQL share: a time-out, and the beginning of error
//! texts. `KeptConnection`: a connection that is kept for the next read of one row.
//!
//! Several reads of a row may be under way, because one that is late is waited for beside the next
//! ones. None waits for a connection that another one uses longer than it takes to make its own.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use leafid::store::StoreError;
use tokio::sync::Notify;

use crate::timeout::within;
use crate::url::StoreUrl;
use crate::{Remedies, StoreOptions};

pub(crate) struct Calls {
    /// Where the registry is, without a password.
    pub(crate) location: String,
    timeout: Duration,
    remedies: Remedies,
}

impl Calls {
    pub(crate) fn new(url: &StoreUrl, options: &StoreOptions) -> Self {
        Self {
            location: url.to_string(),
            timeout: options.statement_timeout,
            remedies: options.remedies,
        }
    }

    /// Waits for the work, at most for the time-out.
    pub(crate) async fn bounded<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let late = || format!("no answer within {:?}", self.timeout);
        let answer = within(self.timeout, work, late).await;
        answer.map_err(|error| self.explain(what, error))
    }

    /// Asks over the kept connection, or whichever comes first: one that another call gives back,
    /// or a new one. The time-out begins again with each, so that a call which had to wait for an
    /// established connection is as patient as any other.
    pub(crate) async fn ask<Q: Question>(
        &self,
        what: &str,
        kept: &KeptConnection<Q::Connection>,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let answer = kept.ask(self.timeout, question).await;
        answer.map_err(|error| self.explain(what, error))
    }

    fn explain(&self, what: &str, error: StoreError) -> StoreError {
        let text = |reason: &str| format!("cannot {what} at {}: {reason}", self.location);
        let error = match error {
            StoreError::Unavailable { message, source } => StoreError::Unavailable {
                message: text(&message),
                source,
            },
            StoreError::BadRow { message } => StoreError::BadRow {
                message: text(&message),
            },
            error => error,
        };
        self.remedies.reword(error, &self.location)
    }
}

/// A question that changes nothing.
pub(crate) trait Question: Sync {
    type Connection: Send;
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
}

/// A connection kept between two reads. It is taken out by the read that uses it, and dropped with
/// it if the caller gives up.
pub(crate) struct KeptConnection<C> {
    /// The connection that answered last.
    idle: Mutex<Option<C>>,
    /// A connection was put there.
    returned: Notify,
}

impl<C> Default for KeptConnection<C> {
    fn default() -> Self {
        Self {
            idle: Mutex::new(None),
            returned: Notify::new(),
        }
    }
}

impl<C: Send> KeptConnection<C> {
    async fn ask<Q: Question<Connection = C>>(
        &self,
        timeout: Duration,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let late = || format!("no answer within {timeout:?}");
        if let Some(connection) = self.take() {
            let again = async {
                let answer = self.again(connection, question).await;
                // It may have died meanwhile.
                Ok::<_, StoreError>(answer.ok())
            };
            if let Some(answer) = within(timeout, again, late).await? {
                return Ok(answer);
            }
        }
        let returned = tokio::select! {
            biased;
            connection = self.returned() => connection,
            made = within(timeout, question.anew(), late) => {
                let (connection, answer) = made?;
                self.keep(connection);
                return Ok(answer);
            }
        };
        within(timeout, self.again(returned, question), late).await
    }

    async fn again<Q: Question<Connection = C>>(
        &self,
        mut connection: C,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let answer = question.again(&mut connection).await?;
        self.keep(connection);
        Ok(answer)
    }

    fn take(&self) -> Option<C> {
        self.lock().take()
    }

    /// Waits until a connection was put there, and takes it.
    async fn returned(&self) -> C {
        loop {
            self.returned.notified().await;
            if let Some(connection) = self.take() {
                return connection;
            }
        }
    }

    /// Keeps a connection that answered, in place of one that did so earlier.
    fn keep(&self, connection: C) {
        let before = self.lock().replace(connection);
        drop(before);
        self.returned.notify_one();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<C>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
