//! `LayoutSpec`: the definition of a layout; `TimeUnit` and `SequencePlace`.

use std::fmt;
use std::str::FromStr;

use super::Epoch;

/// The definition of a [`Layout`](crate::Layout): its widths in bits, its unit, its epoch.
///
/// # Example
///
/// Baidu's widths with an epoch of one's own, and seventeen years instead of eight:
///
/// ```
/// use leafid::{Epoch, Layout, LayoutSpec, SequencePlace, TimeUnit};
///
/// let layout = Layout::new(LayoutSpec {
///     time_bits: 29,
///     worker_bits: 21,
///     data_center_bits: 0,
///     sequence_bits: 13,
///     shard_bits: 0,
///     unit: TimeUnit::S1,
///     epoch: "2026-01-01T00:00:00+08:00".parse()?,
///     sequence_place: SequencePlace::Low,
/// })?;
/// assert_eq!(layout.to_string(), "time29x1s/worker21/sequence13@2025-12-31T16:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayoutSpec {
    /// Bits of the timestamp, which is on top.
    pub time_bits: u32,
    /// Bits of the worker id, those of the data centre included.
    pub worker_bits: u32,
    /// How many of the worker id's upper bits name the data centre; 0 for none.
    pub data_center_bits: u32,
    /// Bits of the sequence.
    pub sequence_bits: u32,
    /// Bits of the shard, which is at the bottom, at most 16; 0 for none.
    pub shard_bits: u32,
    /// How long a tick is.
    pub unit: TimeUnit,
    /// When tick 0 began.
    pub epoch: Epoch,
    /// Whether the sequence is below or above the worker id.
    pub sequence_place: SequencePlace,
}

/// How long a tick is: the unit of the timestamp.
///
/// # Example
///
/// ```
/// use leafid::TimeUnit;
///
/// assert_eq!("10ms".parse::<TimeUnit>()?.ms(), 10);
/// assert_eq!(TimeUnit::S1.to_string(), "1s");
/// # Ok::<(), leafid::ParseTimeUnitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// One millisecond.
    Ms1,
    /// Ten milliseconds.
    Ms10,
    /// One second.
    S1,
}

impl TimeUnit {
    const ALL: [Self; 3] = [Self::Ms1, Self::Ms10, Self::S1];

    /// Its length in milliseconds: 1, 10 or 1000.
    #[inline]
    #[must_use]
    pub const fn ms(self) -> u64 {
        match self {
            Self::Ms1 => 1,
            Self::Ms10 => 10,
            Self::S1 => 1_000,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ms1 => "1ms",
            Self::Ms10 => "10ms",
            Self::S1 => "1s",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is not a [`TimeUnit`].
///
/// # Example
///
/// ```
/// assert!("5ms".parse::<leafid::TimeUnit>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time unit is 1ms, 10ms or 1s")]
pub struct ParseTimeUnitError;

impl FromStr for TimeUnit {
    type Err = ParseTimeUnitError;

    fn from_str(text: &str) -> Result<Self, ParseTimeUnitError> {
        let mut units = Self::ALL.into_iter();
        units
            .find(|unit| unit.name() == text)
            .ok_or(ParseTimeUnitError)
    }
}

/// Where the sequence is. Both orders keep the ids of one worker ascending.
///
/// # Example
///
/// ```
/// use leafid::{Layout, SequencePlace};
///
/// assert_eq!(Layout::LEAF.sequence_place(), SequencePlace::Low);
/// assert_eq!(Layout::SONYFLAKE_V1.sequence_place(), SequencePlace::AboveWorker);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SequencePlace {
    /// At the bottom, below the worker id, as in Twitter's and Leaf's ids.
    Low,
    /// Above the worker id, which is at the bottom, as in Sonyflake's ids.
    AboveWorker,
}
