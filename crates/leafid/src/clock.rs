//! `Clock`: elapsed time, the time of day, and waiting. The only file that reads the machine's
//! clocks.
//!
//! Everything that depends on time takes a clock, so that tests and the simulation decide how
//! time passes.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

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
    /// The time since this clock's own zero. It never goes back, it is the same on every thread,
    /// and it counts the time for which the machine was suspended.
    fn now(&self) -> Duration;

    /// The machine's time of day, since 1970-01-01T00:00:00Z. It may jump either way at any moment,
    /// so no id uses it directly.
    fn wall(&self) -> Duration;

    /// Is ready once `duration` has passed. Needs no particular async runtime.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The machine's clocks. All sleeps share one timer thread, started on first use.
///
/// On Linux and Android [`now`](Clock::now) is `CLOCK_BOOTTIME`, which continues while the machine
/// is suspended; elsewhere it is [`std::time::Instant`], which may not.
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
/// assert!(clock.now().saturating_sub(before) >= Duration::from_millis(2));
/// assert!(clock.wall() > Duration::from_secs(1_700_000_000));
/// ```
#[derive(Debug, Clone)]
pub struct SystemClock {
    zero: machine::Instant,
}

impl SystemClock {
    /// A clock whose zero is now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            zero: machine::now(),
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
    #[inline]
    fn now(&self) -> Duration {
        machine::since(self.zero)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the clock"
    )]
    fn wall(&self) -> Duration {
        // A clock set before 1970 reads as 1970: it is wrong by decades either way.
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(futures_timer::Delay::new(duration.min(SLEEP_MAX)))
    }
}

/// The clock that counts suspended time.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod machine {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    pub(super) type Instant = Duration;

    #[inline]
    pub(super) fn now() -> Instant {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    #[inline]
    pub(super) fn since(zero: Instant) -> Duration {
        now().saturating_sub(zero)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod machine {
    use std::time::Duration;

    pub(super) type Instant = std::time::Instant;

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the clock"
    )]
    pub(super) fn now() -> Instant {
        Instant::now()
    }

    pub(super) fn since(zero: Instant) -> Duration {
        zero.elapsed()
    }
}

/// A clock that only moves by [`advance`](Self::advance): for tests and simulations.
///
/// Clones share one time. Its wall clock starts at 2026-06-01T00:00:00Z, advances with it, and can
/// be set to anything.
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
///
/// let before = clock.wall();
/// clock.set_wall(before - Duration::from_secs(3600)); // an hour back
/// clock.advance(Duration::from_secs(1));
/// assert_eq!(clock.wall(), before - Duration::from_secs(3599));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    shared: Arc<Mutex<ManualTime>>,
}

#[derive(Debug)]
struct ManualTime {
    now: Duration,
    wall: Duration,
    /// The sleepers by wake-up time; the second number distinguishes sleepers of one instant.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    next_sleeper: u64,
}

/// 2026-06-01T00:00:00Z.
const MANUAL_WALL: Duration = Duration::from_secs(1_780_272_000);

impl Default for ManualTime {
    fn default() -> Self {
        Self {
            now: Duration::ZERO,
            wall: MANUAL_WALL,
            sleepers: BTreeMap::new(),
            next_sleeper: 0,
        }
    }
}

impl ManualClock {
    /// A clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward and wakes the sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        let mut time = self.lock();
        time.now += by;
        time.wall += by;
        let later = (time.now + Duration::from_nanos(1), 0);
        let still_asleep = time.sleepers.split_off(&later);
        let awake = std::mem::replace(&mut time.sleepers, still_asleep);
        drop(time);
        awake.into_values().for_each(Waker::wake);
    }

    /// Sets the wall clock, which continues from there.
    pub fn set_wall(&self, wall: Duration) {
        self.lock().wall = wall;
    }

    /// When the next sleeper wakes, if there is one.
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

    fn wall(&self) -> Duration {
        self.lock().wall
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
