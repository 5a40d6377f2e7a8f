//! The published vectors of each family, and texts that no id has.

use leafid::Family;

use super::{DecodeError, Decoded, decode, old_object_id, type_id};
use crate::FamilyFormat;

/// Checks the time and the other parts, as `name value` joined by spaces.
fn check(decoded: Result<Decoded, DecodeError>, unix_ms: Option<i64>, parts: &str) {
    let decoded = decoded.unwrap();
    assert_eq!(decoded.unix_ms, unix_ms, "{decoded:?}");
    let found: Vec<String> = decoded.parts.iter().map(ToString::to_string).collect();
    assert_eq!(found.join(" "), parts);
}

/// Source: RFC 9562, appendices A and B; version 3, 5 and the second version 8 are in `recognise`.
#[test]
fn uuids_have_the_parts_of_the_rfc() {
    let unix_ms = Some(1_645_557_742_000);
    check(
        decode(Family::Uuid1, "C232AB00-9414-11EC-B3C8-9F6BDECED846"),
        unix_ms,
        "version 1 variant 2 clock_sequence 13256 node 9f6bdeced846",
    );
    check(
        decode(Family::Uuid4, "919108f7-52d1-4320-9bac-f847db4148a8"),
        None,
        "version 4 variant 2 random 2464423dd4b44c81bacf847db4148a8",
    );
    check(
        decode(Family::Uuid6, "1EC9414C-232A-6B00-B3C8-9F6BDECED846"),
        unix_ms,
        "version 6 variant 2 clock_sequence 13256 node 9f6bdeced846",
    );
    check(
        decode(Family::Uuid7, "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"),
        unix_ms,
        "version 7 variant 2 rand_a cc3 rand_b 18c4dc0c0c07398f",
    );
    check(
        decode(Family::Uuid8, "2489E9AD-2EE2-8E00-8EC9-32D5F69181C0"),
        unix_ms,
        "version 8 variant 2 random 0ec932d5f69181c0",
    );
}

/// Source: ulid/spec, and its JavaScript library.
#[test]
fn ulids_have_their_time_and_uuid() {
    let check = |text: &str, unix_ms: i64, random: &str| {
        let decoded = decode(Family::Ulid, text).unwrap();
        assert_eq!(decoded.unix_ms, Some(unix_ms));
        assert_eq!(decoded.part("random").unwrap().to_string(), random);
        assert_eq!(
            decode(Family::Ulid, &text.to_lowercase()),
            Ok(decoded.clone())
        );
        let uuid = decoded.part("uuid").unwrap().to_string();
        assert_eq!(decode(Family::Ulid, &uuid), Ok(decoded));
    };
    check(
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        1_469_922_850_259,
        "d6764c61efb99302bd5b",
    );
    check(
        "01BX5ZZKBKACTAV9WEVGEMMVRZ",
        1_508_808_576_371,
        "5334ada78edc1d4a6f1f",
    );
    check(
        "01BX5ZZKBKACTAV9WEVGEMMVS0",
        1_508_808_576_371,
        "5334ada78edc1d4a6f20",
    );
    check(
        "01BX5ZZKBKZZZZZZZZZZZZZZZZ",
        1_508_808_576_371,
        "ffffffffffffffffffff",
    );
    check(
        "01ARYZ6S410000000000000000",
        1_469_918_176_385,
        "00000000000000000000",
    );
    check(
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        281_474_976_710_655,
        "ffffffffffffffffffff",
    );
    let time = decode(Family::Ulid, "01AN4Z07BY79KA1307SR9X4MV3")
        .unwrap()
        .unix_ms;
    assert_eq!(time, Some(1_465_824_320_894));
    let uuid = decode(Family::Ulid, "01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap();
    let uuid = uuid.part("uuid").unwrap().to_string();
    assert_eq!(uuid, "01563e3a-b5d3-d676-4c61-efb99302bd5b");
}

/// Source: segmentio/ksuid.
#[test]
fn ksuids_have_a_second_and_random_bits() {
    let check = |text: &str, second: i64, random: &str| {
        let parts = format!("random {random}");
        check(
            decode(Family::Ksuid, text),
            Some((1_400_000_000 + second) * 1000),
            &parts,
        );
    };
    check(
        "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
        107_608_047,
        "b5a1cd34b5f99d1154fb6853345c9735",
    );
    check(
        "0ujzPyRiIAffKhBux4PvQdDqMHY",
        107_610_780,
        "73fc1aa3b2446246d6e89fcd909e8fe8",
    );
    check(
        "0ujsswThIGTUYm2K8FjOOfXtY1K",
        0x0669_f605,
        "67ad536455c1813d788f57ca54679412",
    );
    check(
        "000000000000000000000000000",
        0,
        "00000000000000000000000000000000",
    );
    check(
        "aWgEPTl1tmebfsQzFP4bxwgy80V",
        0xffff_ffff,
        "ffffffffffffffffffffffffffffffff",
    );
}

/// Source: f4b6a3/tsid-creator.
#[test]
fn tsids_have_a_time_in_each_form() {
    let time_and_parts = |text: &str| {
        let decoded = decode(Family::Tsid, text).unwrap();
        let parts: Vec<String> = decoded.parts.iter().map(ToString::to_string).collect();
        (decoded.unix_ms.unwrap(), parts.join(" "))
    };
    let of_april = (1_586_989_862_458, String::from("node 74 counter 2412"));
    for text in ["0123456789ABC", "o123456789abc", "0L23456789aBc"] {
        assert_eq!(time_and_parts(text), of_april, "{text}");
    }
    let number = 38_390_726_480_144_748_u64;
    for text in [
        format!("{number:016x}"),
        format!("{number:016X}"),
        format!("{number:020}"),
    ] {
        assert_eq!(time_and_parts(&text), of_april, "{text}");
    }
    assert_eq!(time_and_parts("02ppSGe8nKG"), of_april);
    assert_eq!(time_and_parts("0000000000000").0, 1_577_836_800_000);
    assert_eq!(time_and_parts("FZZZZZZZZZZZZ").0, 5_975_883_311_103);
    let number = format!("{:020}", 38_352_658_567_418_872_u64);
    assert_eq!(time_and_parts("01221H8Q1MMZR"), time_and_parts(&number));
}

/// Source: the specification of `ObjectId` in mongodb/specifications, and the BSON corpus.
#[test]
fn object_ids_have_a_second_and_a_counter_in_both_layouts() {
    let at = |second: &str, unix_s: i64| {
        let text = format!("{second}bcf86cd799439011");
        let parts = "random bcf86cd799 counter 4427793";
        check(decode(Family::ObjectId, &text), Some(unix_s * 1000), parts);
    };
    at("00000000", 0);
    at("7FFFFFFF", 2_147_483_647);
    at("80000000", 2_147_483_648);
    at("FFFFFFFF", 4_294_967_295);
    at("507f1f77", 1_350_508_407);
    let text = "56e1fc72e0c917e9c4714161";
    let unix_ms = Some(1_457_650_802_000);
    check(
        decode(Family::ObjectId, text),
        unix_ms,
        "random e0c917e9c4 counter 7422305",
    );
    check(
        old_object_id(text),
        unix_ms,
        "machine e0c917 process 59844 counter 7422305",
    );
    let old = "machine bcf86c process 55193 counter 4427793";
    check(
        old_object_id("507f1f77bcf86cd799439011"),
        Some(1_350_508_407_000),
        old,
    );
}

/// Source: rs/xid.
#[test]
fn xids_have_machine_process_and_counter() {
    check(
        decode(Family::Xid, "9m4e2mr0ui3e8a215n4g"),
        Some(1_300_816_219_000),
        "machine 60f486 process 58408 counter 4271561",
    );
    assert_eq!(
        decode(Family::Xid, "9m4e2mr0ui3e8a215n4h"),
        Err(DecodeError::TooLarge { bits: 96 })
    );
}

/// Source: the alphabet and the widths in CosId's sources.
#[test]
fn cosids_have_a_time_a_machine_and_a_sequence() {
    let unix_ms = Some(1_704_265_904_677);
    let parts = "machine 5 sequence 3905";
    for text in [
        "0U0HW3Mr000510z",
        "0LQXFX06D0005030H",
        "20240103071144677-0000005-03905",
        "20240103071144677-5-3905",
    ] {
        check(decode(Family::CosId, text), unix_ms, parts);
    }
    let refused = |text: &str, error: &str| {
        let found = decode(Family::CosId, text).unwrap_err();
        assert_eq!(found.to_string(), error, "{text}");
    };
    refused("zzzzzzzz0000000", "the id is larger than any of 44 bits");
    refused("0U0HW3Mrzzzz000", "the id is larger than any of 20 bits");
    refused("0U0HW3Mr0000zzz", "the id is larger than any of 16 bits");
    refused(
        "20240103071144677-5",
        "the id has 19 characters and needs 15",
    );
    refused(
        "20240230071144677-5-1",
        "the id begins with a date that does not exist",
    );
    assert!(decode(Family::CosId, "20240103071144677--1").is_err());
    refused(
        "20240103071144677-5-99999",
        "the id is larger than any of 16 bits",
    );
    refused(
        "0U0HW3Mr00é100z",
        "'é' at character 11 is not a character of such an id",
    );
}

#[test]
fn what_no_id_of_the_family_is_written_as_is_refused() {
    let check = |family: Family, text: &str, error: &str| {
        let refused = decode(family, text).unwrap_err();
        assert_eq!(refused.to_string(), error, "{family} {text}");
    };
    let large = |bits: u32| format!("the id is larger than any of {bits} bits");
    check(Family::Ulid, "80000000000000000000000000", &large(128));
    check(Family::Ulid, "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", &large(128));
    check(Family::Ulid, "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", &large(128));
    check(Family::Ksuid, "aWgEPTl1tmebfsQzFP4bxwgy80W", &large(160));
    check(Family::Ksuid, "zzzzzzzzzzzzzzzzzzzzzzzzzzz", &large(160));
    check(Family::Tsid, "G000000000000", &large(64));
    check(Family::Tsid, "18446744073709551616", &large(64));
    check(Family::Tsid, "zzzzzzzzzzz", &large(64));
    let wrong = |character: char, position: usize| {
        format!("{character:?} at character {position} is not a character of such an id")
    };
    check(Family::Ulid, "01ARZ3NDEKTSV4RRFFQ69G5FAU", &wrong('U', 26));
    check(Family::Ulid, "O1ARZ3NDEKTSV4RRFFQ69G5FAV", &wrong('O', 1));
    check(Family::Tsid, "0123456789ABU", &wrong('U', 13));
    check(
        Family::Ksuid,
        "0ujtsYcgvSTl8PAuAdqWYSMnL_v",
        &wrong('_', 26),
    );
    check(
        Family::ObjectId,
        "507f1f77bcf86cd79943901g",
        &wrong('g', 24),
    );
    check(Family::Xid, "9M4e2mr0ui3e8a215n4g", &wrong('M', 2));
    check(Family::NanoId, "V1StGXR8_Z5jdHi6B.myT", &wrong('.', 18));
    check(Family::Cuid2, "1z4a98xxat96iws9zmbrgj3a", &wrong('1', 1));
    check(
        Family::Uuid7,
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398é",
        &wrong('é', 36),
    );
    check(
        Family::Uuid7,
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398G",
        &wrong('G', 36),
    );
    check(
        Family::Uuid7,
        "017F22E279B0-7CC3-98C4-DC0C0C07-398F",
        &wrong('7', 9),
    );
    check(
        Family::Uuid7,
        "{17F22E2-79B0-7CC3-98C4-DC0C0C07398}",
        &wrong('{', 1),
    );
    let versions = "the UUID has version 7, not 4";
    check(
        Family::Uuid4,
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
        versions,
    );
    let variant = "the variant of the UUID is not that of RFC 9562";
    check(
        Family::Uuid7,
        "017F22E2-79B0-7CC3-18C4-DC0C0C07398F",
        variant,
    );
    let len = |found: usize, expected: &str| {
        format!("the id has {found} characters and needs {expected}")
    };
    check(Family::Uuid7, "", &len(0, "36"));
    check(Family::Ulid, "01ARZ3NDEKTSV4RRFFQ69G5FA", &len(25, "26"));
    check(
        Family::Ksuid,
        "0ujtsYcgvSTl8PAuAdqWYSMnLOv0",
        &len(28, "27"),
    );
    check(Family::ObjectId, "56E1FC72E0C917E9C471", &len(20, "24"));
    check(Family::Tsid, "0123456789AB", &len(12, "13"));
}

#[test]
fn a_format_reads_what_it_wrote_and_nothing_else() {
    let families = crate::Families::new(std::sync::Arc::new(leafid::SystemClock::new()));
    for family in Family::ALL {
        for form in [
            "",
            " form=simple",
            " form=typeid",
            " form=uuid",
            " form=hex",
            " form=radix36",
            " form=friendly",
            " length=30",
        ] {
            let text = format!("a_{{id{form}}}");
            let Ok(format) = FamilyFormat::compile(family, Some(&text)) else {
                continue;
            };
            for id in families.next_many(&format, 50).unwrap() {
                let decoded = format.decode(&id);
                assert!(decoded.is_ok(), "{family} {id} {decoded:?}");
                assert!(format.decode(&id[2..]).is_err());
                assert!(format.decode(&id[..id.len() - 1]).is_err());
            }
        }
    }
}

#[test]
fn random_texts_never_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let signs: Vec<char> = "0123456789abcdefzZGU-_é{}\u{0} \u{10ffff}"
        .chars()
        .collect();
    for _ in 0..20_000 {
        let len = random.usize(0..40);
        let text: String = (0..len)
            .map(|_| signs[random.usize(..signs.len())])
            .collect();
        for family in Family::ALL {
            let _ = decode(family, &text);
        }
        let _ = type_id(&text);
    }
}
