//! Reads digits strictly: a character that is none, and a number beyond its bits, are errors.

use super::DecodeError;

/// Digits in the order of their values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits {
    digits: &'static [u8],
    /// Whether small and capital letters are alike.
    any_case: bool,
    /// Whether I and L are read as 1, and O as 0.
    misread: bool,
}

impl Digits {
    pub(super) const fn exact(digits: &'static [u8]) -> Self {
        Self {
            digits,
            any_case: false,
            misread: false,
        }
    }

    pub(super) const fn any_case(self) -> Self {
        Self {
            any_case: true,
            ..self
        }
    }

    pub(super) const fn misread(self) -> Self {
        Self {
            misread: true,
            ..self
        }
    }

    /// Reads a number of at most 128 bits, of exactly `len` digits.
    pub(super) fn read(self, text: &str, len: usize, bits: u32) -> Result<u128, DecodeError> {
        self.check_len(text, len)?;
        let radix = self.digits.len() as u128;
        let mut number = 0_u128;
        let mut too_large = false;
        for digit in self.values(text) {
            let digit = u128::from(digit?);
            let grown = number.checked_mul(radix);
            let grown = grown.and_then(|number| number.checked_add(digit));
            too_large |= grown.is_none();
            number = grown.unwrap_or(0);
        }
        match too_large || bits < u128::BITS && number >> bits != 0 {
            true => Err(DecodeError::TooLarge { bits }),
            false => Ok(number),
        }
    }

    /// Reads a number of 160 bits, of exactly `len` digits: its upper 32 bits, and the others.
    pub(super) fn read_160(self, text: &str, len: usize) -> Result<(u32, u128), DecodeError> {
        self.check_len(text, len)?;
        let radix = self.digits.len() as u64;
        let mut limbs = [0_u32; 5];
        let mut too_large = false;
        for digit in self.values(text) {
            let mut carry = u64::from(digit?);
            for limb in limbs.iter_mut().rev() {
                let grown = u64::from(*limb) * radix + carry;
                *limb = low_half(grown);
                carry = grown >> 32;
            }
            too_large |= carry != 0;
        }
        if too_large {
            return Err(DecodeError::TooLarge { bits: 160 });
        }
        let lower = limbs[1..].iter();
        let lower = lower.fold(0, |number, limb| number << 32 | u128::from(*limb));
        Ok((limbs[0], lower))
    }

    fn check_len(self, text: &str, len: usize) -> Result<(), DecodeError> {
        let found = text.chars().count();
        match found == len {
            true => Ok(()),
            false => Err(DecodeError::Length {
                found,
                expected: len.to_string(),
            }),
        }
    }

    fn values(self, text: &str) -> impl Iterator<Item = Result<u8, DecodeError>> {
        text.char_indices().map(move |(at, character)| {
            let position = at + 1;
            self.value(character).ok_or(DecodeError::BadCharacter {
                character,
                position,
            })
        })
    }

    fn value(self, character: char) -> Option<u8> {
        let byte = u8::try_from(character).ok().filter(u8::is_ascii)?;
        let byte = match byte.to_ascii_uppercase() {
            b'I' | b'L' if self.misread => b'1',
            b'O' if self.misread => b'0',
            _ => byte,
        };
        let mut digits = self.digits.iter();
        let value = match self.any_case {
            true => digits.position(|digit| digit.eq_ignore_ascii_case(&byte)),
            false => digits.position(|digit| *digit == byte),
        };
        u8::try_from(value?).ok()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the upper half is carried")]
fn low_half(number: u64) -> u32 {
    number as u32
}
