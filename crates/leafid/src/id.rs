//! `Id`: one id, a positive 63-bit number, and its text form.

use std::fmt;
use std::num::{IntErrorKind, NonZeroU64};
use std::str::FromStr;

/// One id: a whole number from 1 to 9,223,372,036,854,775,807 (63 bits), so that it fits a signed
/// 64-bit column or variable of any language.
///
/// It converts to and from `u64`, `i64` and `NonZeroU64`; out of range is an error, never another
/// number. With the feature `serde` it is written as a string in JSON and other text formats,
/// because JavaScript numbers hold 53 bits only, and read from a string or a number; in binary
/// formats it is a `u64`. With the feature `sqlx` it is a `BIGINT`.
///
/// # Example
///
/// ```
/// use leafid::Id;
///
/// let id: Id = "2001".parse()?;
/// assert_eq!(id.get(), 2001);
/// assert_eq!(id.to_string(), "2001");
/// assert_eq!(Id::try_from(2001_i64)?, id);
/// assert_eq!(i64::from(id), 2001);
/// assert!("0".parse::<Id>().is_err());
/// assert!(Id::try_from(-1_i64).is_err());
/// # Ok::<(), leafid::ParseIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(u64);

impl Id {
    /// The largest id, 2^63 - 1.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// Makes an id from a number; `None` outside 1 to 2^63 - 1.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number >= 1 && number <= Self::MAX.0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// An id out of a segment or a layout, whose bounds were checked when it was made.
    #[inline]
    pub(crate) const fn from_checked(number: u64) -> Self {
        debug_assert!(number >= 1 && number <= Self::MAX.0);
        Self(number)
    }

    /// The id as a number.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Why a text or a number is no [`Id`].
///
/// # Example
///
/// ```
/// use leafid::{Id, ParseIdError};
///
/// assert_eq!("x1".parse::<Id>().unwrap_err(), ParseIdError::NotANumber);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseIdError {
    /// The text is not a whole decimal number.
    #[error("an id is a whole decimal number")]
    NotANumber,
    /// The number is 0 or above 2^63 - 1.
    #[error("an id lies between 1 and 9223372036854775807")]
    OutOfRange,
}

impl FromStr for Id {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        if text.starts_with('+') {
            return Err(ParseIdError::NotANumber);
        }
        let number: u64 =
            text.parse()
                .map_err(|error: std::num::ParseIntError| match error.kind() {
                    IntErrorKind::PosOverflow => ParseIdError::OutOfRange,
                    _ => ParseIdError::NotANumber,
                })?;
        Self::new(number).ok_or(ParseIdError::OutOfRange)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.0)
    }
}

impl From<Id> for u64 {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl From<Id> for i64 {
    fn from(id: Id) -> Self {
        id.0.cast_signed()
    }
}

impl From<Id> for NonZeroU64 {
    fn from(id: Id) -> Self {
        Self::new(id.0).unwrap_or(Self::MIN) // an id is at least 1
    }
}

impl TryFrom<u64> for Id {
    type Error = ParseIdError;

    fn try_from(number: u64) -> Result<Self, ParseIdError> {
        Self::new(number).ok_or(ParseIdError::OutOfRange)
    }
}

impl TryFrom<i64> for Id {
    type Error = ParseIdError;

    fn try_from(number: i64) -> Result<Self, ParseIdError> {
        u64::try_from(number).map_or(Err(ParseIdError::OutOfRange), Self::try_from)
    }
}

impl TryFrom<NonZeroU64> for Id {
    type Error = ParseIdError;

    fn try_from(number: NonZeroU64) -> Result<Self, ParseIdError> {
        Self::try_from(number.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<u64, ParseIdError>) {
        assert_eq!(text.parse::<Id>().map(Id::get), expected, "{text:?}");
    }

    #[test]
    fn text_forms() {
        check("1", Ok(1));
        check("9223372036854775807", Ok(i64::MAX as u64));
        check("9223372036854775808", Err(ParseIdError::OutOfRange));
        check("99999999999999999999999", Err(ParseIdError::OutOfRange));
        check("0", Err(ParseIdError::OutOfRange));
        check("-1", Err(ParseIdError::NotANumber));
        check("+1", Err(ParseIdError::NotANumber));
        check("", Err(ParseIdError::NotANumber));
        check("1e3", Err(ParseIdError::NotANumber));
    }

    #[test]
    fn numbers() {
        let check = |number: u64, expected| {
            assert_eq!(Id::try_from(number).map(Id::get), expected);
            let converted = NonZeroU64::new(number).map(Id::try_from);
            assert!(converted.is_none_or(|id| id.map(Id::get) == expected));
        };
        check(1, Ok(1));
        check(Id::MAX.get(), Ok(Id::MAX.get()));
        check(0, Err(ParseIdError::OutOfRange));
        check(1 << 63, Err(ParseIdError::OutOfRange));
        check(u64::MAX, Err(ParseIdError::OutOfRange));
        for number in [0, -1, i64::MIN] {
            assert_eq!(Id::try_from(number), Err(ParseIdError::OutOfRange));
        }
        assert_eq!(Id::try_from(i64::MAX), Ok(Id::MAX));
        assert_eq!(i64::from(Id::MAX), i64::MAX);
        assert_eq!(u64::from(Id::MAX), Id::MAX.get());
        assert_eq!(NonZeroU64::from(Id::MAX).get(), Id::MAX.get());
    }
}
