//! `CoreRuntimes`: one thread for each core, each with a runtime of its own, over which connections
//! are spread. A connection stays on its runtime for life, so that nothing it touches moves between
//! cores.
//!
//! A new connection goes to the runtime with the fewest. One socket listens for all of them: with a
//! socket for each (`SO_REUSEPORT`) the system would distribute at random, and a second server
//! could listen on the same port unnoticed.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Threads that serve connections.
pub(crate) struct CoreRuntimes {
    cores: Vec<Core>,
}

struct Core {
    runtime: Handle,
    /// Each connection that it serves now has a clone.
    open: Arc<()>,
    /// Ends its thread when dropped; `None` for the caller's runtime.
    _stop: Option<oneshot::Sender<()>>,
}

impl CoreRuntimes {
    /// The caller's runtime is the first; the others get threads of their own.
    ///
    /// # Errors
    ///
    /// If the system has no threads or file descriptors left.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let mut cores = vec![Core::new(Handle::current(), None)];
        for number in 1..count {
            cores.push(Core::spawn(number)?);
        }
        Ok(Self { cores })
    }

    /// The runtimes of all threads.
    pub(crate) fn handles(&self) -> Vec<Handle> {
        self.cores.iter().map(|core| core.runtime.clone()).collect()
    }

    /// Serves a connection on the runtime that has the fewest.
    pub(crate) fn spawn<F>(&self, stream: TcpStream, serve: impl FnOnce(TcpStream) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let open = |core: &&Core| Arc::strong_count(&core.open);
        let Some(core) = self.cores.iter().min_by_key(open) else {
            return;
        };
        // The socket must be registered with the core's runtime, not with the one that accepted it.
        let moved = stream.into_std().and_then(|stream| {
            let _entered = core.runtime.enter();
            TcpStream::from_std(stream)
        });
        let Ok(stream) = moved else {
            return;
        };
        let open = Arc::clone(&core.open);
        // Boxed: the task would hold it twice, as an argument and as the future it awaits.
        let serving = Box::pin(serve(stream));
        core.runtime.spawn(async move {
            serving.await;
            drop(open);
        });
    }
}

/// The runtime that suits a [`Server`](crate::Server) best: single-threaded, on the calling thread,
/// which serves some of the connections itself.
///
/// # Example
///
/// ```
/// use std::pin::{Pin, pin};
///
/// let runtime = leafid_server::CoreRuntime::new()?;
/// let mut is_over = false;
/// runtime.block_on(pin!(async { is_over = true /* in place of Server::run */ }));
/// # drop(runtime);
/// assert!(is_over);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CoreRuntime(Runtime);

impl CoreRuntime {
    /// A runtime for the thread that calls [`block_on`](Self::block_on).
    ///
    /// # Errors
    ///
    /// If the system has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self(runtime))
    }

    /// Runs a future on this thread until it completes. Not generic: the event loop that drives
    /// every request is compiled here once, for speed, and not in the crate of the caller.
    pub fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.0.block_on(future);
    }

    /// Shuts down without waiting for blocking calls.
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

impl Core {
    fn new(runtime: Handle, stop: Option<oneshot::Sender<()>>) -> Self {
        Self {
            runtime,
            open: Arc::default(),
            _stop: stop,
        }
    }

    fn spawn(number: usize) -> io::Result<Self> {
        let runtime = CoreRuntime::new()?;
        let handle = runtime.0.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name(format!("core-{number}"))
            .spawn(move || {
                // An error means that the other end is gone, which is the signal to stop.
                runtime.block_on(pin!(async { drop(stopped.await) }));
                runtime.shutdown_background();
            })?;
        Ok(Self::new(handle, Some(stop)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;

    /// Guards that connections are distributed evenly, and that each stays on the thread of its
    /// core.
    #[test]
    fn connections_are_spread_over_the_cores() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let cores = CoreRuntimes::start(3).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (seen, mut threads) = mpsc::unbounded_channel();
            let mut clients = Vec::new();
            for _ in 0..9 {
                clients.push(TcpStream::connect(address).await.unwrap());
                let (stream, _) = listener.accept().await.unwrap();
                let seen = seen.clone();
                cores.spawn(stream, |stream| async move {
                    seen.send(thread::current().id()).unwrap();
                    // Until the client closes, as this core's reactor reports.
                    let _gone = stream.readable().await;
                    seen.send(thread::current().id()).unwrap();
                });
            }
            let mut on = BTreeMap::new();
            for round in 1..=2 {
                for _ in 0..9 {
                    let thread = threads.recv().await.unwrap();
                    *on.entry(format!("{thread:?}")).or_insert(0) += 1;
                }
                assert_eq!(on.values().copied().collect::<Vec<_>>(), [3 * round; 3]);
                clients.clear();
            }
        });
    }
}
