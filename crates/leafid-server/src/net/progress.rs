//! `Progress`: whether the threads that serve connections take turns, for a watchdog.

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;

/// Whether every thread that serves connections makes progress.
///
/// # Example
///
/// See [`Server::progress`](crate::Server::progress).
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Set once the server has begun.
    threads: Arc<OnceLock<Vec<Handle>>>,
}

impl Progress {
    pub(crate) fn watch(&self, threads: Vec<Handle>) {
        // A server begins once.
        let _is_first = self.threads.set(threads);
    }

    /// Completes once every thread has taken a turn, and so never while one of them hangs. Before
    /// the server has begun, and once it has ended, there is none to wait for.
    ///
    /// # Example
    ///
    /// See [`Server::progress`](crate::Server::progress).
    pub async fn of_all_threads(&self) {
        for thread in self.threads.get().into_iter().flatten() {
            // An error says that the thread has ended, which is no hanging.
            let _turn = thread.spawn(async {}).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::net::runtimes::CoreRuntimes;

    /// Guards that one thread that hangs is noticed, and that one that has ended is not waited for.
    #[tokio::test]
    async fn a_thread_that_hangs_is_waited_for() {
        let progress = Progress::default();
        progress.of_all_threads().await;
        let runtimes = CoreRuntimes::start(3).unwrap();
        progress.watch(runtimes.handles());
        progress.of_all_threads().await;
        let (let_go, held) = mpsc::channel::<()>();
        let hanging = runtimes.handles()[2].spawn(async move { held.recv() });
        let soon = Duration::from_millis(50);
        let waiting = tokio::time::timeout(soon, progress.of_all_threads());
        assert!(waiting.await.is_err(), "the third thread hangs");
        drop(let_go);
        assert!(hanging.await.unwrap().is_err());
        progress.of_all_threads().await;
        drop(runtimes);
        progress.of_all_threads().await;
    }
}
