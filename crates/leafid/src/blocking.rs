//! For programs without an async runtime: waits for a future, or runs a driver, on a thread.

use std::future::Future;
use std::io;
use std::thread::{Builder, JoinHandle};

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

/// Runs a driver on a thread of its own. The thread ends when the last handle is dropped, or when
/// it is stopped.
///
/// # Errors
///
/// If the system has no threads left.
///
/// # Example
///
/// ```
/// use leafid::{Generators, Options, blocking, store::MemoryStore};
///
/// let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
/// let thread = blocking::spawn(driver)?;
/// drop(generators);
/// thread.join().expect("a driver does not panic");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn spawn(driver: impl Future<Output = ()> + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new()
        .name("leafid-driver".into())
        .spawn(|| block_on(driver))
}
