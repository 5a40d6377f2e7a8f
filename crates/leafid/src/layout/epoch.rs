//! `Epoch`: the zero of the timestamp.

use std::fmt;
use std::str::FromStr;

use super::civil::{self, Fault, Instant};

/// The zero of an id's timestamp, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// As text it is either those milliseconds, or a time with a zone (RFC 3339). A time without a
/// zone is refused: it would mean another instant on a machine elsewhere.
///
/// # Example
///
/// ```
/// use leafid::Epoch;
///
/// let epoch: Epoch = "2016-05-20T00:00:00+08:00".parse()?;
/// assert_eq!(epoch, Epoch::BAIDU);
/// assert_eq!(epoch.unix_ms(), 1_463_673_600_000);
/// assert_eq!(epoch.to_string(), "2016-05-19T16:00:00Z");
/// assert!("2016-05-20 00:00:00".parse::<Epoch>().is_err());
/// # Ok::<(), leafid::ParseEpochError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(i64);

impl Epoch {
    /// Twitter's, and Leaf's: 2010-11-04T01:42:54.657Z.
    pub const TWITTER: Self = Self(1_288_834_974_657);
    /// That of Baidu's uid-generator: 2016-05-20T00:00:00+08:00.
    pub const BAIDU: Self = Self(1_463_673_600_000);
    /// That of Sonyflake, first version: 2014-09-01T00:00:00Z.
    pub const SONYFLAKE_V1: Self = Self(1_409_529_600_000);
    /// That of Sonyflake, second version: 2025-01-01T00:00:00Z.
    pub const SONYFLAKE_V2: Self = Self(1_735_689_600_000);
    /// That of CosId: 2019-12-25T00:00:00+08:00.
    pub const COSID: Self = Self(1_577_203_200_000);
    /// Instagram's: 2011-08-24T21:07:01.721Z.
    pub const INSTAGRAM: Self = Self(1_314_220_021_721);
    /// Discord's: 2015-01-01T00:00:00Z.
    pub const DISCORD: Self = Self(1_420_070_400_000);
    /// That of our own layout `wide`: 2026-01-01T00:00:00Z.
    pub const WIDE: Self = Self(1_767_225_600_000);

    /// An epoch this many milliseconds after (or before) 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn from_unix_ms(unix_ms: i64) -> Self {
        Self(unix_ms)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[inline]
    #[must_use]
    pub const fn unix_ms(self) -> i64 {
        self.0
    }
}

/// As RFC 3339, in UTC; in milliseconds where the year has no four digits.
impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = Instant { unix_ms: self.0 };
        match instant.year() {
            0..=9999 => instant.fmt(f),
            _ => self.0.fmt(f),
        }
    }
}

/// Why a text is not an [`Epoch`].
///
/// # Example
///
/// ```
/// use leafid::Epoch;
///
/// let error = "2020-01-01".parse::<Epoch>().unwrap_err();
/// assert!(error.to_string().contains("add Z or +08:00"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseEpochError {
    /// A date or time without a zone.
    #[error(
        "the epoch \"{text}\" has no zone, so it would be another instant elsewhere: write date, \
         time and zone, as in 2020-01-01T00:00:00Z; add Z or +08:00"
    )]
    NoZone {
        /// The text.
        text: String,
    },
    /// A day or time that does not exist.
    #[error("the epoch \"{text}\" does not exist: correct its date, time or zone")]
    NoSuchTime {
        /// The text.
        text: String,
    },
    /// It has a fraction of a millisecond.
    #[error("the epoch \"{text}\" is finer than a millisecond: cut it to three decimals")]
    TooFine {
        /// The text.
        text: String,
    },
    /// A number so small that it can hardly mean milliseconds.
    #[error(
        "the epoch {text} is too small to mean milliseconds since 1970 (is it in seconds, or a \
         year?): write milliseconds, or a time as in 2020-01-01T00:00:00Z"
    )]
    NotMilliseconds {
        /// The text.
        text: String,
    },
    /// It is neither a number nor a time.
    #[error(
        "the epoch \"{text}\" is neither a number of milliseconds since 1970 nor a time as in \
         2020-01-01T00:00:00Z or 2020-01-01T00:00:00+08:00"
    )]
    Malformed {
        /// The text.
        text: String,
    },
}

impl FromStr for Epoch {
    type Err = ParseEpochError;

    fn from_str(text: &str) -> Result<Self, ParseEpochError> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return from_number(text);
        }
        civil::parse(text).map(Self).map_err(|fault| {
            let text = text.to_owned();
            match fault {
                Fault::NoZone => ParseEpochError::NoZone { text },
                Fault::NoSuchTime => ParseEpochError::NoSuchTime { text },
                Fault::TooFine => ParseEpochError::TooFine { text },
                Fault::Malformed => ParseEpochError::Malformed { text },
            }
        })
    }
}

/// Numbers nearer to 1970 than this, 1973-03-03, probably mean seconds or years; 0 is 1970 itself.
const NUMBER_MIN: u64 = 100_000_000_000;

fn from_number(text: &str) -> Result<Epoch, ParseEpochError> {
    let text_owned = || text.to_owned();
    match text.parse::<i64>() {
        Ok(0) => Ok(Epoch(0)),
        Ok(number) if number.unsigned_abs() >= NUMBER_MIN => Ok(Epoch(number)),
        Ok(_) => Err(ParseEpochError::NotMilliseconds { text: text_owned() }),
        Err(_) => Err(ParseEpochError::Malformed { text: text_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected_ms: i64) {
        assert_eq!(text.parse().map(Epoch::unix_ms), Ok(expected_ms), "{text}");
    }

    fn check_error(text: &str, expected: &str) {
        let error = text.parse::<Epoch>().unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }

    #[test]
    fn milliseconds_and_times_with_a_zone_are_epochs() {
        check("1288834974657", 1_288_834_974_657);
        check("0", 0);
        check("-100000000000", -100_000_000_000);
        check("2010-11-04T01:42:54.657Z", 1_288_834_974_657);
        check("2015-01-01T00:00:00+08:00", 1_420_041_600_000);
        check("2017-12-25T00:00:00+08:00", 1_514_131_200_000);
        check("2016-09-20T00:00:00+08:00", 1_474_300_800_000);
        check("2016-09-20T00:00:00Z", 1_474_329_600_000);
    }

    #[test]
    fn what_could_mean_something_else_is_refused() {
        check_error("2016-05-20", "has no zone");
        check_error("2016-05-20 00:00:00", "add Z or +08:00");
        check_error("2016-05-20T00:00:00", "add Z or +08:00");
        check_error("1463673600", "is it in seconds");
        check_error("2016", "or a year");
        check_error("2016-02-30T00:00:00Z", "does not exist");
        check_error("2016-05-20T00:00:00.0001Z", "finer than a millisecond");
        check_error("99999999999999999999", "neither a number");
        check_error("yesterday", "neither a number");
        check_error("+1463673600000", "neither a number");
        check_error("", "neither a number");
    }

    #[test]
    fn text_and_epoch_lead_to_each_other() {
        let far = [i64::MIN, i64::MAX, -62_167_219_200_001, 253_402_300_800_000];
        let near = [0, -1, 1_288_834_974_657, 1_463_673_600_000];
        for unix_ms in far.into_iter().chain(near) {
            let epoch = Epoch::from_unix_ms(unix_ms);
            assert_eq!(epoch.to_string().parse(), Ok(epoch));
        }
    }
}
