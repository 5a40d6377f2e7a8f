//! A step policy as text: its name, with its parameters behind where they are not the defaults.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::StepPolicy;

/// `fixed`; `leaf` or `leaf:STEP_MAX`; `cover` or `cover:DURATION:STEP_MAX`, with a duration in
/// `s`, `ms`, `us` or `ns`. What is printed reads back as the same policy.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::StepPolicy;
///
/// let policy: StepPolicy = "cover:300s:500000".parse()?;
/// let cover = Duration::from_secs(300);
/// assert_eq!(policy, StepPolicy::Cover { cover, step_max: 500_000 });
/// assert_eq!(policy.to_string(), "cover:300s:500000");
/// assert_eq!("leaf".parse(), Ok(StepPolicy::leaf()));
/// # Ok::<(), leafid::ParseStepPolicyError>(())
/// ```
impl FromStr for StepPolicy {
    type Err = ParseStepPolicyError;

    fn from_str(text: &str) -> Result<Self, ParseStepPolicyError> {
        let parts: Vec<&str> = text.splitn(4, ':').collect();
        let policy = match parts.as_slice() {
            [name] => Self::from_name(name),
            ["leaf", step_max] => number(step_max).map(|step_max| Self::Leaf { step_max }),
            ["cover", cover, step_max] => duration(cover)
                .zip(number(step_max))
                .map(|(cover, step_max)| Self::Cover { cover, step_max }),
            _ => None,
        };
        policy.ok_or(ParseStepPolicyError)
    }
}

impl fmt::Display for StepPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            _ if Self::from_name(self.name()) == Some(*self) => Ok(()),
            Self::Fixed => Ok(()),
            Self::Leaf { step_max } => write!(f, ":{step_max}"),
            Self::Cover { cover, step_max } => {
                let (unit, number) = in_largest_unit(cover);
                write!(f, ":{number}{unit}:{step_max}")
            }
        }
    }
}

/// A text that is no [`StepPolicy`].
///
/// # Example
///
/// ```
/// assert!("double".parse::<leafid::StepPolicy>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a step policy is fixed, leaf, cover, leaf:STEP_MAX or cover:DURATION:STEP_MAX, such as cover:600s:10000000"
)]
pub struct ParseStepPolicyError;

/// Units of a duration, in nanoseconds, the largest first.
const UNITS: [(&str, u128); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

fn in_largest_unit(duration: Duration) -> (&'static str, u128) {
    let nanos = duration.as_nanos();
    let whole = UNITS.iter().find(|(_, unit)| nanos.is_multiple_of(*unit));
    whole.map_or(("ns", nanos), |(name, unit)| (name, nanos / unit))
}

fn duration(text: &str) -> Option<Duration> {
    let (digits, name) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
    let nanos = digits.parse::<u128>().ok()?.checked_mul(*unit)?;
    let seconds = u64::try_from(nanos / UNITS[0].1).ok()?;
    let rest = u32::try_from(nanos % UNITS[0].1).ok()?;
    Some(Duration::new(seconds, rest))
}

/// Only digits: a sign is no part of it.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: StepPolicy, text: &str) {
        assert_eq!(policy.to_string(), text);
        assert_eq!(text.parse(), Ok(policy), "{text}");
    }

    /// Guards that what is printed reads back, whatever the parameters.
    #[test]
    fn policies_read_back() {
        check(StepPolicy::Fixed, "fixed");
        check(StepPolicy::leaf(), "leaf");
        check(StepPolicy::Leaf { step_max: 0 }, "leaf:0");
        check(StepPolicy::cover(), "cover");
        for (cover, shown) in [
            (Duration::ZERO, "0s"),
            (Duration::from_secs(600), "600s"),
            (Duration::from_millis(1500), "1500ms"),
            (Duration::from_nanos(1), "1ns"),
            (Duration::MAX, "18446744073709551615999999999ns"),
        ] {
            let policy = StepPolicy::Cover { cover, step_max: 7 };
            check(policy, &format!("cover:{shown}:7"));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "Leaf",
            "fixed:1",
            "leaf:",
            "leaf:-1",
            "leaf:+1",
            "leaf:1:2",
            "cover:600s",
            "cover:600:7",
            "cover:1h:7",
            "cover:600s:7:8",
            "cover:18446744073709551616s:7",
        ] {
            assert_eq!(
                text.parse::<StepPolicy>(),
                Err(ParseStepPolicyError),
                "{text}"
            );
        }
    }
}
