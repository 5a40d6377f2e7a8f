//! The end: which signals ask for it, and how requests in flight are let finish.

use std::future::Future;
use std::sync::Arc;
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
    alone: Option<Arc<Alone>>,
}

/// Tells one connection to finish, while the others go on.
#[derive(Debug)]
pub(crate) struct Alone(watch::Sender<bool>);

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self {
            asked: watch::Sender::new(false),
            alone: None,
        }
    }

    /// The same for one connection, which may be told before the others.
    pub(crate) fn for_one(&self) -> (Self, Arc<Alone>) {
        let alone = Arc::new(Alone(watch::Sender::new(false)));
        let shutdown = Self {
            asked: self.asked.clone(),
            alone: Some(Arc::clone(&alone)),
        };
        (shutdown, alone)
    }

    pub(crate) fn ask(&self) {
        self.asked.send_replace(true);
    }

    /// Is ready once connections shall finish.
    pub(crate) async fn asked(&self) {
        let Some(alone) = &self.alone else {
            return asked(&self.asked).await;
        };
        // On the heap: those that are not told alone shall not take its memory.
        Box::pin(async {
            tokio::select! {
                () = asked(&self.asked) => {}
                () = asked(&alone.0) => {}
            }
        })
        .await;
    }
}

impl Alone {
    pub(crate) fn ask(&self) {
        self.0.send_replace(true);
    }
}

async fn asked(sender: &watch::Sender<bool>) {
    let mut asked = sender.subscribe();
    // The sender is alive: it is borrowed.
    let _is_asked = asked.wait_for(|asked| *asked).await;
}

/// Waits for `finished`, but not longer than `grace`; tells whether it came.
pub(crate) async fn within(grace: Duration, finished: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(grace, finished).await.is_ok()
}
