//! Each form of each family, read.

use leafid::Family;
use uuid::Uuid;

use super::read_digits::Digits;
use super::{DecodeError, Decoded, is_rfc_9562, uuid};
use crate::families::digits as alphabets;
use crate::families::{Form, cosid, epoch, is_type_id_prefix};

const CROCKFORD: Digits = Digits::exact(alphabets::CROCKFORD).any_case();
const CROCKFORD_LOWER: Digits = Digits::exact(alphabets::CROCKFORD_LOWER);
const HEX: Digits = Digits::exact(alphabets::HEX).any_case();
const HEX32: Digits = Digits::exact(alphabets::HEX32);
const BASE62: Digits = Digits::exact(alphabets::BASE62);
const BASE36_UPPER: Digits = Digits::exact(alphabets::BASE36_UPPER);
const DECIMAL: Digits = Digits::exact(b"0123456789");

/// Where the hyphens of a UUID are.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

pub(super) fn decode(family: Family, form: &Form, text: &str) -> Result<Decoded, DecodeError> {
    match family {
        Family::Uuid1 => of_version(1, form, text),
        Family::Uuid4 => of_version(4, form, text),
        Family::Uuid6 => of_version(6, form, text),
        Family::Uuid7 => of_version(7, form, text),
        Family::Uuid8 => of_version(8, form, text),
        Family::Ulid => number128(form, text).map(ulid),
        Family::Ksuid => ksuid(text),
        Family::Tsid => tsid(form, text),
        Family::ObjectId => object_id(text),
        Family::Xid => xid(text),
        Family::CosId => cosid(form, text),
        _ => symbols(family, form, text),
    }
}

/// A number of 128 bits in a form of UUID, ULID or TypeID.
fn number128(form: &Form, text: &str) -> Result<u128, DecodeError> {
    match form {
        Form::Hyphenated => {
            for (at, character) in text.char_indices() {
                if HYPHENS.contains(&at) != (character == '-') {
                    let position = at + 1;
                    return match text.len() == 36 {
                        true => Err(DecodeError::BadCharacter {
                            character,
                            position,
                        }),
                        false => Err(length(text, "36")),
                    };
                }
            }
            let digits: String = text.chars().filter(|character| *character != '-').collect();
            HEX.read(&digits, 32, 128).map_err(|error| match error {
                DecodeError::Length { .. } => length(text, "36"),
                // The position in the text with hyphens.
                DecodeError::BadCharacter { character, .. } => DecodeError::BadCharacter {
                    character,
                    position: text.find(character).unwrap_or_default() + 1,
                },
                error => error,
            })
        }
        Form::Simple => HEX.read(text, 32, 128),
        Form::TypeId => CROCKFORD_LOWER.read(text, 26, 128),
        _ => CROCKFORD.read(text, 26, 128),
    }
}

fn length(text: &str, expected: &str) -> DecodeError {
    DecodeError::Length {
        found: text.chars().count(),
        expected: expected.to_owned(),
    }
}

fn of_version(expected: u8, form: &Form, text: &str) -> Result<Decoded, DecodeError> {
    let read = Uuid::from_u128(number128(form, text)?);
    let found = (read.as_u128() >> 76 & 0xf).to_le_bytes()[0];
    if !is_rfc_9562(read) {
        return Err(DecodeError::Variant);
    }
    if found != expected {
        return Err(DecodeError::Version { found, expected });
    }
    let decoded = uuid(read, true);
    Ok(match form {
        Form::Hyphenated => decoded,
        _ => decoded.text("uuid", read.to_string()),
    })
}

fn ulid(number: u128) -> Decoded {
    let decoded = Decoded::new(i64::try_from(number >> 80).ok());
    let decoded = decoded.hex("random", number & (u128::MAX >> 48), 20);
    decoded.text("uuid", Uuid::from_u128(number).to_string())
}

fn ksuid(text: &str) -> Result<Decoded, DecodeError> {
    let (second, random) = BASE62.read_160(text, 27)?;
    let unix_ms = (epoch::KSUID_S.cast_signed() + i64::from(second)) * 1000;
    Ok(Decoded::new(Some(unix_ms)).hex("random", random, 32))
}

fn tsid(form: &Form, text: &str) -> Result<Decoded, DecodeError> {
    let number = match form {
        Form::Hex | Form::HexUpper => HEX.read(text, 16, 64),
        Form::Decimal => DECIMAL.read(text, 20, 64),
        Form::Base62 => BASE62.read(text, 11, 64),
        _ => CROCKFORD.misread().read(text, 13, 64),
    };
    let number = number?.to_le_bytes();
    let number = u64::from_le_bytes(number.first_chunk().copied().unwrap_or_default());
    Ok(tsid_parts(number))
}

/// The parts of a TSID with 10 bits of node, as most have.
pub(crate) fn tsid_parts(number: u64) -> Decoded {
    let unix_ms = (number >> 22).saturating_add(epoch::TSID_MS).cast_signed();
    Decoded::new(Some(unix_ms))
        .number("node", number >> 12 & 0x3ff)
        .number("counter", number & 0xfff)
}

/// Second, process (40 bits) and counter of 96 bits.
fn second_process_counter(number: u128) -> (Option<i64>, u128, u64) {
    let unix_ms = i64::try_from(number >> 64).ok().map(|second| second * 1000);
    let counter = u64::try_from(number & 0xff_ffff).unwrap_or_default();
    (unix_ms, number >> 24 & 0xff_ffff_ffff, counter)
}

fn object_id(text: &str) -> Result<Decoded, DecodeError> {
    let (unix_ms, process, counter) = second_process_counter(HEX.read(text, 24, 96)?);
    let decoded = Decoded::new(unix_ms).hex("random", process, 10);
    Ok(decoded.number("counter", counter))
}

/// The layout of `ObjectId` until 2018: a machine and a process in place of 5 random bytes.
pub(crate) fn old_object_id(text: &str) -> Result<Decoded, DecodeError> {
    let (unix_ms, process, counter) = second_process_counter(HEX.read(text, 24, 96)?);
    let decoded = Decoded::new(unix_ms).hex("machine", process >> 16, 6);
    let process = u64::try_from(process & 0xffff).unwrap_or_default();
    Ok(decoded
        .number("process", process)
        .number("counter", counter))
}

fn xid(text: &str) -> Result<Decoded, DecodeError> {
    let number = HEX32.read(text, 20, 100)?;
    if number & 0xf != 0 {
        // The last digit has one bit of the id; a text with more is not what an id is written as.
        return Err(DecodeError::TooLarge { bits: 96 });
    }
    let (unix_ms, process, counter) = second_process_counter(number >> 4);
    let decoded = Decoded::new(unix_ms).hex("machine", process >> 16, 6);
    let process = u64::try_from(process & 0xffff).unwrap_or_default();
    Ok(decoded
        .number("process", process)
        .number("counter", counter))
}

/// The widths of time, machine and sequence.
fn cosid(form: &Form, text: &str) -> Result<Decoded, DecodeError> {
    let (digits, lens) = match form {
        Form::Friendly => return friendly(text),
        Form::Radix36 => (BASE36_UPPER, [9, 4, 4]),
        _ => (BASE62, [8, 4, 3]),
    };
    let len = lens.iter().sum::<usize>();
    digits.read(text, len, u128::BITS)?; // checks the length and every character, for the cuts below
    let (time, rest) = text.split_at(lens[0]);
    let (machine, sequence) = rest.split_at(lens[1]);
    let [time, machine, sequence] = [
        digits.read(time, lens[0], cosid::TIME_BITS)?,
        digits.read(machine, lens[1], cosid::MACHINE_BITS)?,
        digits.read(sequence, lens[2], cosid::SEQUENCE_BITS)?,
    ]
    .map(low64);
    Ok(cosid_parts(time, machine, sequence))
}

/// A date in UTC, machine and sequence, with leading zeros or without.
fn friendly(text: &str) -> Result<Decoded, DecodeError> {
    let mut parts = text.splitn(3, '-');
    let [Some(date), Some(machine), Some(sequence)] = [(); 3].map(|()| parts.next()) else {
        return Err(length(text, "21 to 31"));
    };
    let number = |text: &str, len_max: usize, bits: u32| {
        let len = text.len().clamp(1, len_max);
        DECIMAL.read(text, len, bits).map(low64)
    };
    let machine = number(machine, 7, cosid::MACHINE_BITS)?;
    let sequence = number(sequence, 5, cosid::SEQUENCE_BITS)?;
    let time = cosid::read_date(date).ok_or(DecodeError::Date)?;
    match time >> cosid::TIME_BITS {
        0 => Ok(cosid_parts(time, machine, sequence)),
        _ => Err(DecodeError::TooLarge { bits: 80 }),
    }
}

fn cosid_parts(time: u64, machine: u64, sequence: u64) -> Decoded {
    let decoded = Decoded::new(i64::try_from(time).ok());
    let decoded = decoded.number("machine", machine);
    decoded.number("sequence", sequence)
}

/// A number of at most 64 bits.
fn low64(number: u128) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// NanoID and CUID2: nothing can be read from them but that the symbols are theirs.
fn symbols(family: Family, form: &Form, text: &str) -> Result<Decoded, DecodeError> {
    let Form::Symbols { len, alphabet } = form else {
        return Err(length(text, "1 or more"));
    };
    if text.chars().count() != *len {
        return Err(length(text, &len.to_string()));
    }
    let is_first_letter = |at: usize| family == Family::Cuid2 && at == 0;
    let bad = text.char_indices().find(|(at, character)| {
        let byte = u8::try_from(*character).ok().filter(u8::is_ascii);
        let known = byte.is_some_and(|byte| alphabet.contains(&byte));
        !known || is_first_letter(*at) && !character.is_ascii_lowercase()
    });
    match bad {
        None => Ok(Decoded::new(None)),
        Some((at, character)) => Err(DecodeError::BadCharacter {
            character,
            position: at + 1,
        }),
    }
}

/// A TypeID: an optional prefix, and any UUID. Source: the TypeID specification 0.3.
pub(crate) fn type_id(text: &str) -> Result<(Uuid, Decoded), DecodeError> {
    let (prefix, id) = match text.rsplit_once('_') {
        Some((prefix, id)) if is_type_id_prefix(prefix) => (Some(prefix), id),
        Some(_) => return Err(DecodeError::TypeIdPrefix),
        None => (None, text),
    };
    let read = Uuid::from_u128(CROCKFORD_LOWER.read(id, 26, 128)?);
    let mut decoded = uuid(read, false);
    if let Some(prefix) = prefix {
        decoded = decoded.text("prefix", prefix);
    }
    Ok((read, decoded.text("uuid", read.to_string())))
}
