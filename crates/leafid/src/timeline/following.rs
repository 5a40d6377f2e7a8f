//! How the timeline follows the wall clock (clock skew): two policies. Each computes the zero of
//! the timeline from one reading of the clocks; nothing else moves it, except for an accepted wall
//! clock.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{FOLLOW_MAX, nanos};
use crate::snowflake::ClockPolicy;

/// The timeline goes back by slowing down: by this part of the elapsed time.
const SLOWER_BY: u64 = 10;

/// The boot clock and the wall clock, read together; all in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// The boot clock.
    pub(super) now_ns: u64,
    /// The wall clock, since 1970.
    pub(super) wall_ns: u64,
    /// The time since the previous reading.
    pub(super) elapsed_ns: u64,
}

impl Reading {
    /// How far the wall clock is ahead of a timeline with this zero.
    pub(super) fn ahead_ns(&self, zero_ns: u64) -> i64 {
        let timeline_ns = zero_ns + self.now_ns;
        self.wall_ns
            .cast_signed()
            .saturating_sub(timeline_ns.cast_signed())
    }

    /// Whether the wall clock is close enough to a timeline with this zero to be followed.
    pub(super) fn agrees(&self, zero_ns: u64) -> bool {
        self.ahead_ns(zero_ns).unsigned_abs() <= nanos(FOLLOW_MAX)
    }
}

/// The policy of a timeline.
pub(super) enum Following {
    Slew(Slew),
    StepBack(StepBack),
}

impl Following {
    /// The policy for ids: those that borrow need a time that never goes back.
    pub(super) fn of(policy: ClockPolicy, zero_ns: u64) -> Self {
        match policy {
            ClockPolicy::Borrow => Self::Slew(Slew),
            ClockPolicy::Wait | ClockPolicy::Refuse => Self::StepBack(StepBack::new(zero_ns)),
        }
    }

    /// The zero of the timeline after a reading.
    pub(super) fn follow(&self, zero_ns: u64, reading: &Reading) -> u64 {
        match self {
            Self::Slew(policy) => policy.follow(zero_ns, reading),
            Self::StepBack(policy) => policy.follow(zero_ns, reading),
        }
    }

    /// The wall clock was accepted, and gives the timeline this zero.
    pub(super) fn restart(&self, zero_ns: u64) {
        if let Self::StepBack(policy) = self {
            policy.course_ns.store(zero_ns, Ordering::Relaxed);
        }
    }
}

/// Follows a wall clock that agrees: forward at once, back by slowing down, so that time never goes
/// back. One that disagrees is not followed.
pub(super) struct Slew;

impl Slew {
    fn follow(&self, zero_ns: u64, reading: &Reading) -> u64 {
        if !reading.agrees(zero_ns) {
            return zero_ns;
        }
        let slower_ns = reading.elapsed_ns / SLOWER_BY;
        let change_ns = reading.ahead_ns(zero_ns).max(-slower_ns.cast_signed());
        zero_ns.saturating_add_signed(change_ns)
    }
}

/// Follows a step back at once, of any size; and forward again, up to where the timeline would be
/// without that step. Otherwise as [`Slew`].
pub(super) struct StepBack {
    /// The zero if no step back had been followed. Written by the driver only.
    course_ns: AtomicU64,
}

impl StepBack {
    const fn new(zero_ns: u64) -> Self {
        Self {
            course_ns: AtomicU64::new(zero_ns),
        }
    }

    fn follow(&self, zero_ns: u64, reading: &Reading) -> u64 {
        let course_ns = self.course_ns.load(Ordering::Relaxed);
        let ahead_ns = reading.ahead_ns(zero_ns);
        let is_back = ahead_ns < 0;
        let course_end_ns = course_ns.saturating_add(reading.now_ns + nanos(FOLLOW_MAX));
        let followed_ns = if is_back || reading.wall_ns <= course_end_ns {
            zero_ns.saturating_add_signed(ahead_ns)
        } else {
            Slew.follow(zero_ns, reading)
        };
        if followed_ns > course_ns {
            self.course_ns.store(followed_ns, Ordering::Relaxed);
        }
        followed_ns
    }
}
