//! `Clock`: how long something took, and waiting. The only file that reads the machine's clock.
//!
//! Everything that depends on time takes a clock, so that tests and the simulation decide how
//! time passes.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::store::BoxFuture;

/// Time that only goes forward, and waiting for it.
///
/// # Example
///
/// ```
/// use leafid::{Clock, SystemClock};
///
/// let clock = SystemClock::new();
/// let before = clock.now();
/// assert!(clock.now() >= before);
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The time since this clock's own zero. It never goes back, and it is the same on every
    /// thread.
    fn now(&self) -> Duration;

    /// Is ready once `duration` has passed. Needs no particular async runtime.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The machine's monotonic clock. All its sleeps share one timer thread, started on first use.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::{Clock, SystemClock};
///
/// let clock = SystemClock::new();
/// let before = clock.now();
/// leafid::blocking::block_on(clock.sleep(Duration::from_millis(2)));
/// assert!(clock.now() - before >= Duration::from_millis(2));
/// ```
#[derive(Debug, Clone)]
pub struct SystemClock {
    zero: Instant,
}

impl SystemClock {
    /// A clock whose zero is now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the clock"
    )]
    pub fn new() -> Self {
        Self {
            zero: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

/// A century: the machine's clock cannot name an instant too far away.
const SLEEP_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.zero.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(futures_timer::Delay::new(duration.min(SLEEP_MAX)))
    }
}

/// A clock that stands still until it is told to move: for tests and simulations.
///
/// Clones share one time.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::{Clock, ManualClock};
///
/// let clock = ManualClock::new();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now(), Duration::from_secs(60));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    shared: Arc<Mutex<ManualTime>>,
}

#[derive(Debug, Default)]
struct ManualTime {
    now: Duration,
    /// Who sleeps until when; the second number tells sleepers of one instant apart.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    next_sleeper: u64,
}

impl ManualClock {
    /// A clock that shows zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward and wakes those whose time has come.
    pub fn advance(&self, by: Duration) {
        let mut time = self.lock();
        time.now += by;
        let later = (time.now + Duration::from_nanos(1), 0);
        let still_asleep = time.sleepers.split_off(&later);
        let awake = std::mem::replace(&mut time.sleepers, still_asleep);
        drop(time);
        awake.into_values().for_each(Waker::wake);
    }

    /// When the next sleeper wants to wake, if anybody sleeps.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        self.lock().sleepers.keys().next().map(|(at, _)| *at)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ManualTime> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        self.lock().now
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut time = self.lock();
        time.next_sleeper += 1;
        let key = (time.now.saturating_add(duration), time.next_sleeper);
        drop(time);
        Box::pin(ManualSleep {
            clock: self.clone(),
            key,
        })
    }
}

struct ManualSleep {
    clock: ManualClock,
    key: (Duration, u64),
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut time = self.clock.lock();
        if time.now >= self.key.0 {
            return Poll::Ready(());
        }
        time.sleepers.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        self.clock.lock().sleepers.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_sleep_ends_exactly_at_its_time() {
        let clock = ManualClock::new();
        let mut sleep = clock.sleep(Duration::from_secs(2));
        let mut context = Context::from_waker(Waker::noop());
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        assert_eq!(clock.next_wake(), Some(Duration::from_secs(2)));
        clock.advance(Duration::from_nanos(1_999_999_999));
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        clock.advance(Duration::from_nanos(1));
        assert!(sleep.as_mut().poll(&mut context).is_ready());
    }

    #[test]
    fn a_dropped_sleep_leaves_nothing_behind() {
        let clock = ManualClock::new();
        let mut sleep = clock.sleep(Duration::from_secs(2));
        assert!(
            sleep
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        drop(sleep);
        assert_eq!(clock.next_wake(), None);
    }
}
