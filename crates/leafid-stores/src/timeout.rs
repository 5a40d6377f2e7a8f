//! The time-out of every wait for a store.

use std::future::Future;
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};

/// Waits for the work, but not longer than the time-out; `late` tells what was not there in time.
/// In a box, so that there is one time-out in the program and not one for each call.
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
