//! `Timeline`: the time that ids carry. It follows the boot clock, which nobody can step, and is
//! compared with the wall clock from outside.
//!
//! - While the two agree within a second the timeline follows the wall clock: forward at once,
//!   back by slowing down, so that it never goes back.
//! - A wall clock that is further away has jumped, or was wrong before. The timeline goes on as
//!   it was, and the disagreement is told. Who is right is decided in `registry/`, by a second
//!   source.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use std::sync::Arc;

use crate::clock::Clock;

/// A wall clock further away than this is not followed.
pub(crate) const FOLLOW_MAX: Duration = Duration::from_secs(1);
/// The timeline goes back by going slower: by this part of the time that passes.
const SLOWER_BY: u64 = 10;
/// Two clocks cannot be read at once. If this much passes between them, they are read again.
const READ_MAX: Duration = Duration::from_millis(5);
const READS_MAX: usize = 5;

pub(crate) struct Timeline {
    clock: Arc<dyn Clock>,
    /// Nanoseconds since 1970 at the zero of the boot clock. Written by the driver only.
    zero_ns: AtomicU64,
    /// What `zero_ns` would be if the timeline had never followed a step back.
    course_ns: AtomicU64,
    /// When the wall clock was looked at last, in nanoseconds of the boot clock.
    looked_ns: AtomicU64,
    /// How far the wall clock was ahead of the timeline then, in milliseconds.
    offset_ms: AtomicI64,
}

/// How the wall clock stands to the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Agrees,
    /// The wall clock is this much ahead.
    Disagrees {
        offset_ms: i64,
    },
}

impl Timeline {
    /// A timeline that starts with what the wall clock shows.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let (now_ns, wall_ns) = read(&*clock);
        let zero_ns = wall_ns.saturating_sub(now_ns);
        Self {
            clock,
            zero_ns: AtomicU64::new(zero_ns),
            course_ns: AtomicU64::new(zero_ns),
            looked_ns: AtomicU64::new(now_ns),
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
        // Relaxed: a moment earlier or later makes no difference to whom an id belongs.
        self.zero_ns.load(Ordering::Relaxed) + nanos(self.clock.now())
    }

    /// How long until an instant, given in milliseconds since 1970-01-01T00:00:00Z; nothing when
    /// it is past.
    pub(crate) fn until(&self, unix_ms: u64) -> Duration {
        let at_ns = unix_ms.saturating_mul(NANOS_PER_MS);
        Duration::from_nanos(at_ns.saturating_sub(self.now_ns()))
    }

    /// What the wall clock shows, in the same unit.
    pub(crate) fn wall_ms(&self) -> u64 {
        nanos(self.clock.wall()) / NANOS_PER_MS
    }

    /// How far the wall clock was ahead when it was looked at last, in milliseconds.
    pub(crate) fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// Compares the clocks, and follows the wall clock as far as the rules above allow. With
    /// `goes_back` the timeline also follows a step back, of any size, at once; and forward again, up
    /// to where it would be without that step.
    pub(crate) fn look(&self, goes_back: bool) -> Look {
        let (now_ns, wall_ns) = read(&*self.clock);
        let looked_ns = self.looked_ns.swap(now_ns, Ordering::Relaxed);
        let zero_ns = self.zero_ns.load(Ordering::Relaxed);
        let ahead_ns = wall_ns
            .cast_signed()
            .saturating_sub((zero_ns + now_ns).cast_signed());
        self.offset_ms
            .store(ahead_ns / NANOS_PER_MS.cast_signed(), Ordering::Relaxed);
        let agrees = ahead_ns.unsigned_abs() <= nanos(FOLLOW_MAX);
        let course_ns = self.course_ns.load(Ordering::Relaxed);
        let returns = wall_ns <= course_ns.saturating_add(now_ns + nanos(FOLLOW_MAX));
        let change_ns = if goes_back && (ahead_ns < 0 || returns) {
            ahead_ns
        } else if !agrees {
            0
        } else {
            let slower_ns = now_ns.saturating_sub(looked_ns) / SLOWER_BY;
            ahead_ns.max(-slower_ns.cast_signed())
        };
        let changed = zero_ns.saturating_add_signed(change_ns);
        self.zero_ns.store(changed, Ordering::Relaxed);
        if !goes_back || changed > course_ns {
            self.course_ns.store(changed, Ordering::Relaxed);
        }
        if agrees {
            Look::Agrees
        } else {
            let offset_ms = ahead_ns / NANOS_PER_MS.cast_signed();
            Look::Disagrees { offset_ms }
        }
    }

    /// Takes over what the wall clock shows.
    pub(crate) fn accept_wall(&self) {
        let (now_ns, wall_ns) = read(&*self.clock);
        let zero_ns = wall_ns.saturating_sub(now_ns);
        self.zero_ns.store(zero_ns, Ordering::Relaxed);
        self.course_ns.store(zero_ns, Ordering::Relaxed);
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

/// The boot clock and the wall clock, as near to each other as can be.
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

    fn timeline() -> (ManualClock, Timeline) {
        let clock = ManualClock::new();
        let timeline = Timeline::new(Arc::new(clock.clone()));
        (clock, timeline)
    }

    fn step(clock: &ManualClock, seconds: i64) {
        let wall = i64::try_from(clock.wall().as_millis()).unwrap() + seconds * 1000;
        clock.set_wall(Duration::from_millis(wall.unsigned_abs()));
    }

    /// Guards that a jump of the wall clock, either way, reaches no id.
    #[test]
    fn jumps_are_told_and_not_followed() {
        for seconds in [-3600, -10, -2, 2, 3600] {
            let (clock, timeline) = timeline();
            let before = timeline.now_ms();
            clock.advance(Duration::from_secs(5));
            step(&clock, seconds);
            let offset_ms = seconds * 1000;
            assert_eq!(timeline.look(false), Look::Disagrees { offset_ms });
            assert_eq!(timeline.now_ms(), before + 5000);
            assert_eq!(timeline.offset_ms(), offset_ms);
            step(&clock, -seconds);
            assert_eq!(timeline.look(false), Look::Agrees);
        }
    }

    #[test]
    fn a_small_step_forward_is_followed_at_once() {
        let (clock, timeline) = timeline();
        step(&clock, 1);
        let before = timeline.now_ms();
        assert_eq!(timeline.look(false), Look::Agrees);
        assert_eq!(timeline.now_ms(), before + 1000);
    }

    #[test]
    fn a_small_step_back_makes_it_slower() {
        let (clock, timeline) = timeline();
        let start = timeline.now_ms();
        step(&clock, -1);
        let mut last = start;
        for second in 1..=10 {
            clock.advance(Duration::from_secs(1));
            assert_eq!(timeline.look(false), Look::Agrees);
            let now = timeline.now_ms();
            assert!(now >= last + 900, "after {second} s");
            last = now;
        }
        assert_eq!(last, start + 9000);
        assert_eq!(timeline.now_ms(), timeline.wall_ms());
    }

    #[test]
    fn a_policy_may_ask_to_go_back() {
        let (clock, timeline) = timeline();
        step(&clock, -3600);
        assert!(matches!(timeline.look(true), Look::Disagrees { .. }));
        assert_eq!(timeline.now_ms(), timeline.wall_ms());
        step(&clock, 7200);
        assert!(matches!(timeline.look(true), Look::Disagrees { .. }));
        assert_ne!(timeline.now_ms(), timeline.wall_ms(), "forward is not");
    }

    /// Guards that a clock which went back for a moment costs no more than that moment.
    #[test]
    fn a_step_back_that_was_followed_may_be_taken_back() {
        let (clock, timeline) = timeline();
        for _ in 0..3 {
            clock.advance(Duration::from_secs(5));
            step(&clock, -3600);
            assert!(matches!(timeline.look(true), Look::Disagrees { .. }));
            clock.advance(Duration::from_secs(5));
            step(&clock, 1800);
            assert!(matches!(timeline.look(true), Look::Disagrees { .. }));
            assert_eq!(timeline.now_ms(), timeline.wall_ms(), "half of the way");
            step(&clock, 1800);
            timeline.look(true);
            assert_eq!(timeline.now_ms(), timeline.wall_ms(), "all of it");
            assert_eq!(timeline.look(true), Look::Agrees);
        }
        step(&clock, 2);
        timeline.look(true);
        assert_ne!(
            timeline.now_ms(),
            timeline.wall_ms(),
            "a jump is none of it"
        );
    }

    #[test]
    fn a_suspended_machine_is_no_jump() {
        let (clock, timeline) = timeline();
        clock.advance(Duration::from_secs(86_400));
        assert_eq!(timeline.look(false), Look::Agrees);
        assert_eq!(timeline.now_ms(), timeline.wall_ms());
    }
}
