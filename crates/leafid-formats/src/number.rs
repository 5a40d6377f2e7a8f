//! `NumberText`: the part of a template that carries the number, and the plain one: digits.

use std::fmt;

use leafid::format::{FormatError, Radix};

/// How a template writes its number. Different numbers have different texts.
pub(crate) trait NumberText: fmt::Debug + Send + Sync {
    /// Appends the text of a number. After an error, nothing was appended or the caller removes it.
    fn write(&self, number: u64, text: &mut String) -> Result<(), FormatError>;

    /// The number of exactly the text that `write` appended.
    fn read(&self, text: &str) -> Result<u64, FormatError>;

    /// The largest number it can write.
    fn largest(&self) -> u64;

    /// Whether `read` can give the number back.
    fn is_readable(&self) -> bool {
        true
    }
}

/// Which letters a part may write: a check digit must be able to count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    None,
    /// Small and capital ones never differ in meaning.
    OneCase,
    /// A small letter means something else than the capital one.
    BothCases,
}

impl Letters {
    pub(crate) const fn of(radix: Radix) -> Self {
        match radix {
            Radix::Decimal => Self::None,
            Radix::Crockford32 | Radix::Base36 => Self::OneCase,
            _ => Self::BothCases,
        }
    }
}

/// The number in digits, with zeros on the left up to a width.
#[derive(Debug)]
pub(crate) struct PlainNumber {
    radix: Radix,
    width: Option<usize>,
    largest: u64,
}

impl PlainNumber {
    pub(crate) fn new(radix: Radix, width: Option<usize>) -> Self {
        let count = |width: usize| {
            let radix = radix.digits().len() as u64;
            radix.checked_pow(u32::try_from(width).unwrap_or(u32::MAX))
        };
        let largest = width.and_then(count).map_or(u64::MAX, |count| count - 1);
        Self {
            radix,
            width,
            largest,
        }
    }
}

impl NumberText for PlainNumber {
    fn write(&self, number: u64, text: &mut String) -> Result<(), FormatError> {
        if number > self.largest {
            return Err(too_long(number, self.largest));
        }
        self.radix.push(number, self.width.unwrap_or(0), text);
        Ok(())
    }

    fn read(&self, text: &str) -> Result<u64, FormatError> {
        let number = self.radix.parse(text);
        let number = number.map_err(|error| {
            FormatError::NotOfFormat(format!("the number in the text cannot be read: {error}"))
        })?;
        let width = self.width.unwrap_or_else(|| self.radix.len_of(number));
        match text.len() == width {
            true => Ok(number),
            false => Err(FormatError::NotOfFormat(format!(
                "the number in the text has {} digits, and the format writes it with {width}",
                text.len()
            ))),
        }
    }

    fn largest(&self) -> u64 {
        self.largest
    }
}

/// The error for a number that does not fit.
pub(crate) fn too_long(number: u64, largest: u64) -> FormatError {
    FormatError::TooLong(format!(
        "the number {number} is too long for the format, whose largest is {largest}: a format is \
        for life, so make a new tag with a wider one"
    ))
}
