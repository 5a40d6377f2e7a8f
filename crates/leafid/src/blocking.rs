//! For programs without an async runtime: waits for a future, or runs a driver, on a thread.

use std::future::Future;

/// Waits on this thread until the future is done.
///
/// # Example
///
/// ```
/// assert_eq!(leafid::blocking::block_on(async { 7 }), 7);
/// ```
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}
