//! `Part`: what a template is made of, each with a fixed width, but for the number.

use leafid::WorkerId;
use leafid::format::{CheckDigit, FormatContext, FormatError, Radix};

use crate::keys::KeyId;

/// One part of a template.
#[derive(Debug)]
pub(super) enum Part {
    Literal(Box<str>),
    /// Which date of the template it is, where its text begins among all dates, its length.
    Date {
        index: usize,
        start: usize,
        width: usize,
    },
    Number,
    Worker(Digits),
    Random(Digits),
    UnixMs(Digits),
    Check(CheckDigit),
    /// The id of the key.
    Key,
}

/// A fixed number of digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits {
    pub(super) radix: Radix,
    pub(super) width: usize,
}

impl Part {
    /// How many bytes it writes; `None` for the number, which decides that itself.
    pub(super) fn width(&self) -> Option<usize> {
        match self {
            Self::Literal(text) => Some(text.len()),
            Self::Date { width, .. } => Some(*width),
            Self::Number => None,
            Self::Worker(digits) | Self::Random(digits) | Self::UnixMs(digits) => {
                Some(digits.width)
            }
            Self::Check(check) => Some(check.width()),
            Self::Key => Some(KeyId::LEN),
        }
    }

    /// Whether it is not the same in every text, or all but.
    pub(super) const fn varies(&self) -> bool {
        matches!(self, Self::Date { .. } | Self::Random(_) | Self::UnixMs(_))
    }

    /// How many characters it writes, as people count.
    pub(super) fn characters(&self) -> Option<usize> {
        match self {
            Self::Literal(text) => Some(text.chars().count()),
            _ => self.width(),
        }
    }
}

impl Digits {
    /// The largest number that fits.
    pub(super) fn largest(self) -> u64 {
        let radix = self.radix.digits().len() as u64;
        let width = u32::try_from(self.width).unwrap_or(u32::MAX);
        radix.checked_pow(width).map_or(u64::MAX, |count| count - 1)
    }

    /// Appends a number that may be too large; `name` is that of the part.
    pub(super) fn write(
        self,
        number: u64,
        name: &str,
        text: &mut String,
    ) -> Result<(), FormatError> {
        self.check(number, name)?;
        self.radix.push(number, self.width, text);
        Ok(())
    }

    fn check(self, number: u64, name: &str) -> Result<(), FormatError> {
        let largest = self.largest();
        if number <= largest {
            return Ok(());
        }
        Err(FormatError::TooLong(format!(
            "{number} is too large for the part {{{name}}} of the format, whose largest number is \
            {largest}: make a new tag with a wider one"
        )))
    }

    /// Appends random digits, without a bias.
    pub(super) fn write_random(self, text: &mut String) {
        let digits = self.radix.digits().as_bytes();
        text.extend((0..self.width).map(|_| char::from(digits[fastrand::usize(..digits.len())])));
    }

    /// The number of such digits, if it is one.
    pub(super) fn read(self, text: &str) -> Option<u64> {
        self.radix.parse(text).ok().filter(|_| self.fits(text))
    }

    /// Whether the text could be such digits.
    pub(super) fn fits(self, text: &str) -> bool {
        let is_digit = |character: char| self.radix.digits().contains(character);
        text.len() == self.width && text.chars().all(is_digit)
    }
}

fn no_worker_id() -> FormatError {
    FormatError::Unavailable(
        "the format has a {worker} part, and this process has no worker id: configure a registry of \
         worker ids"
            .to_owned(),
    )
}

/// Whether the worker id is there, and fits.
pub(super) fn check_worker(digits: Digits, worker_id: Option<WorkerId>) -> Result<(), FormatError> {
    let worker = worker_id.ok_or_else(no_worker_id)?;
    digits.check(worker.get().into(), "worker")
}

/// Appends the worker id.
pub(super) fn write_worker(
    digits: Digits,
    context: &FormatContext,
    text: &mut String,
) -> Result<(), FormatError> {
    let worker = context.worker_id.ok_or_else(no_worker_id)?;
    digits.write(worker.get().into(), "worker", text)
}
