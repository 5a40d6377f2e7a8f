//! `Timeline`: the time in ids. It follows the boot clock, which cannot be set, and is compared
//! with the wall clock from outside.
//!
//! - While the two agree within a second the timeline follows the wall clock (`following.rs`).
//! - A wall clock that is further away has jumped, or was wrong before. The timeline continues as
//!   before, and the disagreement is reported; a policy that refuses ids may follow a step back.
//!   `registry/` decides which clock is right, by a second source.

mod following;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;
use crate::snowflake::ClockPolicy;
use following::{Following, Reading};

/// A wall clock further away than this is not followed.
pub(crate) const FOLLOW_MAX: Duration = Duration::from_secs(1);
/// Two clocks cannot be read at once. If this much passes between them, they are read again.
const READ_MAX: Duration = Duration::from_millis(5);
const READS_MAX: usize = 5;

pub(crate) struct Timeline {
    clock: Arc<dyn Clock>,
    /// Nanoseconds since 1970 at the zero of the boot clock. Written by the driver only.
    zero_ns: AtomicU64,
    following: Following,
    /// When the clocks were compared last, in nanoseconds of the boot clock.
    compared_ns: AtomicU64,
    /// How far the wall clock was ahead of the timeline then, in milliseconds.
    offset_ms: AtomicI64,
}

/// The wall clock compared with the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Agrees,
    /// The wall clock is this much ahead.
    Disagrees {
        offset_ms: i64,
    },
}

impl Timeline {
    /// A timeline that starts with what the wall clock shows.
    pub(crate) fn new(clock: Arc<dyn Clock>, policy: ClockPolicy) -> Self {
        let (now_ns, wall_ns) = read(&*clock);
        let zero_ns = wall_ns.saturating_sub(now_ns);
        Self {
            clock,
            zero_ns: AtomicU64::new(zero_ns),
            following: Following::of(policy, zero_ns),
            compared_ns: AtomicU64::new(now_ns),
            offset_ms: AtomicI64::new(0),
        }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ns() / NANOS_PER_MS
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        // Relaxed: a moment earlier or later makes no difference to the ownership of an id.
        self.zero_ns.load(Ordering::Relaxed) + nanos(self.clock.now())
    }

    /// How long until an instant, given in milliseconds since 1970-01-01T00:00:00Z; nothing when
    /// it is past.
    pub(crate) fn until(&self, unix_ms: u64) -> Duration {
        let at_ns = unix_ms.saturating_mul(NANOS_PER_MS);
        Duration::from_nanos(at_ns.saturating_sub(self.now_ns()))
    }

    /// The wall clock, in the same unit.
    pub(crate) fn wall_ms(&self) -> u64 {
        nanos(self.clock.wall()) / NANOS_PER_MS
    }

    /// How far the wall clock was ahead at the last comparison, in milliseconds.
    pub(crate) fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// Compares the clocks, and follows the wall clock as far as the policy allows.
    pub(crate) fn compare(&self) -> Comparison {
        let (now_ns, wall_ns) = read(&*self.clock);
        let reading = Reading {
            now_ns,
            wall_ns,
            elapsed_ns: now_ns.saturating_sub(self.compared_ns.swap(now_ns, Ordering::Relaxed)),
        };
        let zero_ns = self.zero_ns.load(Ordering::Relaxed);
        let offset_ms = reading.ahead_ns(zero_ns) / NANOS_PER_MS.cast_signed();
        self.offset_ms.store(offset_ms, Ordering::Relaxed);
        let followed_ns = self.following.follow(zero_ns, &reading);
        self.zero_ns.store(followed_ns, Ordering::Relaxed);
        if reading.agrees(zero_ns) {
            Comparison::Agrees
        } else {
            Comparison::Disagrees { offset_ms }
        }
    }

    /// Adopts the wall clock.
    pub(crate) fn accept_wall(&self) {
        let (now_ns, wall_ns) = read(&*self.clock);
        let zero_ns = wall_ns.saturating_sub(now_ns);
        self.zero_ns.store(zero_ns, Ordering::Relaxed);
        self.following.restart(zero_ns);
        self.offset_ms.store(0, Ordering::Relaxed);
    }
}

const NANOS_PER_MS: u64 = 1_000_000;

#[inline]
fn nanos(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(time.subsec_nanos()))
}

/// The boot clock and the wall clock, read as close together as possible.
fn read(clock: &dyn Clock) -> (u64, u64) {
    let mut before = clock.now();
    let mut wall = clock.wall();
    for _ in 1..READS_MAX {
        let after = clock.now();
        if after.saturating_sub(before) <= READ_MAX {
            break;
        }
        before = after;
        wall = clock.wall();
    }
    (nanos(before), nanos(wall))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn timeline(policy: ClockPolicy) -> (ManualClock, Timeline) {
        let clock = ManualClock::new();
        let timeline = Timeline::new(Arc::new(clock.clone()), policy);
        (clock, timeline)
    }

    fn step(clock: &ManualClock, seconds: i64) {
        let wall = i64::try_from(clock.wall().as_millis()).unwrap() + seconds * 1000;
        clock.set_wall(Duration::from_millis(wall.unsigned_abs()));
    }

    /// Guards that a jump of the wall clock, either way, does not affect ids.
    #[test]
    fn jumps_are_reported_and_not_followed() {
        for seconds in [-3600, -10, -2, 2, 3600] {
            let (clock, timeline) = timeline(ClockPolicy::Borrow);
            let before = timeline.now_ms();
            clock.advance(Duration::from_secs(5));
            step(&clock, seconds);
            let offset_ms = seconds * 1000;
            assert_eq!(timeline.compare(), Comparison::Disagrees { offset_ms });
            assert_eq!(timeline.now_ms(), before + 5000);
            assert_eq!(timeline.offset_ms(), offset_ms);
            step(&clock, -seconds);
            assert_eq!(timeline.compare(), Comparison::Agrees);
        }
    }

    #[test]
    fn a_small_step_forward_is_followed_at_once() {
        let (clock, timeline) = timeline(ClockPolicy::Borrow);
        step(&clock, 1);
        let before = timeline.now_ms();
        assert_eq!(timeline.compare(), Comparison::Agrees);
        assert_eq!(timeline.now_ms(), before + 1000);
    }

    #[test]
    fn a_small_step_back_makes_it_slower() {
        let (clock, timeline) = timeline(ClockPolicy::Borrow);
        let start = timeline.now_ms();
        step(&clock, -1);
        let mut last = start;
        for second in 1..=10 {
            clock.advance(Duration::from_secs(1));
            assert_eq!(timeline.compare(), Comparison::Agrees);
            let now = timeline.now_ms();
            assert!(now >= last + 900, "after {second} s");
            last = now;
        }
        assert_eq!(last, start + 9000);
        assert_eq!(timeline.now_ms(), timeline.wall_ms());
    }

    #[test]
    fn a_policy_may_ask_to_go_back() {
        let (clock, timeline) = timeline(ClockPolicy::Wait);
        step(&clock, -3600);
        assert!(matches!(timeline.compare(), Comparison::Disagrees { .. }));
        assert_eq!(timeline.now_ms(), timeline.wall_ms());
        step(&clock, 7200);
        assert!(matches!(timeline.compare(), Comparison::Disagrees { .. }));
        assert_ne!(timeline.now_ms(), timeline.wall_ms(), "forward is not");
    }

    /// Guards that a clock which went back for a moment costs no more than that moment.
    #[test]
    fn a_step_back_that_was_followed_may_be_taken_back() {
        let (clock, timeline) = timeline(ClockPolicy::Wait);
        for _ in 0..3 {
            clock.advance(Duration::from_secs(5));
            step(&clock, -3600);
            assert!(matches!(timeline.compare(), Comparison::Disagrees { .. }));
            clock.advance(Duration::from_secs(5));
            step(&clock, 1800);
            assert!(matches!(timeline.compare(), Comparison::Disagrees { .. }));
            assert_eq!(timeline.now_ms(), timeline.wall_ms(), "half of the way");
            step(&clock, 1800);
            timeline.compare();
            assert_eq!(timeline.now_ms(), timeline.wall_ms(), "all of it");
            assert_eq!(timeline.compare(), Comparison::Agrees);
        }
        step(&clock, 2);
        timeline.compare();
        assert_ne!(
            timeline.now_ms(),
            timeline.wall_ms(),
            "a jump is none of it"
        );
    }

    #[test]
    fn a_suspended_machine_is_no_jump() {
        let (clock, timeline) = timeline(ClockPolicy::Borrow);
        clock.advance(Duration::from_secs(86_400));
        assert_eq!(timeline.compare(), Comparison::Agrees);
        assert_eq!(timeline.now_ms(), timeline.wall_ms());
    }
}
