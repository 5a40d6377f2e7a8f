//! NanoID and CUID2: ids of random symbols.

use sha3::{Digest as _, Sha3_512};

use super::digits::{BASE36, Digits};
use super::entropy::Entropy;

/// The 64 symbols of NanoID 6; their order does not matter, as all are equally likely.
pub(super) const NANOID: &str = "useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict";

/// Appends `len` symbols, each equally likely.
///
/// A byte is masked to the next power of two and drawn again when no symbol has its number, so that
/// no symbol is favoured, as a remainder would. Source: nanoid 6.0.1.
pub(super) fn push_nanoid(alphabet: &[u8], len: usize, entropy: &mut Entropy, text: &mut Digits) {
    let mask = alphabet.len().next_power_of_two() - 1;
    let mut pool = [0; 32];
    let mut left = len;
    while left > 0 {
        entropy.fill(&mut pool);
        let symbols = pool
            .iter()
            .filter_map(|byte| alphabet.get(usize::from(*byte) & mask));
        for symbol in symbols.take(left) {
            text.push(*symbol);
            left -= 1;
        }
    }
}

/// What a CUID2 is a hash of, besides random bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cuid2Input {
    pub(super) unix_ms: u64,
    pub(super) counter: u64,
    pub(super) fingerprint: u64,
}

/// Appends a random letter and `len - 1` digits of radix 36 of a SHA3-512 hash of time, counter,
/// fingerprint of the process, and 256 random bits.
///
/// The digits are the hash's low ones, where the JavaScript library takes high ones: both are
/// equally likely, and nobody can tell. Source: paralleldrive/cuid2.
pub(super) fn push_cuid2(input: Cuid2Input, len: usize, entropy: &mut Entropy, text: &mut Digits) {
    let mut salt = [0; 32];
    entropy.fill(&mut salt);
    push_nanoid(&BASE36[10..], 1, entropy, text);
    let mut hash = Sha3_512::new();
    hash.update(salt);
    for number in [input.unix_ms, input.counter, input.fingerprint] {
        hash.update(number.to_le_bytes());
    }
    let hash = hash.finalize();
    let mut limbs = [0_u32; 16];
    for (limb, bytes) in limbs.iter_mut().zip(hash.chunks_exact(4)) {
        *limb = bytes
            .iter()
            .fold(0, |limb, byte| limb << 8 | u32::from(*byte));
    }
    (1..len).for_each(|_| text.push(BASE36[divide(&mut limbs, 36)]));
}

/// Divides a number of which the first limb is the highest, and returns the remainder.
fn divide(limbs: &mut [u32; 16], by: u32) -> usize {
    let mut remainder = 0_u64;
    for limb in limbs {
        let upper = remainder << 32 | u64::from(*limb);
        *limb = low_half(upper / u64::from(by));
        remainder = upper % u64::from(by);
    }
    usize::try_from(remainder).unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, reason = "a quotient of 32 bits")]
fn low_half(number: u64) -> u32 {
    number as u32
}
