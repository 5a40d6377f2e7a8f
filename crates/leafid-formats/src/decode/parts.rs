//! `Decoded`: the parts of an id, by name.

use std::fmt;

/// What an id says about itself.
///
/// # Example
///
/// ```
/// use leafid::Family;
/// use leafid_formats::{PartValue, decode};
///
/// let decoded = decode(Family::ObjectId, "507f1f77bcf86cd799439011")?;
/// assert_eq!(decoded.unix_ms, Some(1_350_508_407_000));
/// assert_eq!(decoded.part("counter"), Some(&PartValue::Number(4_427_793)));
/// assert_eq!(decoded.part("random").map(ToString::to_string).as_deref(), Some("bcf86cd799"));
/// # Ok::<(), leafid_formats::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// When it was made, in milliseconds since 1970-01-01T00:00:00Z; `None` if it does not say.
    pub unix_ms: Option<i64>,
    /// The other parts, from left to right.
    pub parts: Vec<Part>,
}

/// One part of an id.
///
/// Names are `version`, `variant`, `clock_sequence`, `node`, `counter`, `sequence`, `machine`,
/// `process`, `layout`, `worker`, `data_center`, `shard`, `random`, `custom`, `hash`, `prefix` and `uuid`.
///
/// # Example
///
/// ```
/// let decoded = leafid_formats::decode(leafid::Family::Tsid, "0123456789ABC")?;
/// let lines: Vec<String> = decoded.parts.iter().map(|part| part.to_string()).collect();
/// assert_eq!(lines, ["node 74", "counter 2412"]);
/// # Ok::<(), leafid_formats::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: PartValue,
}

/// The value of one part.
///
/// # Example
///
/// ```
/// assert_eq!(leafid_formats::PartValue::Number(7).to_string(), "7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartValue {
    /// A number.
    Number(u64),
    /// Bits that are no number: hexadecimal digits.
    Hex(String),
    /// Text.
    Text(String),
}

impl Decoded {
    pub(crate) fn new(unix_ms: Option<i64>) -> Self {
        let parts = Vec::new();
        Self { unix_ms, parts }
    }

    /// The value of a part.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&PartValue> {
        let mut parts = self.parts.iter();
        parts.find(|part| part.name == name).map(|part| &part.value)
    }

    pub(crate) fn number(mut self, name: &'static str, value: impl Into<u64>) -> Self {
        let value = PartValue::Number(value.into());
        self.parts.push(Part { name, value });
        self
    }

    /// The low bits of a value, `digits` digits of 4 bits.
    pub(crate) fn hex(mut self, name: &'static str, value: u128, digits: usize) -> Self {
        let value = PartValue::Hex(format!("{value:0digits$x}"));
        self.parts.push(Part { name, value });
        self
    }

    pub(crate) fn text(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = PartValue::Text(value.into());
        self.parts.push(Part { name, value });
        self
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
}

impl fmt::Display for PartValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Hex(text) | Self::Text(text) => text.fmt(f),
        }
    }
}
