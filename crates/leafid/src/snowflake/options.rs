//! `SnowflakeOptions`: the settings of snowflake ids, with their trade-offs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::layout::Layout;
use crate::setters::setters;

/// The settings of snowflake ids, with their trade-offs.
///
/// # Example
///
/// ```
/// use leafid::{ClockPolicy, Layout, SnowflakeOptions};
///
/// let options = SnowflakeOptions::default().with_layout(Layout::WIDE);
/// assert_eq!(options.policy, ClockPolicy::Borrow);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnowflakeOptions {
    /// How an id divides its bits. Default: [`Layout::LEAF`].
    pub layout: Layout,
    /// The shard of ids whose caller names none; a layout without shards has shard 0 only. Default:
    /// 0.
    pub shard: u32,
    /// What happens when the clock is behind. Default: borrow.
    pub policy: ClockPolicy,
    /// How far ids may run ahead of the clock under the policy borrow. More allows longer bursts at
    /// once (4.1 million ids per second in Leaf's layout); less keeps the time in an id closer to
    /// the real time. Default: 1 s.
    pub ahead_max: Duration,
    /// How long `next` waits for a worker id, or for the clock. Default: 1 s.
    pub wait_max: Duration,
}

impl Default for SnowflakeOptions {
    fn default() -> Self {
        Self {
            layout: Layout::LEAF,
            shard: 0,
            policy: ClockPolicy::Borrow,
            ahead_max: Duration::from_secs(1),
            wait_max: Duration::from_secs(1),
        }
    }
}

impl SnowflakeOptions {
    setters! {
        layout: Layout => with_layout,
        shard: u32 => with_shard,
        policy: ClockPolicy => with_policy,
        ahead_max: Duration => with_ahead_max,
        wait_max: Duration => with_wait_max,
    }
}

/// What happens when the clock is behind the last id, or a tick has no ids left.
///
/// # Example
///
/// ```
/// use leafid::ClockPolicy;
///
/// assert_eq!("borrow".parse(), Ok(ClockPolicy::Borrow));
/// assert_eq!(ClockPolicy::Wait.to_string(), "wait");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockPolicy {
    /// Continue: the time in ids stands still, or runs ahead, until the clock has caught up. No
    /// call is refused because of a step of the clock, of whatever size.
    #[default]
    Borrow,
    /// As Leaf: up to 5 ms behind, wait; further behind, refuse. If a tick is exhausted, wait for
    /// the next. The wait ends when the clock has caught up; Leaf's is twice as long.
    Wait,
    /// Refuse at once.
    Refuse,
}

impl fmt::Display for ClockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Borrow => "borrow",
            Self::Wait => "wait",
            Self::Refuse => "refuse",
        })
    }
}

/// Why a text is not a [`ClockPolicy`].
///
/// # Example
///
/// ```
/// assert!("hope".parse::<leafid::ClockPolicy>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a clock policy is borrow, wait or refuse")]
pub struct ParseClockPolicyError;

impl FromStr for ClockPolicy {
    type Err = ParseClockPolicyError;

    fn from_str(text: &str) -> Result<Self, ParseClockPolicyError> {
        match text {
            "borrow" => Ok(Self::Borrow),
            "wait" => Ok(Self::Wait),
            "refuse" => Ok(Self::Refuse),
            _ => Err(ParseClockPolicyError),
        }
    }
}
