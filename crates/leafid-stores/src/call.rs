//! `Calls`: what the calls to a registry without SQL share: a time-out, and the beginning of error
//! texts. `KeptConnection`: a connection that is kept for the next read of one row.

use std::future::Future;
use std::time::Duration;

use leafid::store::StoreError;
#[cfg(feature = "_dial")]
use tokio::sync::Mutex;

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

/// A connection kept between two reads.
#[cfg(feature = "_dial")]
pub(crate) struct KeptConnection<C>(Mutex<Option<C>>);

#[cfg(feature = "_dial")]
impl<C> Default for KeptConnection<C> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

#[cfg(feature = "_dial")]
impl<C> KeptConnection<C> {
    /// Makes a call over the idle connection; if that fails, as it may have died meanwhile, over a
    /// new one. The one that answered is kept.
    pub(crate) async fn ask<T>(
        &self,
        again: impl AsyncFnOnce(&mut C) -> Result<T, StoreError>,
        anew: impl AsyncFnOnce() -> Result<(C, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut kept = self.0.lock().await;
        // Taken out, so that it is dropped if the caller gives up.
        if let Some(mut connection) = kept.take()
            && let Ok(answer) = again(&mut connection).await
        {
            *kept = Some(connection);
            return Ok(answer);
        }
        let (connection, answer) = anew().await?;
        *kept = Some(connection);
        Ok(answer)
    }
}
