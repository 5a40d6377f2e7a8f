//! The time-out of every wait for a store.

use std::future::Future;
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};

/// Waits for the work, at most for the time-out; `late` describes what did not complete in time.
/// Boxed, so that the program has one such function and not one for each call.
pub(crate) async fn within<T, E: From<StoreError>>(
    timeout: Duration,
    work: impl Future<Output = Result<T, E>> + Send,
    late: impl FnOnce() -> String + Send,
) -> Result<T, E> {
    let work: BoxFuture<'_, Result<T, E>> = Box::pin(work);
    match tokio::time::timeout(timeout, work).await {
        Ok(answer) => answer,
        Err(elapsed) => Err(StoreError::unavailable(late(), elapsed).into()),
    }
}
