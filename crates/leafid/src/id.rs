//! `Id`: one id, a positive 63-bit number, and its text form.

use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

/// One id: a whole number from 1 to 9,223,372,036,854,775,807 (63 bits), so that it fits a signed
/// 64-bit column or variable of any language.
///
/// In JSON an id is a string, because JavaScript numbers hold 53 bits only; with the feature
/// `serde` this type writes and reads itself so.
///
/// # Example
///
/// ```
/// use leafid::Id;
///
/// let id: Id = "2001".parse()?;
/// assert_eq!(id.get(), 2001);
/// assert_eq!(id.to_string(), "2001");
/// assert!("0".parse::<Id>().is_err());
/// # Ok::<(), leafid::ParseIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(u64);

impl Id {
    /// The largest id, 2^63 - 1.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// Makes an id of a number; `None` outside 1 to 2^63 - 1.
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

/// Why a text is no [`Id`].
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

#[cfg(feature = "serde")]
impl serde::Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Id {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
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

    #[cfg(feature = "serde")]
    #[test]
    fn json_holds_a_string() {
        let id = Id::MAX;
        let json = serde_json::to_string(&id).expect("an id always serialises");
        assert_eq!(json, "\"9223372036854775807\"");
        assert_eq!(
            serde_json::from_str::<Id>(&json).expect("its own output"),
            id
        );
        assert!(serde_json::from_str::<Id>("5").is_err());
    }
}
