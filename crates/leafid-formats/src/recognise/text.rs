//! Readings of texts: each family with a shape of its own.

use leafid::Family;
use uuid::Uuid;

use super::{Candidate, born};
use crate::decode::{Decoded, decode, is_rfc_9562, old_object_id, type_id, uuid};

/// 2018-01-01, the year in which drivers changed to 5 random bytes.
const OBJECT_ID_CHANGED_MS: i64 = 1_514_764_800_000;
pub(super) fn candidates(text: &str) -> Vec<Candidate> {
    let families = [
        uuids, type_ids, ulids, ksuids, object_ids, xids, tsids, cosids, cuid2s, nanoids,
    ];
    families.iter().flat_map(|read| read(text)).collect()
}

fn one(name: &'static str, decoded: Decoded, base: u8, born_ms: i64) -> Vec<Candidate> {
    vec![Candidate {
        name,
        layout: None,
        decoded,
        base,
        born_ms,
    }]
}

fn has_capital(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn has_small(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// UUIDs of every version and variant, with hyphens or without.
fn uuids(text: &str) -> Vec<Candidate> {
    let (read, base) = match text.len() {
        36 => (text.parse::<uuid::fmt::Hyphenated>().map(Uuid::from), 90),
        32 => (text.parse::<uuid::fmt::Simple>().map(Uuid::from), 70),
        _ => return Vec::new(),
    };
    let Ok(read) = read else {
        return Vec::new();
    };
    let name = uuid_name(read);
    let decoded = uuid(read, false);
    // Without hyphens, digits that only look like a UUID are often something else.
    let is_other = name == "uuid" && base == 70;
    one(
        name,
        decoded,
        if is_other { 30 } else { base },
        born::of_uuid(read),
    )
}

fn uuid_name(uuid: Uuid) -> &'static str {
    if uuid.is_nil() {
        return "uuid-nil";
    }
    if uuid.is_max() {
        return "uuid-max";
    }
    match uuid.get_version_num() {
        _ if !is_rfc_9562(uuid) => "uuid",
        1 => "uuid1",
        2 => "uuid2",
        3 => "uuid3",
        4 => "uuid4",
        5 => "uuid5",
        6 => "uuid6",
        7 => "uuid7",
        8 => "uuid8",
        _ => "uuid",
    }
}

/// With a prefix it is hardly anything else; without, it is a ULID in small letters too.
fn type_ids(text: &str) -> Vec<Candidate> {
    let Ok((read, decoded)) = type_id(text) else {
        return Vec::new();
    };
    let has_prefix = decoded.part("prefix").is_some();
    let base = match (has_prefix, read.get_version_num()) {
        (true, _) => 95,
        (false, 7) if is_rfc_9562(read) => 80,
        (false, _) => 50,
    };
    one("typeid", decoded, base, born::of_uuid(read))
}

fn ulids(text: &str) -> Vec<Candidate> {
    if text.len() != 26 {
        return Vec::new();
    }
    let base = match (has_capital(text), has_small(text)) {
        (true, true) => 60,
        (_, false) => 90,
        (false, true) => 70,
    };
    let decoded = decode(Family::Ulid, text).into_iter();
    decoded
        .flat_map(|decoded| one("ulid", decoded, base, born::of_family(Family::Ulid)))
        .collect()
}

fn ksuids(text: &str) -> Vec<Candidate> {
    let decoded = decode(Family::Ksuid, text).into_iter();
    decoded
        .flat_map(|decoded| one("ksuid", decoded, 85, born::of_family(Family::Ksuid)))
        .collect()
}

fn object_ids(text: &str) -> Vec<Candidate> {
    let (Ok(new), Ok(old)) = (decode(Family::ObjectId, text), old_object_id(text)) else {
        return Vec::new();
    };
    let is_old = new.unix_ms.is_some_and(|ms| ms < OBJECT_ID_CHANGED_MS);
    let (new_base, old_base) = if is_old { (80, 85) } else { (85, 60) };
    let born_ms = born::of_family(Family::ObjectId);
    let mut found = one("objectid", new, new_base, born_ms);
    found.extend(one("objectid-old", old, old_base, born_ms));
    found
}

fn xids(text: &str) -> Vec<Candidate> {
    let decoded = decode(Family::Xid, text).into_iter();
    decoded
        .flat_map(|decoded| one("xid", decoded, 80, born::of_family(Family::Xid)))
        .collect()
}

fn tsids(text: &str) -> Vec<Candidate> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let base = match text.len() {
        13 if is_number => 30,
        13 if has_small(text) && has_capital(text) => 40,
        13 if has_small(text) => 60,
        13 => 80,
        16 if !is_number => 45,
        11 if !is_number => 25,
        _ => return Vec::new(),
    };
    let decoded = decode(Family::Tsid, text).into_iter();
    decoded
        .flat_map(|decoded| one("tsid", decoded, base, born::UNKNOWN_MS))
        .collect()
}

/// Its times have some 3 in 10,000 of all texts of that length, and friendly ones a date.
fn cosids(text: &str) -> Vec<Candidate> {
    let base = if text.contains('-') { 90 } else { 75 };
    let decoded = decode(Family::CosId, text).into_iter();
    decoded
        .flat_map(|decoded| one("cosid", decoded, base, born::of_family(Family::CosId)))
        .collect()
}

fn cuid2s(text: &str) -> Vec<Candidate> {
    let decoded = decode(Family::Cuid2, text).into_iter();
    decoded
        .flat_map(|decoded| one("cuid2", decoded, 55, born::UNKNOWN_MS))
        .collect()
}

/// A hyphen or an underscore is in half of them, and in nothing else of that length.
fn nanoids(text: &str) -> Vec<Candidate> {
    let has_sign = text.contains(['-', '_']);
    let base = if has_sign { 60 } else { 40 };
    let decoded = decode(Family::NanoId, text).into_iter();
    decoded
        .flat_map(|decoded| one("nanoid", decoded, base, born::UNKNOWN_MS))
        .collect()
}
