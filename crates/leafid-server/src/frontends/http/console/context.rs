//! `Console`: what the console needs besides the service.

use std::sync::Arc;

use leafid::Clock;
use tokio::sync::Semaphore;

use super::sessions::Sessions;
use crate::ops::monitor::Monitor;
use crate::worker_ids::Peers;

/// Pages that may watch at once.
const WATCHERS_MAX: usize = 64;
/// Calls at once that look at all tags, or ask all servers; more of them queue. Each takes a thread,
/// or a connection for each server.
const WIDE_CALLS_MAX: usize = 1;

/// What the console needs besides the service.
pub(crate) struct Console {
    pub(in crate::frontends::http) sessions: Sessions,
    pub(in crate::frontends::http) monitor: Arc<Monitor>,
    pub(in crate::frontends::http) peers: Peers,
    pub(super) watchers: Arc<Semaphore>,
    /// For calls that look at all tags.
    pub(super) rankings: Semaphore,
    /// For calls that ask all servers.
    pub(super) rounds: Semaphore,
}

impl Console {
    pub(crate) fn new(monitor: Arc<Monitor>, peers: Peers, clock: Arc<dyn Clock>) -> Self {
        Self {
            sessions: Sessions::new(clock),
            monitor,
            peers,
            watchers: Arc::new(Semaphore::new(WATCHERS_MAX)),
            rankings: Semaphore::new(WIDE_CALLS_MAX),
            rounds: Semaphore::new(WIDE_CALLS_MAX),
        }
    }

    /// Of a server without connections and front ends.
    #[cfg(test)]
    pub(in crate::frontends::http) fn for_tests() -> Self {
        use crate::ops::metrics::Counters;
        use crate::ops::monitor::About;

        let config = crate::config::Config::default();
        let about = About::new("test".to_owned(), config.addresses(), &config);
        let clock: Arc<dyn Clock> = Arc::new(leafid::SystemClock::new());
        let counters = Arc::new(Counters::for_tests());
        let monitor = Monitor::new(about, Arc::default(), counters, Arc::clone(&clock));
        Self::new(Arc::new(monitor), Peers::default(), clock)
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}
