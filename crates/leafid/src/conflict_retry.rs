//! `ConflictRetry`: retries store calls that lost against other transactions (conflict, deadlock),
//! almost at once. They changed nothing, and the store is well; only the driver and the registry
//! retry, since stores do not.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backoff::backoff;
use crate::clock::Clock;
use crate::event::{Event, Observer};
use crate::store::StoreError;

/// The maximum number of tries.
const CONFLICT_TRIES_MAX: u32 = 10;
/// Back-off: each pause is random, up to this, which doubles with each conflict, and up to the
/// longest.
const CONFLICT_PAUSE: Duration = Duration::from_millis(4);
const CONFLICT_PAUSE_MAX: Duration = Duration::from_millis(100);

/// Retries calls that lost against other transactions.
pub(crate) struct ConflictRetry {
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    /// After this long a call is not retried: some lock is held for long.
    call_max: Duration,
    random: Mutex<fastrand::Rng>,
}

impl ConflictRetry {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        call_max: Duration,
        seed: u64,
    ) -> Self {
        Self {
            clock,
            observer,
            call_max,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    /// Makes a call, and retries it while it conflicts.
    pub(crate) async fn run<T, F>(&self, call: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let began = self.clock.now();
        let mut conflicts = 0;
        loop {
            let error = match call().await {
                Err(error @ StoreError::Conflict { .. }) => error,
                answer => return answer,
            };
            conflicts += 1;
            self.observer.event(&Event::Conflict { error: &error });
            let took = self.clock.now().saturating_sub(began);
            if conflicts == CONFLICT_TRIES_MAX || took >= self.call_max {
                return Err(error);
            }
            self.clock.sleep(self.pause(conflicts)).await;
        }
    }

    /// The pause after this many conflicts in a row, random so that the rivals separate.
    fn pause(&self, conflicts: u32) -> Duration {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let (min, max) = (CONFLICT_PAUSE, CONFLICT_PAUSE_MAX);
        backoff(min, max, conflicts, 1.0, random.f64())
    }
}
