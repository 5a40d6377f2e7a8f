//! `Args`: a command with its arguments, as slices of the input.

use std::ops::Range;

/// A command and its arguments; there is at least the command's name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Args<'a> {
    bytes: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl<'a> Args<'a> {
    pub(super) const fn new(bytes: &'a [u8], ranges: &'a [Range<usize>]) -> Self {
        Self { bytes, ranges }
    }

    /// The number of arguments, the name included.
    pub(super) const fn len(self) -> usize {
        self.ranges.len()
    }

    /// An argument; 0 is the name. Empty if there are fewer.
    #[inline]
    pub(super) fn get(self, number: usize) -> &'a [u8] {
        match self.ranges.get(number) {
            Some(range) => &self.bytes[range.clone()],
            None => &[],
        }
    }

    /// The arguments from `number` on.
    pub(super) fn from(self, number: usize) -> impl Iterator<Item = &'a [u8]> {
        let ranges = self.ranges.get(number..).unwrap_or_default();
        ranges.iter().map(move |range| &self.bytes[range.clone()])
    }

    /// The command without its first words.
    pub(super) fn skip(self, count: usize) -> Self {
        let ranges = self.ranges.get(count..).unwrap_or_default();
        Self::new(self.bytes, ranges)
    }

    /// Whether one of them is this word, in any case.
    pub(super) fn is(self, number: usize, word: &str) -> bool {
        self.get(number).eq_ignore_ascii_case(word.as_bytes())
    }

    /// An argument as a number.
    pub(super) fn number(self, number: usize) -> Option<i64> {
        integer(self.get(number))
    }
}

/// A whole number as Redis parses it: no plus sign, no leading zeros, no spaces.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    /// As many digits as `i64` has; a number of that many digits fits into `u64`.
    const DIGITS_MAX: usize = 19;
    if let [digit @ b'0'..=b'9'] = text {
        return Some((digit - b'0').into());
    }
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let is_canonical = match digits {
        [b'0'] => !is_negative,
        [b'1'..=b'9', ..] => digits.len() <= DIGITS_MAX,
        _ => false,
    };
    if !is_canonical {
        return None;
    }
    let mut number: u64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    if is_negative {
        0_i64.checked_sub_unsigned(number)
    } else {
        i64::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_in_redis() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(integer(text.as_bytes()), expected, "{text:?}");
        };
        check("0", Some(0));
        check("7", Some(7));
        check("-7", Some(-7));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        for wrong in ["", "-", "-0", "+1", "01", " 1", "1 ", "1.0", "x"] {
            check(wrong, None);
        }
        check("9223372036854775808", None);
        check("-9223372036854775809", None);
        check("99999999999999999999", None);
    }
}
