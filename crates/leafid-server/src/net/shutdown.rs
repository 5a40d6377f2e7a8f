//! Shutdown: the signals that start it, and how requests in flight are finished.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Is ready when the process receives SIGTERM or SIGINT (Ctrl-C).
///
/// # Errors
///
/// If the system does not let the process listen for signals.
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
    stage: watch::Sender<Stage>,
    alone: Option<Arc<Alone>>,
}

/// The phase of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    /// Running.
    Serving,
    /// New connections are still served; each is told with its next answer to reconnect elsewhere.
    Leaving,
    /// Connections finish their requests, and close.
    Ending,
}

/// Tells one connection to finish, while the others continue.
#[derive(Debug)]
pub(crate) struct Alone(watch::Sender<Stage>);

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self {
            stage: watch::Sender::new(Stage::Serving),
            alone: None,
        }
    }

    /// The same for one connection, which may be told before the others.
    pub(crate) fn for_one(&self) -> (Self, Arc<Alone>) {
        let alone = Arc::new(Alone(watch::Sender::new(Stage::Serving)));
        let shutdown = Self {
            stage: self.stage.clone(),
            alone: Some(Arc::clone(&alone)),
        };
        (shutdown, alone)
    }

    /// Lets connections tell their peers to reconnect elsewhere.
    pub(crate) fn leave(&self) {
        self.stage.send_replace(Stage::Leaving);
    }

    pub(crate) fn ask(&self) {
        self.stage.send_replace(Stage::Ending);
    }

    /// Is ready once connections must tell their peers to reconnect elsewhere.
    pub(crate) async fn leaving(&self) {
        reached(&self.stage, Stage::Leaving).await;
    }

    /// Is ready once connections must finish.
    pub(crate) async fn asked(&self) {
        let Some(alone) = &self.alone else {
            return reached(&self.stage, Stage::Ending).await;
        };
        // On the heap: connections that are not told individually need no memory for it.
        Box::pin(async {
            tokio::select! {
                () = reached(&self.stage, Stage::Ending) => {}
                () = reached(&alone.0, Stage::Ending) => {}
            }
        })
        .await;
    }
}

impl Alone {
    pub(crate) fn ask(&self) {
        self.0.send_replace(Stage::Ending);
    }
}

async fn reached(sender: &watch::Sender<Stage>, stage: Stage) {
    let mut now = sender.subscribe();
    // The sender is alive: it is borrowed.
    let _is_reached = now.wait_for(|now| *now >= stage).await;
}

/// Waits for `finished`, but at most for `grace`; returns whether it completed.
pub(crate) async fn within(grace: Duration, finished: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(grace, finished).await.is_ok()
}
