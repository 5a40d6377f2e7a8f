//! `Gene`: the number with low bits that follow from it or are fixed, as ecp-uid's gene method.

use std::ops::RangeInclusive;

use leafid::format::FormatError;

use crate::number::{NumberText, PlainNumber, too_long};

/// Shifts a number to the left and puts a remainder into the low bits: `number << bits | factor
/// mod fixed`, where the factor is the number itself, or one for all. Rows that share it are found
/// in one shard.
///
/// A bijection, which ecp-uid's is not: there are as many bits as the largest remainder needs (its
/// default of 25 takes 4, and remainders to 24 need 5), and a number that would not fit into 63
/// bits is refused. Reading checks the low bits.
#[derive(Debug)]
pub(crate) struct Gene {
    fixed: u64,
    factor: Option<u64>,
    bits: u32,
    digits: PlainNumber,
    largest: u64,
}

impl Gene {
    /// What a number may be divided by.
    pub(crate) const FIXED: RangeInclusive<u64> = 2..=65_536;

    /// `None` if the digits have no room for a number.
    pub(crate) fn new(fixed: u64, factor: Option<u64>, digits: PlainNumber) -> Option<Self> {
        let bits = u64::BITS - (fixed - 1).leading_zeros();
        let most = digits.largest().min(i64::MAX as u64);
        // The low bits of the largest number may be anything.
        let largest = ((most + 1) >> bits).checked_sub(1).filter(|one| *one > 0)?;
        Some(Self {
            fixed,
            factor,
            bits,
            digits,
            largest,
        })
    }

    fn low_bits(&self, number: u64) -> u64 {
        self.factor.unwrap_or(number) % self.fixed
    }
}

impl NumberText for Gene {
    fn write(&self, number: u64, text: &mut String) -> Result<(), FormatError> {
        if number > self.largest {
            return Err(too_long(number, self.largest));
        }
        let gene = number << self.bits | self.low_bits(number);
        self.digits.write(gene, text)
    }

    fn read(&self, text: &str) -> Result<u64, FormatError> {
        let gene = self.digits.read(text)?;
        let number = gene >> self.bits;
        let is_written = number << self.bits | self.low_bits(number) == gene;
        match is_written && number <= self.largest {
            true => Ok(number),
            false => Err(FormatError::NotOfFormat(
                "the low bits are not those of the number in the text: it is mistyped".to_owned(),
            )),
        }
    }

    fn largest(&self) -> u64 {
        self.largest
    }
}
