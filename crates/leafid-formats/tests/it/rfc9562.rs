//! The test vectors of RFC 9562: all of appendix A and appendix B, with the fields that they list.

use leafid::Family;
use leafid_formats::{Decoded, PartValue, decode, recognise};
use md5::{Digest as _, Md5};
use sha1::Sha1;
use sha2::Sha256;

/// 2022-02-22T19:22:22Z, the time of all vectors that have one.
const UNIX_MS: i64 = 1_645_557_742_000;
/// The namespace of domain names, section 6.6, and the name of A.2, A.4 and B.2.
const DNS: u128 = 0x6ba7b810_9dad_11d1_80b4_00c04fd430c8;
const NAME: &str = "www.example.com";

/// The reading of a UUID without a tag, which must be its version.
#[track_caller]
fn read(text: &str, name: &str) -> Decoded {
    for text in [text.to_lowercase(), text.to_uppercase()] {
        let readings = recognise(&text, UNIX_MS);
        assert_eq!(readings[0].name, name, "{text}");
        assert!(readings[0].marks.is_empty(), "{readings:?}");
    }
    recognise(text, UNIX_MS).remove(0).decoded
}

#[track_caller]
fn check(decoded: &Decoded, fields: &[(&str, PartValue)]) {
    for (name, value) in fields {
        assert_eq!(decoded.part(name), Some(value), "{decoded:?}");
    }
    assert_eq!(decoded.part("variant"), Some(&PartValue::Number(0b10)));
}

fn number(number: u64) -> PartValue {
    PartValue::Number(number)
}

fn hex(digits: &str) -> PartValue {
    PartValue::Hex(digits.to_owned())
}

#[test]
fn appendix_a_1_version_1() {
    let text = "C232AB00-9414-11EC-B3C8-9F6BDECED846";
    let fields = [
        ("version", number(1)),
        ("clock_sequence", number(0x33c8)),
        ("node", hex("9f6bdeced846")),
    ];
    let decoded = read(text, "uuid1");
    assert_eq!(decoded.unix_ms, Some(UNIX_MS));
    check(&decoded, &fields);
    assert_eq!(decode(Family::Uuid1, text), Ok(decoded));
}

/// Writes version and variant over the first 16 bytes of a hash, as section 5 says.
fn marked(hash: &[u8], version: u128) -> String {
    let number = u128::from_be_bytes(*hash.first_chunk().unwrap());
    let number = number & !(0xf << 76) & !(0b11 << 62) | version << 76 | 0b10 << 62;
    uuid::Uuid::from_u128(number).to_string()
}

#[test]
fn appendix_a_2_version_3() {
    let hash = Md5::new()
        .chain_update(DNS.to_be_bytes())
        .chain_update(NAME);
    let text = "5df41881-3aed-3515-88a7-2f4a814cf09e";
    assert_eq!(marked(&hash.finalize(), 3), text);
    check(&read(text, "uuid3"), &[("version", number(3))]);
}

#[test]
fn appendix_a_3_version_4() {
    let text = "919108f7-52d1-4320-9bac-f847db4148a8";
    let random = 0x9191_08f7_52d1_3320_5bac_f847_db41_48a8_u128;
    assert_eq!(marked(&random.to_be_bytes(), 4), text);
    let decoded = read(text, "uuid4");
    check(&decoded, &[("version", number(4))]);
    assert_eq!(
        (decoded.unix_ms, decode(Family::Uuid4, text)),
        (None, Ok(decoded))
    );
}

#[test]
fn appendix_a_4_version_5() {
    let hash = Sha1::new()
        .chain_update(DNS.to_be_bytes())
        .chain_update(NAME);
    let text = "2ed6657d-e927-568b-95e1-2665a8aea6a2";
    assert_eq!(marked(&hash.finalize(), 5), text);
    check(&read(text, "uuid5"), &[("version", number(5))]);
}

#[test]
fn appendix_a_5_version_6() {
    let text = "1EC9414C-232A-6B00-B3C8-9F6BDECED846";
    let fields = [
        ("version", number(6)),
        ("clock_sequence", number(0x33c8)),
        ("node", hex("9f6bdeced846")),
    ];
    let decoded = read(text, "uuid6");
    assert_eq!(decoded.unix_ms, Some(UNIX_MS));
    check(&decoded, &fields);
    assert_eq!(decode(Family::Uuid6, text), Ok(decoded));
}

#[test]
fn appendix_a_6_version_7() {
    let text = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";
    let fields = [
        ("version", number(7)),
        ("rand_a", hex("cc3")),
        ("rand_b", hex("18c4dc0c0c07398f")),
    ];
    let decoded = read(text, "uuid7");
    assert_eq!(decoded.unix_ms, Some(0x017f_22e2_79b0));
    assert_eq!(decoded.unix_ms, Some(UNIX_MS));
    check(&decoded, &fields);
    assert_eq!(decode(Family::Uuid7, text), Ok(decoded));
}

/// Of another maker's version 8 nothing is known; of ours, which has the fields of B.1, the time.
#[test]
fn appendix_b_1_version_8_of_a_time() {
    let text = "2489E9AD-2EE2-8E00-8EC9-32D5F69181C0";
    let decoded = read(text, "uuid8");
    assert_eq!(decoded.unix_ms, None);
    check(&decoded, &[("version", number(8))]);
    let ours = decode(Family::Uuid8, text).unwrap();
    assert_eq!(ours.unix_ms, Some(UNIX_MS));
    check(
        &ours,
        &[("version", number(8)), ("random", hex("0ec932d5f69181c0"))],
    );
}

#[test]
fn appendix_b_2_version_8_of_a_name() {
    let hash = Sha256::new()
        .chain_update(DNS.to_be_bytes())
        .chain_update(NAME);
    let text = "5c146b14-3c52-8afd-938a-375d0df1fbf6";
    assert_eq!(marked(&hash.finalize(), 8), text);
    check(&read(text, "uuid8"), &[("version", number(8))]);
}

/// Sections 5.9 and 5.10.
#[test]
fn nil_and_max() {
    for (text, name) in [
        ("00000000-0000-0000-0000-000000000000", "uuid-nil"),
        ("ffffffff-ffff-ffff-ffff-ffffffffffff", "uuid-max"),
    ] {
        assert_eq!(recognise(text, UNIX_MS)[0].name, name);
        assert!(Family::ALL.into_iter().all(|family| {
            matches!(family, Family::Ulid | Family::NanoId) || decode(family, text).is_err()
        }));
    }
}
