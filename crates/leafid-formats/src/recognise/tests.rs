//! Real texts of each family come first; random ones never panic.

use std::sync::Arc;

use leafid::{Family, SystemClock};

use super::{Mark, Recognised, recognise};
use crate::{Families, FamilyFormat};

/// 2026-11-22T00:00:00Z.
const NOW_MS: i64 = 1_795_305_600_000;

fn names(text: &str) -> Vec<&'static str> {
    let readings = recognise(text, NOW_MS);
    assert!(readings.is_sorted_by(|a, b| a.score >= b.score));
    readings.iter().map(|reading| reading.name).collect()
}

fn reading(text: &str, name: &str) -> Recognised {
    let mut readings = recognise(text, NOW_MS).into_iter();
    readings.find(|reading| reading.name == name).unwrap()
}

#[test]
fn real_texts_are_recognised_first() {
    let check = |text: &str, expected: &[&str]| assert_eq!(names(text), expected, "{text}");
    check("C232AB00-9414-11EC-B3C8-9F6BDECED846", &["uuid1"]);
    check("5df41881-3aed-3515-88a7-2f4a814cf09e", &["uuid3"]);
    check("919108f7-52d1-4320-9bac-f847db4148a8", &["uuid4"]);
    check("2ed6657d-e927-568b-95e1-2665a8aea6a2", &["uuid5"]);
    check("1EC9414C-232A-6B00-B3C8-9F6BDECED846", &["uuid6"]);
    check("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", &["uuid7"]);
    check("5c146b14-3c52-8afd-938a-375d0df1fbf6", &["uuid8"]);
    check("017F22E279B07CC398C4DC0C0C07398F", &["uuid7"]);
    check("00000000-0000-0000-0000-000000000000", &["uuid-nil"]);
    check("ffffffff-ffff-ffff-ffff-ffffffffffff", &["uuid-max"]);
    check("prefix_01h455vb4pex5vsknk084sn02q", &["typeid"]);
    check("01h455vb4pex5vsknk084sn02q", &["typeid", "ulid"]);
    check("01ARZ3NDEKTSV4RRFFQ69G5FAV", &["ulid"]);
    check("01arz3ndektsv4rrffq69g5fav", &["ulid", "typeid"]);
    check("0ujtsYcgvSTl8PAuAdqWYSMnLOv", &["ksuid"]);
    check("507f1f77bcf86cd799439011", &["objectid-old", "objectid"]);
    check("6740a1f0bcf86cd799439011", &["objectid", "objectid-old"]);
    check("01221H8Q1MMZR", &["tsid"]);
    check("cn7p5v3q1m0c73f9q0g0", &["xid"]);
    check("0U0HW3Mr000510z", &["cosid"]);
    check("0LQXFX06D0005030H", &["cosid"]);
    check("20240103071144677-5-3905", &["cosid"]);
    check("V1StGXR8_Z5jdHi6B-myT", &["nanoid"]);
    check("tz4a98xxat96iws9zmbrgj3a", &["cuid2"]);
}

#[test]
fn what_a_family_writes_is_recognised_first() {
    let families = Families::new(Arc::new(SystemClock::new()));
    let now_ms = i64::MAX;
    for family in Family::ALL {
        let format = FamilyFormat::compile(family, None).unwrap();
        let ids = families.next_many(&format, 300).unwrap();
        for id in ids {
            let readings = recognise(&id, now_ms);
            let first = readings.first().map(|reading| reading.name);
            // 20 digits of 32 may look like something else by chance, so XID is only among them.
            let is_found = readings.iter().any(|reading| reading.name == family.name());
            assert!(is_found, "{family} {id}");
            let may_be_another = matches!(family, Family::Tsid | Family::Cuid2);
            assert!(
                may_be_another || first == Some(family.name()),
                "{family} {id} {first:?}"
            );
        }
    }
}

/// Source of the vectors: the handbook's sample, Discord's and Twitter's own ids, others computed.
#[test]
fn numbers_are_read_by_every_layout() {
    let check = |text: &str, name: &str, unix_ms: i64, parts: &str| {
        let found = reading(text, name);
        assert_eq!(found.decoded.unix_ms, Some(unix_ms), "{text} {name}");
        let read: Vec<String> = found
            .decoded
            .parts
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(read.join(" "), parts, "{text} {name}");
    };
    check(
        "1541815603606036480",
        "twitter",
        1_656_432_460_105,
        "data_center 11 worker 26 sequence 0",
    );
    check(
        "175928847299117063",
        "discord",
        1_462_015_105_796,
        "data_center 1 worker 0 sequence 7",
    );
    check(
        "2397296212031050759",
        "instagram",
        1_600_000_000_000,
        "worker 5 sequence 7",
    );
    check(
        "16908291",
        "sonyflake-v1",
        1_409_529_600_010,
        "worker 3 sequence 2",
    );
    check(
        "16908291",
        "sonyflake-v2",
        1_735_689_600_010,
        "worker 3 sequence 2",
    );
    check(
        "180363646902239241",
        "baidu",
        1_468_922_873_000,
        "worker 4 sequence 9",
    );
    check(
        "91543914239533056",
        "ecp-uid",
        1_535_956_969_958,
        "data_center 12 worker 10 sequence 0",
    );
    check(
        "38390726480144748",
        "tsid",
        1_586_989_862_458,
        "node 74 counter 2412",
    );
    assert_eq!(
        names("38390726480144748")
            .iter()
            .filter(|name| **name == "cosid-snowflake")
            .count(),
        1
    );
    assert_eq!(names("1000")[0], "segment");
    assert_eq!(names("175928847299117063")[0], "discord");
    assert_eq!(names("18446744073709551615"), ["discord", "tsid"]);
    assert!(names("18446744073709551616").is_empty());
    assert_eq!(names("007"), [""; 0]);
    assert_eq!(names("00000000000000000000"), ["tsid", "xid"]);
    assert_eq!(names("00038390726480144748"), ["tsid"]);
}

#[test]
fn impossible_times_are_marked_and_come_last() {
    let check = |text: &str, name: &str, marks: &[Mark]| {
        assert_eq!(reading(text, name).marks, marks, "{text} {name}");
    };
    check("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ulid", &[Mark::Future]);
    check(
        "00000000000000000000000000",
        "ulid",
        &[Mark::BeforeItsFamily],
    );
    check(
        "000000000000000000000000",
        "objectid",
        &[Mark::BeforeItsFamily],
    );
    check("ffffffffffffffffffffffff", "objectid", &[Mark::Future]);
    check(
        "00000000-0000-1000-8000-000000000000",
        "uuid1",
        &[Mark::BeforeItsFamily],
    );
    check("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuid7", &[]);
    check("18446744073709551615", "discord", &[Mark::Future]);
    let minute_after = |ms: i64| format!("{:012x}", NOW_MS + ms);
    let uuid7 = |hex: String| format!("{}-{}-7000-8000-000000000000", &hex[..8], &hex[8..]);
    check(&uuid7(minute_after(60_000)), "uuid7", &[]);
    check(&uuid7(minute_after(60_001)), "uuid7", &[Mark::Future]);
}

#[test]
fn random_texts_never_panic_and_are_in_a_fixed_order() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let alphabets = [
        "0123456789",
        "0123456789abcdef-",
        "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    ];
    for round in 0..30_000 {
        let len = random.usize(0..45);
        let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
        let text = match alphabets.get(round % 4) {
            None => String::from_utf8_lossy(&bytes).into_owned(),
            Some(alphabet) => {
                let signs = bytes.iter().map(|byte| usize::from(*byte) % alphabet.len());
                signs
                    .map(|sign| char::from(alphabet.as_bytes()[sign]))
                    .collect()
            }
        };
        let now_ms = random.i64(..);
        let readings = recognise(&text, now_ms);
        assert_eq!(readings, recognise(&text, now_ms));
        assert!(
            readings.iter().all(|reading| reading.score <= 100),
            "{text:?}"
        );
    }
    assert!(recognise(&"1".repeat(129), NOW_MS).is_empty());
    assert!(recognise("", NOW_MS).is_empty());
}
