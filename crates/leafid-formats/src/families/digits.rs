//! Digits of ids that are wider than 64 bits, or in an order of digits of their own.

/// Crockford's base 32 in capitals.
pub(crate) const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Crockford's base 32 in small letters, as in a TypeID.
pub(crate) const CROCKFORD_LOWER: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Hexadecimal digits and on to 32, as in an XID.
pub(crate) const HEX32: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
pub(crate) const HEX: &[u8; 16] = b"0123456789abcdef";
pub(crate) const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";
/// Base 62 in the order of KSUID and TSID: digits, capitals, small letters.
pub(crate) const BASE62: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const BASE36_UPPER: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(crate) const BASE36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The longest text of an id, in bytes: a NanoID.
pub(crate) const TEXT_LEN_MAX: usize = 128;

/// The digits of one id, on the stack.
#[derive(Debug)]
pub(super) struct Digits {
    bytes: [u8; TEXT_LEN_MAX],
    len: usize,
}

impl Digits {
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; TEXT_LEN_MAX],
            len: 0,
        }
    }

    /// Appends an ASCII digit. Beyond the capacity it is dropped: formats are compiled to fit.
    pub(super) fn push(&mut self, digit: u8) {
        if let Some(free) = self.bytes.get_mut(self.len) {
            *free = digit;
            self.len += 1;
        }
    }

    /// Appends a number of any radix, `len` digits, the highest first; zero-padded.
    pub(super) fn push_radix<const RADIX: usize>(
        &mut self,
        mut number: u64,
        len: usize,
        digits: &[u8; RADIX],
    ) {
        for digit in self.free(len).iter_mut().rev() {
            *digit = digits[index(number % RADIX as u64)];
            number /= RADIX as u64;
        }
    }

    /// The next `len` places; fewer beyond the capacity, to which formats are compiled.
    fn free(&mut self, len: usize) -> &mut [u8] {
        let start = self.len;
        self.len = (start + len).min(TEXT_LEN_MAX);
        &mut self.bytes[start..self.len]
    }

    /// Appends 160 bits as a KSUID: 27 digits of radix 62.
    pub(super) fn push_wide_base62(&mut self, upper: u32, lower: u128) {
        const LEN: usize = 27;
        /// The largest power of 62 below 2^32, and its digits.
        const STEP: (u64, usize) = (62_u64.pow(5), 5);
        let limb = |shift: u32| low64(lower >> shift) & 0xffff_ffff;
        let mut limbs = [u64::from(upper), limb(96), limb(64), limb(32), limb(0)];
        let mut reversed = [BASE62[0]; LEN + STEP.1];
        for group in reversed.chunks_exact_mut(STEP.1).take(LEN.div_ceil(STEP.1)) {
            let mut remainder = 0;
            for limb in &mut limbs {
                let upper = remainder << 32 | *limb;
                *limb = upper / STEP.0;
                remainder = upper % STEP.0;
            }
            for digit in group {
                *digit = BASE62[index(remainder % 62)];
                remainder /= 62;
            }
        }
        reversed[..LEN]
            .iter()
            .rev()
            .for_each(|digit| self.push(*digit));
    }

    pub(super) fn as_str(&self) -> &str {
        as_text(&self.bytes[..self.len])
    }
}

/// The low bits of a number, `BITS` to a digit, the highest first.
///
/// The number of digits is known when this is compiled, so that no loop is left. 60 bits at a time,
/// because shifting 128 takes longer.
#[inline]
pub(super) fn bit_digits<const BITS: u32, const RADIX: usize, const LEN: usize>(
    mut number: u128,
    digits: &[u8; RADIX],
) -> [u8; LEN] {
    const GROUP_BITS: u32 = 60;
    const { assert!(RADIX == 1 << BITS && GROUP_BITS.is_multiple_of(BITS)) };
    let mut text = [0; LEN];
    for group in text.rchunks_mut((GROUP_BITS / BITS) as usize) {
        let mut low = low64(number);
        number >>= GROUP_BITS;
        for digit in group.iter_mut().rev() {
            *digit = digits[index(low % RADIX as u64)];
            low >>= BITS;
        }
    }
    text
}

/// Digits as text.
#[inline]
pub(super) fn as_text(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is asked for"
)]
fn low64(number: u128) -> u64 {
    number as u64
}

#[expect(clippy::cast_possible_truncation, reason = "a digit is below 64")]
fn index(digit: u64) -> usize {
    digit as usize
}
