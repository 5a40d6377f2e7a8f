//! `Limit`: the largest id a tag may ever issue. Numbers end, and must never wrap.

use std::fmt;
use std::str::FromStr;

/// The largest id that a tag may issue; past it the tag refuses for good.
///
/// Three limits have names: `int32` (2^31 - 1, a signed 32-bit column), `js53` (2^53 - 1, a
/// JavaScript number) and `int64` (2^63 - 2; one below the largest signed 64-bit number, because
/// a store also has to hold the number after the last). Any whole number from 1 to that is a
/// limit too.
///
/// # Example
///
/// ```
/// use leafid::Limit;
///
/// assert_eq!("js53".parse::<Limit>()?.largest(), 9_007_199_254_740_991);
/// assert_eq!("99999999".parse::<Limit>()?.to_string(), "99999999");
/// assert_eq!(Limit::default(), Limit::INT64);
/// # Ok::<(), leafid::ParseLimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Limit(u64);

impl Limit {
    /// 2^31 - 1.
    pub const INT32: Self = Self(i32::MAX as u64);
    /// 2^53 - 1, the largest whole number that JavaScript holds exactly.
    pub const JS53: Self = Self((1 << 53) - 1);
    /// 2^63 - 2, the default.
    pub const INT64: Self = Self(i64::MAX as u64 - 1);

    const NAMED: [(&'static str, Self); 3] = [
        ("int32", Self::INT32),
        ("js53", Self::JS53),
        ("int64", Self::INT64),
    ];

    /// A custom limit; `None` unless `1 <= largest <= 2^63 - 2`.
    #[must_use]
    pub const fn new(largest: u64) -> Option<Self> {
        if largest >= 1 && largest <= Self::INT64.0 {
            Some(Self(largest))
        } else {
            None
        }
    }

    /// The largest id that may be issued.
    #[must_use]
    pub const fn largest(self) -> u64 {
        self.0
    }

    /// How many ids are left when `max_id` is the first id not yet given to any segment.
    #[must_use]
    pub const fn headroom(self, max_id: u64) -> u64 {
        (self.0 + 1).saturating_sub(max_id)
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self::INT64
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMED.iter().find(|(_, limit)| limit == self) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

/// Why a text is not a [`Limit`].
///
/// # Example
///
/// ```
/// assert!("int16".parse::<leafid::Limit>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a limit is int32, js53, int64, or a whole number from 1 to 9223372036854775806")]
pub struct ParseLimitError;

impl FromStr for Limit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        if let Some((_, limit)) = Self::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*limit);
        }
        text.parse().ok().and_then(Self::new).ok_or(ParseLimitError)
    }
}
