//! `Opaque`: the number enciphered, so that nobody without the key can tell how many ids there
//! are, which came first, or what the next one will be.
//!
//! FF1 of NIST SP 800-38G with AES-256 permutes the texts of a fixed width; the name of the tag is
//! the tweak, so that the same number of two tags differs. Where the texts are more than the
//! numbers that may come out, the permutation is repeated until one does (cycle walking), which
//! keeps it a permutation.

use fpe::ff1::{NumeralString, NumeralStringError, Operations};
use leafid::Tag;
use leafid::format::{FormatError, Radix};

use crate::keys::{Key, RADIXES};
use crate::number::too_long;

/// The largest number that an id may be: 2^63 - 1.
const LARGEST: u64 = i64::MAX as u64;

/// How often a permutation is repeated at most. Of 19 digits, one more is needed in 8 of 100 cases,
/// so that this many never are.
const WALK_MAX: usize = 1000;

/// The forms of an opaque number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number of 63 bits in decimal digits, without zeros on the left.
    Bits63,
    /// Exactly so many digits.
    Digits(Radix, usize),
}

impl Form {
    /// The fewest and most digits of a radix that FF1 is used for: at least a million texts, as
    /// NIST asks for, and at most as many as 2^63 needs.
    pub(crate) const fn widths(radix: Radix) -> Option<(usize, usize)> {
        match radix {
            Radix::Decimal => Some((6, 19)),
            Radix::Base36 => Some((4, 13)),
            Radix::Base62 => Some((4, 11)),
            _ => None,
        }
    }
}

/// Numbers of one tag to opaque texts and back.
#[derive(Debug)]
pub(crate) struct Opaque {
    form: Form,
    tag: Tag,
    /// Of [`RADIXES`].
    cipher: usize,
    radix: u32,
    /// The digits of both halves: the second one has one more where the width is odd.
    digits: (u32, u32),
    largest: u64,
}

impl Opaque {
    pub(crate) fn new(form: Form, tag: Tag) -> Self {
        let (radix, width) = match form {
            Form::Bits63 => (2, 63),
            Form::Digits(radix, width) => (radix.digits().len() as u64, width),
        };
        let (radix, width) = (
            u32::try_from(radix).unwrap_or(2),
            u32::try_from(width).unwrap_or(63),
        );
        let texts = u64::from(radix).checked_pow(width);
        Self {
            form,
            tag,
            cipher: RADIXES
                .iter()
                .position(|known| *known == radix)
                .unwrap_or(0),
            radix,
            digits: (width / 2, width - width / 2),
            largest: texts.map_or(LARGEST, |texts| (texts - 1).min(LARGEST)),
        }
    }

    pub(crate) fn largest(&self) -> u64 {
        self.largest
    }

    /// Whether what comes out of the cipher is walked until it is a number of 63 bits.
    fn is_walked(&self) -> bool {
        self.form == Form::Digits(Radix::Decimal, 19)
    }

    /// Appends the text of a number.
    pub(crate) fn write(
        &self,
        number: u64,
        key: &Key,
        text: &mut String,
    ) -> Result<(), FormatError> {
        if number > self.largest {
            return Err(too_long(number, self.largest));
        }
        let numerals = self.walk(self.numerals(number), |numerals| {
            key.cipher(self.cipher)
                .encrypt(self.tag.as_str().as_bytes(), numerals)
        })?;
        match self.form {
            Form::Bits63 => Radix::Decimal.push(numerals.number().unwrap_or(LARGEST), 0, text),
            Form::Digits(radix, _) => {
                for half in [numerals.0, numerals.1] {
                    radix.push(half.value, half.digits as usize, text);
                }
            }
        }
        Ok(())
    }

    /// The number of a text.
    pub(crate) fn read(&self, text: &str, key: &Key) -> Result<u64, FormatError> {
        let numerals = self.parse(text).ok_or_else(not_opaque)?;
        let numerals = self.walk(numerals, |numerals| {
            key.cipher(self.cipher)
                .decrypt(self.tag.as_str().as_bytes(), numerals)
        })?;
        let number = numerals.number().filter(|number| *number <= self.largest);
        number.ok_or_else(not_opaque)
    }

    /// The numerals of a text that has the form of an opaque number.
    fn parse(&self, text: &str) -> Option<Numerals> {
        match self.form {
            Form::Bits63 => {
                let number = Radix::Decimal.parse(text).ok()?;
                let is_plain = text.len() == Radix::Decimal.len_of(number);
                (is_plain && number <= LARGEST).then(|| self.numerals(number))
            }
            Form::Digits(radix, width) => {
                let (first, second) = text.split_at_checked(self.digits.0 as usize)?;
                if text.len() != width {
                    return None;
                }
                let half = |text: &str, digits| {
                    let value = radix.parse(text).ok()?;
                    Some(Half::new(value, digits, self.radix))
                };
                let numerals = Numerals(half(first, self.digits.0)?, half(second, self.digits.1)?);
                let is_out = self.is_walked() && numerals.number().is_none();
                (!is_out).then_some(numerals)
            }
        }
    }

    fn numerals(&self, number: u64) -> Numerals {
        let second = u64::from(self.radix).pow(self.digits.1);
        Numerals(
            Half::new(number / second, self.digits.0, self.radix),
            Half::new(number % second, self.digits.1, self.radix),
        )
    }

    /// Permutes until the result may come out.
    fn walk(
        &self,
        numerals: Numerals,
        permute: impl Fn(&Numerals) -> Result<Numerals, NumeralStringError>,
    ) -> Result<Numerals, FormatError> {
        let mut numerals = numerals;
        for _ in 0..WALK_MAX {
            numerals = permute(&numerals).map_err(|error| {
                FormatError::Unavailable(format!("the number cannot be enciphered: {error}"))
            })?;
            if !self.is_walked() || numerals.number().is_some() {
                return Ok(numerals);
            }
        }
        Err(FormatError::Unavailable(
            "the number cannot be enciphered with this key: take another one".to_owned(),
        ))
    }
}

fn not_opaque() -> FormatError {
    FormatError::NotOfFormat(
        "the number in the text cannot be deciphered: it is mistyped, or of another key".to_owned(),
    )
}

/// What FF1 permutes: digits as two numbers, which needs neither allocations nor big integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numerals(Half, Half);

/// Half of the digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Half {
    value: u64,
    digits: u32,
    radix: u32,
    /// How many values there are: the radix to the power of the digits.
    count: u64,
}

impl Half {
    fn new(value: u64, digits: u32, radix: u32) -> Self {
        Self {
            value,
            digits,
            radix,
            count: u64::from(radix).pow(digits),
        }
    }

    /// The remainder of a number of bytes, highest first.
    fn remainder(self, bytes: impl Iterator<Item = u8>) -> u64 {
        let number = bytes.fold(0, |number, byte| number << 8 | u128::from(byte));
        u64::try_from(number % u128::from(self.count)).unwrap_or_default()
    }
}

impl Numerals {
    /// The number, unless it has more than 63 bits.
    fn number(&self) -> Option<u64> {
        let number = u128::from(self.0.value) * u128::from(self.1.count) + u128::from(self.1.value);
        u64::try_from(number)
            .ok()
            .filter(|number| *number <= LARGEST)
    }
}

impl NumeralString for Numerals {
    type Ops = Half;

    fn is_valid(&self, radix: u32) -> bool {
        let fits = |half: &Half| half.radix == radix && half.value < half.count;
        fits(&self.0) && fits(&self.1)
    }

    fn numeral_count(&self) -> usize {
        (self.0.digits + self.1.digits) as usize
    }

    fn split(&self) -> (Half, Half) {
        (self.0, self.1)
    }

    fn concat(first: Half, second: Half) -> Self {
        Self(first, second)
    }
}

/// The last bytes of a number.
struct LastBytes {
    bytes: [u8; 8],
    len: usize,
}

impl AsRef<[u8]> for LastBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[8 - self.len..]
    }
}

impl Operations for Half {
    type Bytes = LastBytes;

    fn numeral_count(&self) -> usize {
        self.digits as usize
    }

    fn to_be_bytes(&self, _radix: u32, len: usize) -> LastBytes {
        LastBytes {
            bytes: self.value.to_be_bytes(),
            len: len.min(8),
        }
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, _digits: usize) -> Self {
        let value = (self.value + self.remainder(other)) % self.count;
        Self { value, ..self }
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, _digits: usize) -> Self {
        let value = (self.value + self.count - self.remainder(other)) % self.count;
        Self { value, ..self }
    }
}

#[cfg(test)]
mod tests;
