//! The end: which signals ask for it, and how requests in flight are let finish.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// Is ready when the process is asked to stop: on SIGTERM or SIGINT (Ctrl-C).
///
/// # Errors
///
/// When the system does not let the process listen for signals.
///
/// # Example
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let asked_to_stop = leafid_server::shutdown_signal()?;
/// # drop(asked_to_stop);
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn shutdown_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Tells connections to finish. Clones share one state.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown {
    asked: watch::Sender<bool>,
    /// The same, to be looked at without a lock.
    is_asked: Arc<AtomicBool>,
}

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self {
            asked: watch::Sender::new(false),
            is_asked: Arc::default(),
        }
    }

    pub(crate) fn ask(&self) {
        // Release pairs with the acquire in `is_asked`; first, so that who is woken sees it.
        self.is_asked.store(true, Ordering::Release);
        self.asked.send_replace(true);
    }

    /// Whether connections shall finish.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// Is ready once connections shall finish.
    pub(crate) async fn asked(&self) {
        let mut asked = self.asked.subscribe();
        // The sender is alive: it is in self.
        let _is_asked = asked.wait_for(|asked| *asked).await;
    }
}

/// Waits for `finished`, but not longer than `grace`; tells whether it came.
pub(crate) async fn within(grace: Duration, finished: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(grace, finished).await.is_ok()
}
