//! `ServerClock`: a boot clock that is never set, and the wall clock of a machine: wrong from the
//! start, stepped, drifting.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::store::BoxFuture;
use leafid::{Clock, ManualClock};

use crate::executor::lock;

/// How wrong a machine's wall clock is. It outlives the processes on the machine.
#[derive(Debug, Default)]
pub(crate) struct Wall {
    error: Mutex<WallError>,
}

#[derive(Debug, Clone, Copy, Default)]
struct WallError {
    /// How far the clock was ahead when it was set.
    offset_ms: i64,
    /// How much faster than true time it runs, in parts of a million.
    drift_ppm: i64,
    set_at: Duration,
}

impl WallError {
    fn ahead_ms(self, now: Duration) -> i64 {
        let since = now.saturating_sub(self.set_at);
        let since_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        self.offset_ms + since_ms.saturating_mul(self.drift_ppm) / 1_000_000
    }
}

impl Wall {
    /// Sets the clock this far ahead of true time, and how fast it runs from now on.
    pub(crate) fn set(&self, now: Duration, offset_ms: i64, drift_ppm: i64) {
        *lock(&self.error) = WallError {
            offset_ms,
            drift_ppm,
            set_at: now,
        };
    }

    /// How far it is ahead of true time.
    pub(crate) fn ahead_ms(&self, now: Duration) -> i64 {
        lock(&self.error).ahead_ms(now)
    }
}

/// The clocks as one process reads them.
#[derive(Clone)]
pub(crate) struct ServerClock {
    truth: ManualClock,
    started: Duration,
    wall: Arc<Wall>,
}

impl ServerClock {
    pub(crate) fn new(truth: ManualClock, wall: Arc<Wall>) -> Self {
        let started = truth.now();
        Self {
            truth,
            started,
            wall,
        }
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Duration {
        self.truth.now().saturating_sub(self.started)
    }

    fn wall(&self) -> Duration {
        let ahead_ms = self.wall.ahead_ms(self.truth.now());
        let error = Duration::from_millis(ahead_ms.unsigned_abs());
        if ahead_ms < 0 {
            self.truth.wall().saturating_sub(error)
        } else {
            self.truth.wall() + error
        }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.truth.sleep(duration)
    }
}
