//! `StepPolicy`: how large the next segment is. Pure decisions; nothing here waits or stores. Its
//! text form is in `step/text.rs`.

mod text;

use std::time::Duration;

pub use text::ParseStepPolicyError;

/// How the length of a tag's next segment is decided.
///
/// Every policy starts with the tag's own step, and never goes below it. A crash loses what is
/// in memory, at most two segments: twice `step_max` ids.
///
/// # Example
///
/// ```
/// use leafid::{Options, StepPolicy};
///
/// let options = Options::default().with_policy(StepPolicy::leaf());
/// assert_eq!(options.policy, StepPolicy::Leaf { step_max: 1_000_000 });
/// assert_eq!(options.policy.name(), "leaf");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepPolicy {
    /// Always the tag's own step.
    Fixed,
    /// Leaf's rule: a segment that lasted less than 15 minutes doubles the step, one that lasted
    /// 30 minutes or more halves it. Source: `SegmentIDGenImpl` of Meituan-Dianping/Leaf.
    Leaf {
        /// The step is not doubled past this; Leaf's own value is 1,000,000.
        step_max: u64,
    },
    /// As many ids as last for `cover` at the measured rate. With two segments in memory, the store
    /// can be down for `cover` to twice `cover`.
    ///
    /// Memory: none (a segment is two numbers). Cost: ids lost in a crash, at most
    /// `2 * min(rate * cover, step_max)`.
    Cover {
        /// How long one segment should last.
        cover: Duration,
        /// The longest segment.
        step_max: u64,
    },
}

/// What is known of a tag when its next segment is sized.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct History {
    /// The length of the last segment.
    pub(crate) step: u64,
    /// How many segments were loaded before.
    pub(crate) loads: u64,
    /// The time since the last segment was loaded.
    pub(crate) elapsed: Duration,
    /// The measured rate, in ids per second.
    pub(crate) rate: f64,
    /// How many ids are left below the tag's limit.
    pub(crate) headroom: u64,
}

const LEAF_DOUBLE_BELOW: Duration = Duration::from_secs(15 * 60);
const LEAF_HALVE_FROM: Duration = Duration::from_secs(30 * 60);
/// A burst of milliseconds must not count as the rate of the next ten minutes.
const COVER_GROWTH_MAX: u64 = 8;
/// One segment takes at most this part of the remaining numbers.
const COVER_HEADROOM_PART: u64 = 256;

impl StepPolicy {
    /// Leaf's rule with Leaf's cap of 1,000,000.
    #[must_use]
    pub const fn leaf() -> Self {
        Self::Leaf {
            step_max: 1_000_000,
        }
    }

    /// The default: ten minutes of ids in a segment, at most 10,000,000.
    #[must_use]
    pub const fn cover() -> Self {
        Self::Cover {
            cover: Duration::from_secs(600),
            step_max: 10_000_000,
        }
    }

    /// The policy's name: `fixed`, `leaf` or `cover`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Leaf { .. } => "leaf",
            Self::Cover { .. } => "cover",
        }
    }

    /// The policy of that name with its default parameters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "fixed" => Some(Self::Fixed),
            "leaf" => Some(Self::leaf()),
            "cover" => Some(Self::cover()),
            _ => None,
        }
    }

    /// The length of the next segment, at least 1. `own_step` is the tag's step in the store.
    #[must_use]
    pub(crate) fn next_step(&self, own_step: u64, history: &History) -> u64 {
        match *self {
            Self::Fixed => own_step,
            Self::Leaf { step_max } => leaf_step(own_step, step_max, history),
            Self::Cover { cover, step_max } => cover_step(own_step, cover, step_max, history),
        }
        .max(1)
    }
}

impl Default for StepPolicy {
    fn default() -> Self {
        Self::cover()
    }
}

fn leaf_step(own_step: u64, step_max: u64, history: &History) -> u64 {
    // A segment cut short by the tag's limit is no measure once the limit is raised.
    let step = history.step.max(own_step);
    if history.loads < 2 {
        own_step
    } else if history.elapsed < LEAF_DOUBLE_BELOW {
        if step * 2 > step_max { step } else { step * 2 }
    } else if history.elapsed < LEAF_HALVE_FROM || step / 2 < own_step {
        step
    } else {
        step / 2
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and the rate is never negative"
)]
fn cover_step(own_step: u64, cover: Duration, step_max: u64, history: &History) -> u64 {
    if history.loads == 0 {
        return own_step;
    }
    let wanted = (history.rate * cover.as_secs_f64()).ceil() as u64;
    wanted
        .min(history.step.saturating_mul(COVER_GROWTH_MAX))
        .min(step_max)
        .min(history.headroom / COVER_HEADROOM_PART)
        .max(own_step)
}

/// How fast a tag is used, in ids per second: rises at once, falls slowly.
///
/// A rise counts at once, because too small a segment makes callers wait. A fall is averaged over a
/// time constant, because a pause of a minute does not mean that the rush is over.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rate(f64);

/// A rate over less time than this means nothing.
const RATE_WINDOW_MIN: Duration = Duration::from_millis(10);
/// The time constant of a fall.
const RATE_FALL: Duration = Duration::from_secs(300);

impl Rate {
    /// Records that `used` ids were taken in `elapsed`.
    #[must_use]
    pub(crate) fn observe(self, used: u64, elapsed: Duration) -> Self {
        let window = elapsed.max(RATE_WINDOW_MIN).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
        let seen = used as f64 / window;
        if seen >= self.0 {
            return Self(seen);
        }
        let keep = (-window / RATE_FALL.as_secs_f64()).exp();
        Self(seen + (self.0 - seen) * keep)
    }

    pub(crate) fn per_second(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(minutes * 60)
    }

    fn check_leaf(own_step: u64, step: u64, loads: u64, elapsed: Duration, expected: u64) {
        let history = History {
            step,
            loads,
            elapsed,
            headroom: u64::MAX,
            ..History::default()
        };
        assert_eq!(
            StepPolicy::leaf().next_step(own_step, &history),
            expected,
            "{history:?}"
        );
    }

    /// Guards the table of `SegmentIDGenImpl.updateSegmentFromDb`.
    #[test]
    fn leaf_doubles_keeps_and_halves() {
        check_leaf(2000, 0, 0, Duration::ZERO, 2000);
        check_leaf(2000, 2000, 1, Duration::ZERO, 2000);
        check_leaf(2000, 2000, 2, Duration::ZERO, 4000);
        check_leaf(
            2000,
            2000,
            2,
            minutes(15).saturating_sub(Duration::from_millis(1)),
            4000,
        );
        check_leaf(2000, 4000, 3, minutes(15), 4000);
        check_leaf(
            2000,
            4000,
            3,
            minutes(30).saturating_sub(Duration::from_millis(1)),
            4000,
        );
        check_leaf(2000, 4000, 3, minutes(30), 2000);
        check_leaf(2000, 3000, 3, minutes(30), 3000);
        check_leaf(2000, 2000, 3, minutes(90), 2000);
        check_leaf(2000, 1, 3, Duration::ZERO, 4000);
        check_leaf(2000, 500_000, 9, Duration::ZERO, 1_000_000);
        check_leaf(2000, 500_001, 9, Duration::ZERO, 500_001);
        check_leaf(2000, 1_000_000, 9, Duration::ZERO, 1_000_000);
    }

    fn check_cover(rate: f64, step: u64, headroom: u64, expected: u64) {
        let history = History {
            step,
            loads: 5,
            elapsed: minutes(10),
            rate,
            headroom,
        };
        assert_eq!(
            StepPolicy::cover().next_step(1000, &history),
            expected,
            "{history:?}"
        );
    }

    #[test]
    fn cover_follows_the_rate_within_its_bounds() {
        check_cover(0.1, 1000, u64::MAX, 1000);
        check_cover(10.0, 1000, u64::MAX, 6000);
        check_cover(10_000.0, 1000, u64::MAX, 8000);
        check_cover(10_000.0, 6_000_000, u64::MAX, 6_000_000);
        check_cover(1e12, 9_000_000, u64::MAX, 10_000_000);
        check_cover(10.0, 6_000_000, u64::MAX, 6000);
        check_cover(10_000.0, 6_000_000, 256_000, 1000);
        check_cover(f64::NAN, 1000, u64::MAX, 1000);
    }

    #[test]
    fn a_rate_rises_at_once_and_falls_slowly() {
        let rate = Rate::default().observe(1000, Duration::from_secs(1));
        assert!((rate.per_second() - 1000.0).abs() < 1e-9);
        let later = rate.observe(0, Duration::from_secs(60));
        assert!(
            later.per_second() > 800.0 && later.per_second() < 900.0,
            "{later:?}"
        );
        let much_later = rate.observe(0, Duration::from_secs(3600));
        assert!(much_later.per_second() < 1.0, "{much_later:?}");
        let burst = Rate::default().observe(10, Duration::ZERO);
        assert!((burst.per_second() - 1000.0).abs() < 1e-9);
    }
}
