//! `Radix`: a number in digits, and back.

/// As many digits as are filled in at once: more than the 20 that a number of 64 bits has at most.
const BUFFER_LEN: usize = 32;

/// The digits in which a number is written.
///
/// Numbers written with the same width sort like their texts, byte by byte, in every radix: the
/// digits are in ascending order of their bytes, but for [`Base62`](Self::Base62), whose lower case
/// comes before the upper case.
///
/// # Example
///
/// ```
/// use leafid::format::Radix;
///
/// let mut text = String::new();
/// Radix::Base62.push(u64::MAX / 2, 0, &mut text);
/// assert_eq!(text, "aZl8N0y58M7");
/// assert_eq!(Radix::Base62.parse("aZl8N0y58M7"), Ok(u64::MAX / 2));
/// assert!(Radix::Base36.parse("1J").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Radix {
    /// `0` to `9`.
    Decimal,
    /// `0` to `9`, `A` to `Z` without `I`, `L`, `O` and `U`, which are easily misread. Small
    /// letters are read as capital ones, `I` and `L` as `1`, and `O` as `0`. Source: Douglas
    /// Crockford, "Base 32".
    Crockford32,
    /// `0` to `9`, `a` to `z`.
    Base36,
    /// `1` to `9`, `A` to `Z` and `a` to `z` without `I`, `O` and `l`. Source: Bitcoin.
    Base58,
    /// `0` to `9`, `a` to `z`, `A` to `Z`. Source: ns4_gear_idgen.
    Base62,
}

/// Why a text is no number of a [`Radix`].
///
/// # Example
///
/// ```
/// use leafid::format::{ParseRadixError, Radix};
///
/// let error = Radix::Decimal.parse("12x").unwrap_err();
/// assert_eq!(error, ParseRadixError::BadDigit { position: 2 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRadixError {
    /// There are no digits.
    #[error("a number has at least one digit")]
    Empty,
    /// A character is none of the digits.
    #[error("the character at byte {position} is no digit of this radix")]
    BadDigit {
        /// Where it begins, in bytes from 0.
        position: usize,
    },
    /// The number needs more than 64 bits.
    #[error("the number is larger than 18446744073709551615")]
    TooLarge,
}

impl Radix {
    /// Every radix.
    pub const ALL: [Self; 5] = [
        Self::Decimal,
        Self::Crockford32,
        Self::Base36,
        Self::Base58,
        Self::Base62,
    ];

    /// The digits, from 0 up.
    #[must_use]
    pub const fn digits(self) -> &'static str {
        match self {
            Self::Decimal => "0123456789",
            Self::Crockford32 => "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
            Self::Base36 => "0123456789abcdefghijklmnopqrstuvwxyz",
            Self::Base58 => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
            Self::Base62 => "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        }
    }

    /// How many digits the number has without leading zeros: 1 to 20.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::format::Radix;
    ///
    /// assert_eq!(Radix::Decimal.len_of(0), 1);
    /// assert_eq!(Radix::Base62.len_of(leafid::Id::MAX.get()), 11);
    /// ```
    #[must_use]
    pub fn len_of(self, number: u64) -> usize {
        let radix = self.digits().len() as u64;
        std::iter::successors(Some(number / radix), |left| Some(left / radix))
            .take_while(|left| *left > 0)
            .count()
            + 1
    }

    /// Appends the number with at least `width` digits, filled up with zeros on the left. It is
    /// never cut: a longer number stays whole. Allocates only what `text` lacks.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::format::Radix;
    ///
    /// let mut text = String::from("T-");
    /// Radix::Decimal.push(42, 5, &mut text);
    /// assert_eq!(text, "T-00042");
    /// ```
    pub fn push(self, number: u64, width: usize, text: &mut String) {
        match self {
            Self::Decimal => push::<10>(number, width, &DECIMAL, text),
            Self::Crockford32 => push::<32>(number, width, &CROCKFORD32, text),
            Self::Base36 => push::<36>(number, width, &BASE36, text),
            Self::Base58 => push::<58>(number, width, &BASE58, text),
            Self::Base62 => push::<62>(number, width, &BASE62, text),
        }
    }

    /// Reads a number, with or without leading zeros.
    ///
    /// # Errors
    ///
    /// For an empty text, a character that is no digit of this radix, and a number of more than 64
    /// bits.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::format::{ParseRadixError, Radix};
    ///
    /// assert_eq!(Radix::Crockford32.parse("0zI"), Ok(31 * 32 + 1));
    /// assert_eq!(Radix::Base36.parse("zzzzzzzzzzzzzz"), Err(ParseRadixError::TooLarge));
    /// ```
    pub fn parse(self, text: &str) -> Result<u64, ParseRadixError> {
        if text.is_empty() {
            return Err(ParseRadixError::Empty);
        }
        let radix = self.digits().len() as u64;
        let mut number = 0_u64;
        for (position, byte) in text.bytes().enumerate() {
            let digit = self.value_of(byte);
            let digit = digit.ok_or(ParseRadixError::BadDigit { position })?;
            let grown = number.checked_mul(radix);
            let grown = grown.and_then(|number| number.checked_add(digit));
            number = grown.ok_or(ParseRadixError::TooLarge)?;
        }
        Ok(number)
    }

    /// The value of a digit.
    fn value_of(self, digit: u8) -> Option<u64> {
        let digit = match (self, digit.to_ascii_uppercase()) {
            (Self::Crockford32, b'I' | b'L') => b'1',
            (Self::Crockford32, b'O') => b'0',
            (Self::Crockford32, upper) => upper,
            _ => digit,
        };
        let value = self.digits().bytes().position(|known| known == digit)?;
        Some(value as u64)
    }
}

static DECIMAL: [[u8; 2]; 100] = pairs(Radix::Decimal);
static CROCKFORD32: [[u8; 2]; 1024] = pairs(Radix::Crockford32);
static BASE36: [[u8; 2]; 1296] = pairs(Radix::Base36);
static BASE58: [[u8; 2]; 3364] = pairs(Radix::Base58);
static BASE62: [[u8; 2]; 3844] = pairs(Radix::Base62);

/// All numbers of two digits, so that writing takes half as many divisions.
const fn pairs<const LEN: usize>(radix: Radix) -> [[u8; 2]; LEN] {
    let digits = radix.digits().as_bytes();
    let mut pairs = [[0; 2]; LEN];
    let mut number = 0;
    while number < LEN {
        pairs[number] = [digits[number / digits.len()], digits[number % digits.len()]];
        number += 1;
    }
    pairs
}

/// Divides by constants, for which the compiler has no need of a division.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an index of at most the square of a radix"
)]
fn push<const RADIX: u64>(number: u64, width: usize, pairs: &[[u8; 2]], text: &mut String) {
    let zero = pairs[0][0];
    let mut digits = [zero; BUFFER_LEN];
    let mut start = BUFFER_LEN;
    let mut left = number;
    while left >= RADIX {
        let pair = pairs[(left % (RADIX * RADIX)) as usize];
        left /= RADIX * RADIX;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&pair);
    }
    if left > 0 || number == 0 {
        start -= 1;
        digits[start] = pairs[left as usize][1];
    }
    start = start.min(BUFFER_LEN.saturating_sub(width));
    let beyond = width.saturating_sub(BUFFER_LEN);
    text.extend(std::iter::repeat_n(char::from(zero), beyond));
    // They are ASCII, so that none is lost; one copy is faster than a character at a time.
    text.push_str(std::str::from_utf8(&digits[start..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(radix: Radix, number: u64, width: usize) -> String {
        let mut text = String::new();
        radix.push(number, width, &mut text);
        text
    }

    /// Source of the vectors of radix 36 and 62: ns4_gear_idgen, executed.
    #[test]
    fn numbers_are_written_as_by_others() {
        let check = |radix: Radix, number: u64, width: usize, text: &str| {
            assert_eq!(written(radix, number, width), text, "{radix:?} {number}");
            assert_eq!(radix.parse(text), Ok(number), "{radix:?} {text}");
        };
        check(Radix::Base36, 2_576_460, 0, "1j80c");
        check(Radix::Base62, 2_576_460, 0, "aOfO");
        check(Radix::Base36, 2_576_460, 11, "0000001j80c");
        check(Radix::Base62, 2_576_460, 11, "0000000aOfO");
        check(Radix::Base62, 61, 0, "Z");
        check(Radix::Base62, 62, 0, "10");
        check(Radix::Base36, 35, 0, "z");
        check(Radix::Base36, 36, 0, "10");
        check(Radix::Base36, 66_310, 0, "1f5y");
        check(Radix::Base62, 66_310, 0, "hfw");
        check(Radix::Base36, i64::MAX as u64, 0, "1y2p0ij32e8e7");
        check(Radix::Base62, i64::MAX as u64, 0, "aZl8N0y58M7");
        check(Radix::Decimal, u64::MAX, 3, "18446744073709551615");
        check(Radix::Crockford32, u64::MAX, 0, "FZZZZZZZZZZZZ");
        check(Radix::Base58, 0, 3, "111");
        check(Radix::Base58, 57, 0, "z");
        for radix in Radix::ALL {
            check(radix, 0, 0, &radix.digits()[..1]);
        }
    }

    #[test]
    fn every_number_comes_back() {
        let powers = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let random = std::iter::repeat_with(|| fastrand::u64(..) >> fastrand::u32(0..64));
        for number in powers.chain(random.take(2000)).chain([u64::MAX]) {
            for radix in Radix::ALL {
                for width in [0, 7, 25, 32, 33, 70] {
                    let text = written(radix, number, width);
                    assert_eq!(radix.parse(&text), Ok(number), "{radix:?} {number} {width}");
                    assert_eq!(text.len(), radix.len_of(number).max(width));
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let check = |radix: Radix, text: &str, error: ParseRadixError| {
            assert_eq!(radix.parse(text), Err(error), "{radix:?} {text}");
        };
        let bad = |position| ParseRadixError::BadDigit { position };
        check(Radix::Decimal, "", ParseRadixError::Empty);
        check(
            Radix::Decimal,
            "18446744073709551616",
            ParseRadixError::TooLarge,
        );
        check(
            Radix::Crockford32,
            "G000000000000",
            ParseRadixError::TooLarge,
        );
        check(Radix::Decimal, "1 ", bad(1));
        check(Radix::Decimal, "+1", bad(0));
        check(Radix::Decimal, "１", bad(0));
        check(Radix::Base36, "zZ", bad(1));
        check(Radix::Base58, "l", bad(0));
        check(Radix::Crockford32, "zU", bad(1));
    }

    #[test]
    fn digits_misread_are_read_as_meant() {
        for (text, number) in [("oOl", 1), ("iL", 33), ("zz", 1023), ("ZZ", 1023)] {
            assert_eq!(Radix::Crockford32.parse(text), Ok(number), "{text}");
        }
    }
}
