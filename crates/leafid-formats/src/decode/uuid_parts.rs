//! The parts of a UUID, by its version. Source: RFC 9562, section 5.

use uuid::Uuid;

use super::Decoded;
use crate::families::epoch;

/// Whether the variant bits are `10`.
pub(crate) fn is_rfc_9562(uuid: Uuid) -> bool {
    uuid.as_u128() >> 62 & 0b11 == 0b10
}

/// The parts of any UUID. Version 8 has the time of RFC 9562, appendix B.1, only if `is_timed8`:
/// other makers put other things there.
pub(crate) fn uuid(uuid: Uuid, is_timed8: bool) -> Decoded {
    let number = uuid.as_u128();
    let version = uuid.get_version_num();
    let unix_ms = match version {
        _ if !is_rfc_9562(uuid) => None,
        1 => gregorian_ms(low64(
            (number >> 64 & 0xfff) << 48 | (number >> 80 & 0xffff) << 32 | number >> 96,
        )),
        6 => gregorian_ms(time60(number)),
        7 => i64::try_from(number >> 80).ok(),
        8 if is_timed8 => i64::try_from(time60(number) / 100_000).ok(),
        _ => None,
    };
    let decoded = Decoded::new(unix_ms);
    let decoded = decoded.number("version", low64(number >> 76 & 0xf));
    let decoded = decoded.number("variant", low64(number >> 62 & 0b11));
    match version {
        _ if !is_rfc_9562(uuid) => decoded,
        1 | 6 => decoded
            .number("clock_sequence", low64(number >> 48 & 0x3fff))
            .hex("node", number & 0xffff_ffff_ffff, 12),
        3 | 5 => decoded.hex("hash", without_marks(number), 31),
        4 => decoded.hex("random", without_marks(number), 31),
        7 => decoded.hex("rand_a", number >> 64 & 0xfff, 3).hex(
            "rand_b",
            number & (u128::MAX >> 66),
            16,
        ),
        8 if is_timed8 => decoded.hex("random", number & (u128::MAX >> 66), 16),
        _ => decoded.hex("custom", without_marks(number), 31),
    }
}

/// The 122 bits without version and variant.
fn without_marks(number: u128) -> u128 {
    number >> 80 << 74 | (number >> 64 & 0xfff) << 62 | number & (u128::MAX >> 66)
}

/// The 60 bits of time of version 6, and of our version 8.
fn time60(number: u128) -> u64 {
    low64(number >> 80 << 12 | number >> 64 & 0xfff)
}

/// The milliseconds since 1970 of a time in 100 ns since 1582.
fn gregorian_ms(ticks: u64) -> Option<i64> {
    let since_1970 = i64::try_from(ticks).ok()? - i64::try_from(epoch::GREGORIAN_TICKS).ok()?;
    Some(since_1970.div_euclid(10_000))
}

#[expect(clippy::cast_possible_truncation, reason = "of at most 64 bits")]
fn low64(number: u128) -> u64 {
    number as u64
}
