//! `Calls`: what the calls to a registry without SQL share: a time-out, and the beginning of error
//! texts.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::StoreError;

use crate::kept_connection::{KeptConnection, Question};
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

    /// Reads one row over the kept connection, or over whichever comes first: one that another call
    /// gives back, or a new one.
    pub(crate) async fn ask<Q: Question>(
        &self,
        what: &str,
        kept: &Arc<KeptConnection<Q::Connection>>,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let answer = kept.ask(question).await;
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
