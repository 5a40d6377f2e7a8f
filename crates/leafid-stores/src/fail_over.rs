//! Fail-over lists: which server is chosen, the first usable one, or why there is none.

use std::future::Future;
use std::time::Duration;

use leafid::store::StoreError;

#[cfg(feature = "_sqlx")]
use crate::sql::{Dialect, failed};
#[cfg(feature = "_sqlx")]
use crate::sql_error::{SqlError, SqlErrorKind};
use crate::timeout::within;

/// Tries servers in order and returns the first that is usable.
pub(crate) async fn first_of<'a, C, F>(
    servers: impl Iterator<Item = (&'a String, F)>,
    timeout: Duration,
) -> Result<C, StoreError>
where
    F: Future<Output = Result<C, StoreError>> + Send,
{
    let mut failures: Vec<StoreError> = Vec::new();
    for (name, open) in servers {
        let late = || format!("{name} gave no answer within {timeout:?}");
        match within(timeout, open, late).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failures.push(error),
        }
    }
    Err(all_failed(failures))
}

/// The error of a list without a usable server.
fn all_failed(failures: Vec<StoreError>) -> StoreError {
    let message: Vec<String> = failures.iter().map(StoreError::to_string).collect();
    let message = message.join("; ");
    if !failures.is_empty() && failures.iter().all(|error| !error.may_recover()) {
        return StoreError::Unsupported { message };
    }
    // A refusal takes precedence over servers that are down.
    let weak = failures
        .iter()
        .position(|error| error.weak_store().is_some());
    let last = failures.iter().rposition(StoreError::may_recover);
    let source = weak
        .or(last)
        .and_then(|index| match failures.into_iter().nth(index) {
            Some(StoreError::Unavailable { source, .. }) => Some(source),
            _ => None,
        });
    StoreError::unavailable(message, source.unwrap_or_else(|| "no server".into()))
}

/// Names the server whose tables cannot be used.
#[cfg(feature = "_sqlx")]
pub(crate) fn at_server(name: &str, error: StoreError) -> StoreError {
    match error {
        StoreError::Unsupported { message } => StoreError::Unsupported {
            message: format!("{name}: {message}"),
        },
        error => error,
    }
}

/// Why one server cannot be used.
#[cfg(feature = "_sqlx")]
pub(crate) fn server_fault<D: Dialect>(name: &str, error: SqlError) -> StoreError {
    let reason = match D::remedy(&error) {
        Some(remedy) => remedy,
        None if error.kind() == SqlErrorKind::Connection => "no connection",
        None => error.meaning(),
    };
    failed::<D>(format!("{name}: {reason}"), error)
}
