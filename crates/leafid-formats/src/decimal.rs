//! `decimal`: the number that a text is, read strictly.

/// The number that a text is, as ids are written: in decimal, without sign or leading zeros, of at
/// most 64 bits.
///
/// # Example
///
/// ```
/// use leafid_formats::decimal;
///
/// assert_eq!(decimal("4711"), Some(4711));
/// assert_eq!(decimal("0"), Some(0));
/// assert_eq!((decimal("007"), decimal("+7"), decimal("18446744073709551616")), (None, None, None));
/// ```
#[must_use]
pub fn decimal(text: &str) -> Option<u64> {
    let has_other = text.bytes().any(|byte| !byte.is_ascii_digit());
    let has_zeros = text.len() > 1 && text.starts_with('0');
    let number = text.parse().ok();
    number.filter(|_| !has_other && !has_zeros)
}
