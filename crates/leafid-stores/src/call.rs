//! `Calls`: what every call to a registry without SQL has in common: its time-out, and the first
//! words of its errors.

use std::future::Future;
use std::time::Duration;

use leafid::store::StoreError;

use crate::StoreOptions;
use crate::url::StoreUrl;

pub(crate) struct Calls {
    /// Where the registry is, without a password.
    pub(crate) location: String,
    timeout: Duration,
}

impl Calls {
    pub(crate) fn new(url: &StoreUrl, options: &StoreOptions) -> Self {
        Self {
            location: url.to_string(),
            timeout: options.statement_timeout,
        }
    }

    /// Waits for the work, but not longer than the time-out.
    pub(crate) async fn bounded<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = match tokio::time::timeout(self.timeout, work).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(StoreError::unavailable(
                format!("no answer within {:?}", self.timeout),
                elapsed,
            )),
        };
        answer.map_err(|error| self.explain(what, error))
    }

    fn explain(&self, what: &str, error: StoreError) -> StoreError {
        let text = |reason: &str| format!("cannot {what} at {}: {reason}", self.location);
        match error {
            StoreError::Unavailable { message, source } => StoreError::Unavailable {
                message: text(&message),
                source,
            },
            StoreError::BadRow { message } => StoreError::BadRow {
                message: text(&message),
            },
            error => error,
        }
    }
}
