//! Numbers in requests, as JSON numbers or as strings: JavaScript holds none above 2^53. And other
//! values by their texts.

use std::fmt;
use std::str::FromStr;

use leafid::Limit;
use leafid::store::TagKind;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A whole number of any size, as a number or a string. `MAX` is told where it is none; whether
/// the number is from 1 to `MAX` is for the service to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Whole<const MAX: u64>(u64);

impl<const MAX: u64> Whole<MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MAX: u64> From<u64> for Whole<MAX> {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl<'de, const MAX: u64> Deserialize<'de> for Whole<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar {
            wanted: format_args!("a whole number from 1 to {MAX}"),
            takes_text: true,
            parse: |text| digits(text).map(Self),
        })
    }
}

/// A whole number from 0 to `MAX`, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rate<const MAX: u64>(u64);

impl<const MAX: u64> Rate<MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MAX: u64> From<u64> for Rate<MAX> {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl<'de, const MAX: u64> Deserialize<'de> for Rate<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar {
            wanted: format_args!("a whole number from 0 to {MAX}"),
            takes_text: false,
            parse: |text| digits(text).filter(|number| *number <= MAX).map(Self),
        })
    }
}

/// A whole number from 0 to `MAX`, as a number or its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Index<const MAX: u64>(u64);

impl<const MAX: u64> Index<MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MAX: u64> From<u64> for Index<MAX> {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl<'de, const MAX: u64> Deserialize<'de> for Index<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar {
            wanted: format_args!("a whole number from 0 to {MAX}"),
            takes_text: true,
            parse: |text| digits(text).filter(|number| *number <= MAX).map(Self),
        })
    }
}

/// A value by its text, such as the kind of a tag or a limit; a number is read as its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<T>(pub T);

/// A value that has a text.
pub trait Wanted: FromStr + fmt::Display {
    /// What the text may be.
    const WANTED: &'static str;
}

impl Wanted for Limit {
    const WANTED: &'static str =
        "int32, js53, int64, or a whole number from 1 to 9223372036854775806";
}

impl Wanted for TagKind {
    const WANTED: &'static str = "segment, snowflake, or a family of ids such as uuid7";
}

impl<T: Wanted> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: Wanted> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar {
            wanted: format_args!("{}", T::WANTED),
            takes_text: true,
            parse: |text| text.parse().ok().map(Self),
        })
    }
}

/// Reads what may be a number or a text, by the text.
struct Scalar<'a, T> {
    wanted: fmt::Arguments<'a>,
    takes_text: bool,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Scalar<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(self.wanted)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let parsed = (self.parse)(&number.to_string());
        parsed.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    /// JSON has one kind of number: `5.0` is a whole one.
    fn visit_f64<E: Error>(self, float: f64) -> Result<T, E> {
        /// A float is exact up to here.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        let is_whole = (0.0..=EXACT_MAX).contains(&float) && float.fract() == 0.0;
        // All digits and no sign, so it is read back as it is.
        let parsed = is_whole.then(|| (self.parse)(&format!("{:.0}", float.abs())));
        let parsed = parsed.flatten();
        parsed.ok_or_else(|| E::invalid_value(Unexpected::Float(float), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let parsed = self.takes_text.then(|| (self.parse)(text)).flatten();
        parsed.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

fn digits(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

/// Reads a field that may be left out, but not be null unless `T` may be.
pub(super) fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Whether a field is left out.
pub(super) const fn absent<T>(field: &Option<T>) -> bool {
    field.is_none()
}
