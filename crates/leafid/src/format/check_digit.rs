//! `CheckDigit`: a last digit or two by which a mistyped id is noticed.

/// A check digit at the end of a text, by which a person's mistake is noticed before an id is
/// looked up.
///
/// Letters and digits count; all other characters, such as hyphens, are skipped, so that an id may
/// be typed without them. Small letters count as capital ones.
///
/// | scheme | text | appends | notices |
/// | --- | --- | --- | --- |
/// | `Luhn` | digits | a digit | each wrong digit; all swapped neighbours but 09 and 90 |
/// | `Damm` | digits | a digit | each wrong digit, all swapped neighbours; not leading zeros |
/// | `Verhoeff` | digits | a digit | each wrong digit, all swapped neighbours |
/// | `Mod37_36` | letters, digits | a letter or digit | each wrong character, nearly all swapped neighbours |
/// | `Mod97_10` | letters, digits | two digits | each wrong character of the same kind, letter or digit, all swapped neighbours of a kind |
///
/// Sources: ISO/IEC 7812-1 annex B (Luhn), H. M. Damm (2004), J. Verhoeff (1969), ISO/IEC 7064.
///
/// # Example
///
/// ```
/// use leafid::format::CheckDigit;
///
/// let mut text = String::from("ORD20241120");
/// CheckDigit::Mod37_36.push(&mut text)?;
/// assert_eq!(text, "ORD20241120A");
/// assert_eq!(CheckDigit::Mod37_36.strip("ORD20241120A")?, "ORD20241120");
/// assert!(CheckDigit::Mod37_36.strip("ORD20241210A").is_err());
/// # Ok::<(), leafid::format::CheckDigitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckDigit {
    /// The digit of payment cards.
    Luhn,
    /// By a quasigroup, one table.
    Damm,
    /// By the symmetries of a pentagon.
    Verhoeff,
    /// ISO 7064 MOD 37,36.
    Mod37_36,
    /// ISO 7064 MOD 97-10, as in an IBAN.
    Mod97_10,
}

/// Why a text has no or not the right check digit.
///
/// # Example
///
/// ```
/// use leafid::format::{CheckDigit, CheckDigitError};
///
/// assert_eq!(CheckDigit::Luhn.strip("49927398717"), Err(CheckDigitError::Wrong));
/// assert_eq!(CheckDigit::Luhn.strip("A8"), Err(CheckDigitError::NotDigits { position: 0 }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckDigitError {
    /// The text is too short to have one.
    #[error("the text is too short for a check digit")]
    TooShort,
    /// The text has a character that the scheme cannot count.
    #[error("the character at byte {position} cannot be checked by this scheme")]
    NotDigits {
        /// Where it begins, in bytes from 0.
        position: usize,
    },
    /// The check digit is that of another text: something is mistyped.
    #[error("the check digit is wrong: the text is mistyped")]
    Wrong,
}

impl CheckDigit {
    /// How many characters it appends: 1 or 2.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Mod97_10 => 2,
            Self::Luhn | Self::Damm | Self::Verhoeff | Self::Mod37_36 => 1,
        }
    }

    /// Appends the check digit of a text.
    ///
    /// # Errors
    ///
    /// [`CheckDigitError::NotDigits`] for letters in a scheme for digits, and for letters beyond
    /// ASCII; [`CheckDigitError::TooShort`] for a text without a letter or digit. The text is as
    /// before then.
    ///
    /// # Example
    ///
    /// See [`CheckDigit`].
    pub fn push(self, text: &mut String) -> Result<(), CheckDigitError> {
        let digits = self.of(text)?;
        text.push_str(digits);
        Ok(())
    }

    /// The check digit of the characters that the scheme counts: ASCII digits, and ASCII letters
    /// in a scheme for letters. All others are skipped, letters in a scheme for digits included.
    /// Allocates nothing.
    ///
    /// # Errors
    ///
    /// [`CheckDigitError::TooShort`] for a text without such a character.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::format::CheckDigit;
    ///
    /// assert_eq!(CheckDigit::Luhn.of_counted("ORD-7992739871"), Ok("3"));
    /// ```
    pub fn of_counted(self, text: &str) -> Result<&'static str, CheckDigitError> {
        self.of_values(values(text, self.radix()))
    }

    /// The text without its check digit, if that is right.
    ///
    /// # Errors
    ///
    /// [`CheckDigitError::Wrong`] if it is that of another text, and as [`push`](Self::push).
    ///
    /// # Example
    ///
    /// See [`CheckDigit`].
    pub fn strip(self, text: &str) -> Result<&str, CheckDigitError> {
        let end = text.len().checked_sub(self.width());
        let parts = end.and_then(|end| text.split_at_checked(end));
        let (payload, digit) = parts.ok_or(CheckDigitError::TooShort)?;
        match self.of(payload)?.eq_ignore_ascii_case(digit) {
            true => Ok(payload),
            false => Err(CheckDigitError::Wrong),
        }
    }

    /// The check digit of a text.
    fn of(self, text: &str) -> Result<&'static str, CheckDigitError> {
        let radix = self.radix();
        let uncounted = |character: char| character.is_alphanumeric() && !character.is_digit(radix);
        match text.find(uncounted) {
            Some(position) => Err(CheckDigitError::NotDigits { position }),
            None => self.of_values(values(text, radix)),
        }
    }

    /// The check digit of values of 0 to 35. Allocates nothing: it is part of issuing an id.
    fn of_values(
        self,
        values: impl DoubleEndedIterator<Item = usize> + Clone,
    ) -> Result<&'static str, CheckDigitError> {
        if values.clone().next().is_none() {
            return Err(CheckDigitError::TooShort);
        }
        Ok(match self {
            Self::Luhn => digit(luhn(values)),
            Self::Damm => digit(damm(values)),
            Self::Verhoeff => digit(verhoeff(values)),
            Self::Mod37_36 => digit(mod_37_36(values)),
            Self::Mod97_10 => two_digits(mod_97_10(values)),
        })
    }

    /// How many values a counted character may have.
    const fn radix(self) -> u32 {
        match self {
            Self::Luhn | Self::Damm | Self::Verhoeff => 10,
            Self::Mod37_36 | Self::Mod97_10 => 36,
        }
    }
}

/// The values of all letters and digits, 0 to 35; other characters have none.
fn values(text: &str, radix: u32) -> impl DoubleEndedIterator<Item = usize> + Clone {
    let values = text
        .chars()
        .filter_map(move |character| character.to_digit(radix));
    values.map(|value| value as usize)
}

/// The character of a value, 0 to 35.
fn digit(value: usize) -> &'static str {
    &"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value..=value]
}

/// The two digits of a value, 0 to 99.
fn two_digits(value: usize) -> &'static str {
    const PAIRS: &str = "\
        00010203040506070809101112131415161718192021222324252627282930313233343536373839\
        40414243444546474849505152535455565758596061626364656667686970717273747576777879\
        8081828384858687888990919293949596979899";
    &PAIRS[2 * value..2 * value + 2]
}

fn luhn(values: impl DoubleEndedIterator<Item = usize>) -> usize {
    let doubled = |value: usize| value * 2 - if value > 4 { 9 } else { 0 };
    let counted = values.rev().enumerate();
    let sum: usize = counted
        .map(|(index, value)| match index % 2 {
            0 => doubled(value),
            _ => value,
        })
        .sum();
    (10 - sum % 10) % 10
}

fn damm(values: impl Iterator<Item = usize>) -> usize {
    const TABLE: [[usize; 10]; 10] = [
        [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
        [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
        [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
        [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
        [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
        [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
        [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
        [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
        [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
        [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
    ];
    values.fold(0, |interim: usize, value| TABLE[interim][value])
}

fn verhoeff(values: impl DoubleEndedIterator<Item = usize>) -> usize {
    const PERMUTATION: [usize; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted =
        |index: usize, value: usize| (0..index % 8).fold(value, |value, _| PERMUTATION[value]);
    let check = values.rev().enumerate().fold(0, |check, (index, value)| {
        pentagon(check, permuted(index + 1, value))
    });
    // The inverse: turns go back, mirror images stay.
    if (1..5).contains(&check) {
        5 - check
    } else {
        check
    }
}

/// Two symmetries of a pentagon, one after the other: 0 to 4 turn it, 5 to 9 mirror it as well.
const fn pentagon(first: usize, second: usize) -> usize {
    match (first < 5, second < 5) {
        (true, true) => (first + second) % 5,
        (true, false) => (first + second) % 5 + 5,
        (false, true) => (first - second) % 5 + 5,
        (false, false) => (first + 5 - second) % 5,
    }
}

fn mod_37_36(values: impl Iterator<Item = usize>) -> usize {
    let product = values.fold(36, |product: usize, value| {
        let sum = (product + value) % 36;
        (if sum == 0 { 36 } else { sum }) * 2 % 37
    });
    // Together with the check digit, the sum is 1.
    (37 - product) % 36
}

fn mod_97_10(values: impl Iterator<Item = usize>) -> usize {
    let rest = values.fold(0, |rest: usize, value| {
        let width = if value > 9 { 100 } else { 10 };
        (rest * width + value) % 97
    });
    98 - rest * 100 % 97
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [CheckDigit; 5] = [
        CheckDigit::Luhn,
        CheckDigit::Damm,
        CheckDigit::Verhoeff,
        CheckDigit::Mod37_36,
        CheckDigit::Mod97_10,
    ];

    /// Source of the vectors: python-stdnum 006192e, executed.
    #[test]
    fn check_digits_are_those_of_others() {
        let rows = [
            ("7992739871", ["3", "1", "8", "V", "65"]),
            ("236", ["0", "1", "3", "Y", "69"]),
            ("572", ["8", "4", "7", "2", "31"]),
            ("12345", ["5", "9", "1", "Y", "20"]),
            ("142857", ["2", "7", "0", "7", "73"]),
            ("20191011232218000001", ["0", "0", "5", "4", "09"]),
            ("660125991150026752", ["6", "5", "9", "0", "42"]),
            ("9223372036854775807", ["4", "7", "4", "H", "58"]),
            ("1", ["8", "3", "5", "Z", "95"]),
        ];
        for (payload, digits) in rows {
            for (scheme, digit) in ALL.into_iter().zip(digits) {
                assert_eq!(scheme.of(payload).unwrap(), digit, "{scheme:?} {payload}");
            }
        }
        let check = |scheme: CheckDigit, payload: &str, digit: &str| {
            assert_eq!(scheme.of(payload).unwrap(), digit, "{scheme:?} {payload}");
        };
        check(CheckDigit::Mod37_36, "A12425GABC1234002", "M");
        check(CheckDigit::Mod37_36, "A999914123456N", "M");
        check(CheckDigit::Mod37_36, "ORD20241120", "A");
        check(CheckDigit::Mod97_10, "5367", "02");
        check(CheckDigit::Mod97_10, "5303", "97");
        check(CheckDigit::Mod97_10, "5335", "98");
        for known in ["49927398716", "490154203237518"] {
            assert!(CheckDigit::Luhn.strip(known).is_ok(), "{known}");
        }
    }

    /// Guards what each scheme promises to notice, for every text of six digits with one mistake.
    #[test]
    fn mistakes_are_noticed() {
        for scheme in ALL {
            let mut swaps_missed = 0;
            for number in (0..1_000_000_u32).step_by(37) {
                let mut text = format!("{number:06}");
                scheme.push(&mut text).unwrap();
                let digits = text.as_bytes();
                for place in 0..6 {
                    let mut wrong = digits.to_vec();
                    let shift = u8::try_from(number % 9).unwrap() + 1;
                    wrong[place] = b'0' + (wrong[place] - b'0' + shift) % 10;
                    let wrong = String::from_utf8(wrong).unwrap();
                    assert_eq!(
                        scheme.strip(&wrong),
                        Err(CheckDigitError::Wrong),
                        "{text} {wrong}"
                    );
                }
                for place in 0..5 {
                    let mut swapped = digits.to_vec();
                    swapped.swap(place, place + 1);
                    let swapped = String::from_utf8(swapped).unwrap();
                    swaps_missed += u32::from(swapped != text && scheme.strip(&swapped).is_ok());
                }
            }
            let misses_some = matches!(scheme, CheckDigit::Luhn | CheckDigit::Mod37_36);
            assert!(
                swaps_missed == 0 || misses_some,
                "{scheme:?}: {swaps_missed}"
            );
        }
    }

    #[test]
    fn other_characters_are_skipped_or_refused() {
        let strip = |scheme: CheckDigit, text| scheme.strip(text);
        assert_eq!(strip(CheckDigit::Luhn, "4992-7398 716"), Ok("4992-7398 71"));
        assert_eq!(
            strip(CheckDigit::Mod37_36, "ord-2024-1120a"),
            Ok("ord-2024-1120")
        );
        let not_digits = |position| Err(CheckDigitError::NotDigits { position });
        assert_eq!(strip(CheckDigit::Damm, "12a4"), not_digits(2));
        assert_eq!(strip(CheckDigit::Mod37_36, "12é4"), not_digits(2));
        for text in ["", "1", "-1", "é"] {
            let error = strip(CheckDigit::Verhoeff, text);
            assert_eq!(error, Err(CheckDigitError::TooShort), "{text}");
        }
        assert_eq!(
            strip(CheckDigit::Mod97_10, "1é"),
            Err(CheckDigitError::Wrong)
        );
        let mut text = String::from("x1");
        CheckDigit::Luhn.push(&mut text).unwrap_err();
        assert_eq!(text, "x1");
        assert_eq!(CheckDigit::Luhn.of_counted("x1é"), Ok("8"));
    }
}
