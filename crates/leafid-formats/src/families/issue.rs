//! How each family makes its next ids from time, random bits and what was issued before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leafid::Family;
use uuid::Uuid;

use super::ascending::Ascending;
use super::cosid::{self, CosId};
use super::digits::{
    BASE62, CROCKFORD, CROCKFORD_LOWER, Digits, HEX, HEX_UPPER, HEX32, as_text, bit_digits,
};
use super::entropy::Entropy;
use super::format::{FamilyFormat, Form};
use super::process::Process;
use super::random_symbols::{Cuid2Input, push_cuid2, push_nanoid};
use super::second_counter::SecondCounter;
use super::{FamilyError, epoch};

/// The bits of the counter of UUID 7 and ULID. Half of it is free at the start of a millisecond.
const COUNTER_BITS: u32 = 20;
/// The bits of the counter of a TSID.
pub(super) const TSID_COUNTER_BITS: u32 = 12;

/// The time of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) unix_ns: u64,
}

impl Now {
    /// Times after 2554 read as 2554.
    pub(super) fn at(wall: Duration) -> Self {
        Self {
            unix_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn unix_ms(self) -> u64 {
        self.unix_ns / 1_000_000
    }

    fn unix_s(self) -> u64 {
        self.unix_ns / 1_000_000_000
    }

    /// The second since an epoch; `None` before it, and when it needs more than 32 bits.
    fn second_since(self, epoch_s: u64) -> Option<u32> {
        u32::try_from(self.unix_s().checked_sub(epoch_s)?).ok()
    }
}

/// What each family has issued so far.
#[derive(Debug)]
pub(super) struct State {
    process: Process,
    uuid1: Ascending,
    uuid6: Ascending,
    uuid7: Ascending,
    uuid8: Ascending,
    ulid: Ascending,
    tsid: Ascending,
    cosid: Ascending,
    ksuid: AtomicU64,
    object_id: SecondCounter,
    xid: SecondCounter,
    cuid2: AtomicU64,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            process: Process::default(),
            uuid1: Ascending::new(60, 0),
            uuid6: Ascending::new(60, 0),
            uuid7: Ascending::new(44, COUNTER_BITS),
            uuid8: Ascending::new(60, 0),
            ulid: Ascending::new(44, COUNTER_BITS),
            tsid: Ascending::new(42, TSID_COUNTER_BITS),
            cosid: Ascending::new(cosid::TIME_BITS, cosid::SEQUENCE_BITS),
            ksuid: AtomicU64::new(0),
            object_id: SecondCounter::default(),
            xid: SecondCounter::default(),
            cuid2: AtomicU64::new(0),
        }
    }

    /// Makes `count` ids and hands their texts, in order, to `emit`.
    pub(super) fn issue(
        &self,
        format: &FamilyFormat,
        now: Now,
        count: usize,
        entropy: &mut Entropy,
        mut emit: impl FnMut(&str),
    ) -> Result<(), FamilyError> {
        if count == 0 {
            return Ok(());
        }
        self.process.refresh(entropy);
        let issued = match format.family() {
            Family::Uuid1 | Family::Uuid6 | Family::Uuid7 | Family::Uuid8 | Family::Ulid => {
                self.timed128(format, now, count, entropy, &mut emit)
            }
            Family::Uuid4 => {
                (0..count)
                    .for_each(|_| emit_128(uuid4(entropy.bits128()), format.form(), &mut emit));
                Some(())
            }
            Family::Tsid => self.tsids(format, now, count, entropy, &mut emit),
            Family::CosId => self.cosids(format, now, count, entropy, &mut emit),
            Family::Ksuid => self.ksuids(now, count, entropy, &mut emit),
            Family::ObjectId | Family::Xid => self.counted(format, now, count, entropy, &mut emit),
            _ => {
                (0..count).for_each(|_| self.symbols(format, now, entropy, &mut emit));
                Some(())
            }
        };
        issued.ok_or(FamilyError::Clock {
            family: format.family(),
            unix_ms: now.unix_ms(),
        })
    }

    /// Families of 128 bits that begin with a time.
    fn timed128(
        &self,
        format: &FamilyFormat,
        now: Now,
        count: usize,
        entropy: &mut Entropy,
        emit: &mut impl FnMut(&str),
    ) -> Option<()> {
        let len = count as u64;
        let form = format.form();
        let process = self.process.uuid();
        match format.family() {
            Family::Uuid1 => {
                let first = self.uuid1.claim(gregorian_ticks(now)?, || 0, len)?;
                (first..first + len).for_each(|ticks| emit_128(uuid1(ticks, process), form, emit));
            }
            Family::Uuid6 => {
                let first = self.uuid6.claim(gregorian_ticks(now)?, || 0, len)?;
                (first..first + len).for_each(|ticks| emit_128(uuid6(ticks, process), form, emit));
            }
            Family::Uuid8 => {
                let first = self.uuid8.claim(now.unix_ns / 10, || 0, len)?;
                (first..first + len)
                    .for_each(|ticks| emit_128(uuid8(ticks, entropy.bits64()), form, emit));
            }
            Family::Uuid7 => {
                let start = || counter_start(entropy);
                let first = self.uuid7.claim(now.unix_ms(), start, len)?;
                (first..first + len)
                    .for_each(|time| emit_128(uuid7(time, entropy.bits64()), form, emit));
            }
            _ => {
                let start = || counter_start(entropy);
                let first = self.ulid.claim(now.unix_ms(), start, len)?;
                (first..first + len)
                    .for_each(|time| emit_128(ulid(time, entropy.bits64()), form, emit));
            }
        }
        Some(())
    }

    fn tsids(
        &self,
        format: &FamilyFormat,
        now: Now,
        count: usize,
        entropy: &mut Entropy,
        emit: &mut impl FnMut(&str),
    ) -> Option<()> {
        let tick = now.unix_ms().checked_sub(epoch::TSID_MS)?;
        let start = || entropy.bits64() >> (u64::BITS - TSID_COUNTER_BITS);
        let process = self.process.tsid() << TSID_COUNTER_BITS;
        let len = count as u64;
        let first = self.tsid.claim(tick, start, len)?;
        for claimed in first..first + len {
            let (time, counter) = (claimed >> TSID_COUNTER_BITS, claimed & TSID_COUNTER_MAX);
            emit_tsid(time << 22 | process | counter, format.form(), emit);
        }
        Some(())
    }

    /// A new millisecond begins its sequence at random in the lower half, so that processes which
    /// drew the same machine still differ, and that ids modulo anything are spread evenly.
    fn cosids(
        &self,
        format: &FamilyFormat,
        now: Now,
        count: usize,
        entropy: &mut Entropy,
        emit: &mut impl FnMut(&str),
    ) -> Option<()> {
        let start = || entropy.bits64() >> (u64::BITS - cosid::SEQUENCE_BITS + 1);
        let machine = self.process.cosid();
        let len = count as u64;
        let first = self.cosid.claim(now.unix_ms(), start, len)?;
        for claimed in first..first + len {
            let id = CosId {
                unix_ms: claimed >> cosid::SEQUENCE_BITS,
                machine,
                sequence: claimed & ((1 << cosid::SEQUENCE_BITS) - 1),
            };
            let mut text = Digits::new();
            id.push(format.form(), &mut text);
            emit(text.as_str());
        }
        Some(())
    }

    fn ksuids(
        &self,
        now: Now,
        count: usize,
        entropy: &mut Entropy,
        emit: &mut impl FnMut(&str),
    ) -> Option<()> {
        let second = u64::from(now.second_since(epoch::KSUID_S)?);
        let second = second.max(self.ksuid.fetch_max(second, Ordering::Relaxed));
        for _ in 0..count {
            let mut digits = Digits::new();
            digits.push_wide_base62(u32::try_from(second).ok()?, entropy.bits128());
            emit(digits.as_str());
        }
        Some(())
    }

    fn counted(
        &self,
        format: &FamilyFormat,
        now: Now,
        count: usize,
        entropy: &mut Entropy,
        emit: &mut impl FnMut(&str),
    ) -> Option<()> {
        let second = now.second_since(0)?;
        let start = u32::try_from(entropy.bits64() >> u32::BITS).ok()?;
        let is_xid = format.family() == Family::Xid;
        let (pairs, process) = match is_xid {
            true => (&self.xid, self.process.xid()),
            false => (&self.object_id, self.process.object_id()),
        };
        for _ in 0..count {
            let claimed = pairs.claim(second, start)?;
            let number = u128::from(claimed.second) << 64
                | u128::from(process) << 24
                | u128::from(claimed.counter);
            match is_xid {
                // 96 bits in 20 digits of 5: the last 4 bits are 0.
                true => emit(as_text(&bit_digits::<5, 32, 20>(number << 4, HEX32))),
                false => emit(as_text(&bit_digits::<4, 16, 24>(number, HEX))),
            }
        }
        Some(())
    }

    fn symbols(
        &self,
        format: &FamilyFormat,
        now: Now,
        entropy: &mut Entropy,
        emit: &mut impl FnMut(&str),
    ) {
        let Form::Symbols { len, alphabet } = format.form() else {
            return;
        };
        let mut digits = Digits::new();
        if format.family() == Family::Cuid2 {
            let input = Cuid2Input {
                unix_ms: now.unix_ms(),
                counter: self.cuid2.fetch_add(1, Ordering::Relaxed),
                fingerprint: self.process.cuid2(),
            };
            push_cuid2(input, *len, entropy, &mut digits);
        } else {
            push_nanoid(alphabet, *len, entropy, &mut digits);
        }
        emit(digits.as_str());
    }
}

const TSID_COUNTER_MAX: u64 = (1 << TSID_COUNTER_BITS) - 1;
const VARIANT: u128 = 0b10 << 62;

/// Where the counter of a new millisecond begins: in the lower half.
fn counter_start(entropy: &mut Entropy) -> u64 {
    entropy.bits64() >> (u64::BITS - COUNTER_BITS + 1)
}

/// The 100 ns since 1582-10-15.
fn gregorian_ticks(now: Now) -> Option<u64> {
    (now.unix_ns / 100).checked_add(epoch::GREGORIAN_TICKS)
}

fn uuid1(ticks: u64, process: u64) -> u128 {
    let ticks = u128::from(ticks);
    let (low, mid, high) = (ticks & 0xffff_ffff, ticks >> 32 & 0xffff, ticks >> 48);
    low << 96 | mid << 80 | 1 << 76 | high << 64 | VARIANT | u128::from(process)
}

fn uuid4(random: u128) -> u128 {
    const VERSION: u128 = 0xf << 76;
    random & !(VERSION | 0b11 << 62) | 4 << 76 | VARIANT
}

fn uuid6(ticks: u64, process: u64) -> u128 {
    let ticks = u128::from(ticks);
    ticks >> 12 << 80 | 6 << 76 | (ticks & 0xfff) << 64 | VARIANT | u128::from(process)
}

/// 44 bits of milliseconds and 20 of counter, then 54 random bits. The counter is in the 12 bits of
/// `rand_a` and the upper 8 of `rand_b`.
///
/// That is method 1 of RFC 9562, section 6.2, a counter of fixed length with a random start of 19
/// bits and a guard bit. Method 2, a random increment, needs more state than one atomic word;
/// method 3, a fraction of a millisecond, has room for 4096 ids in each, and would leave the clock
/// behind at full speed.
fn uuid7(time: u64, random: u64) -> u128 {
    let (ms, counter) = (
        u128::from(time >> COUNTER_BITS),
        u128::from(time & 0xf_ffff),
    );
    let (rand_a, high_b) = (counter >> 8, counter & 0xff);
    ms << 80 | 7 << 76 | rand_a << 64 | VARIANT | high_b << 54 | u128::from(random >> 10)
}

/// The time of RFC 9562, appendix B.1, in 10 ns since 1970, and 62 random bits.
fn uuid8(ticks: u64, random: u64) -> u128 {
    let ticks = u128::from(ticks);
    ticks >> 12 << 80 | 8 << 76 | (ticks & 0xfff) << 64 | VARIANT | u128::from(random >> 2)
}

/// 44 bits of milliseconds and 20 of counter, then 60 random bits. The specification's monotonic
/// ids are each the last one plus 1, so that who has one can guess the next; these cannot be.
fn ulid(time: u64, random: u64) -> u128 {
    let (ms, counter) = (
        u128::from(time >> COUNTER_BITS),
        u128::from(time & 0xf_ffff),
    );
    ms << 80 | counter << 60 | u128::from(random >> 4)
}

#[inline]
fn emit_128(number: u128, form: &Form, emit: &mut impl FnMut(&str)) {
    let uuid = Uuid::from_u128(number);
    match form {
        Form::Simple => emit(uuid.simple().encode_lower(&mut [0; 32])),
        Form::TypeId | Form::CrockfordLower => emit_crockford::<26>(number, CROCKFORD_LOWER, emit),
        Form::Crockford => emit_crockford::<26>(number, CROCKFORD, emit),
        _ => emit(uuid.hyphenated().encode_lower(&mut [0; 36])),
    }
}

#[inline]
fn emit_crockford<const LEN: usize>(number: u128, digits: &[u8; 32], emit: &mut impl FnMut(&str)) {
    emit(as_text(&bit_digits::<5, 32, LEN>(number, digits)));
}

/// A UUID as the last part of a TypeID.
#[cfg(test)]
pub(crate) fn type_id_text(uuid: Uuid) -> String {
    let mut text = String::new();
    emit_128(uuid.as_u128(), &Form::TypeId, &mut |id| text.push_str(id));
    text
}

pub(super) fn emit_tsid(number: u64, form: &Form, emit: &mut impl FnMut(&str)) {
    let wide = u128::from(number);
    let mut text = Digits::new();
    match form {
        Form::CrockfordLower => return emit_crockford::<13>(wide, CROCKFORD_LOWER, emit),
        Form::Hex => return emit(as_text(&bit_digits::<4, 16, 16>(wide, HEX))),
        Form::HexUpper => return emit(as_text(&bit_digits::<4, 16, 16>(wide, HEX_UPPER))),
        Form::Decimal => text.push_radix(number, 20, b"0123456789"),
        Form::Base62 => text.push_radix(number, 11, BASE62),
        _ => return emit_crockford::<13>(wide, CROCKFORD, emit),
    }
    emit(text.as_str());
}
