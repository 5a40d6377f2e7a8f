//! FF1 by vectors of others, on the numerals that opaque ids use.

use aes::{Aes128, Aes192, Aes256};
use cipher::{BlockCipherEncrypt, KeyInit};
use fpe::ff1::{FF1, FlexibleNumeralString};
use leafid::format::Radix;
use serde::Deserialize;

use super::{Half, Numerals};

/// The halves fit 63 bits up to this many numerals; 0 for a radix that opaque ids do not have.
fn width_max(radix: u32) -> usize {
    match radix {
        10 => 36,
        36 => 24,
        62 => 20,
        _ => 0,
    }
}

/// Numerals to and from numbers of the radix.
fn numerals(numbers: &[u16], radix: u32) -> Numerals {
    let half = |numbers: &[u16]| {
        let value = numbers.iter().fold(0, |value, number| {
            value * u64::from(radix) + u64::from(*number)
        });
        Half::new(value, u32::try_from(numbers.len()).unwrap(), radix)
    };
    let (first, second) = numbers.split_at(numbers.len() / 2);
    Numerals(half(first), half(second))
}

fn cipher_with<C: BlockCipherEncrypt + KeyInit + Clone>(
    key: &[u8],
    radix: u32,
    tweak: &[u8],
    plain: &[u16],
) -> Option<Vec<u16>> {
    let cipher = FF1::<C>::new(key, radix).unwrap();
    let by_crate = cipher
        .encrypt(tweak, &FlexibleNumeralString::from(plain.to_vec()))
        .ok();
    let by_crate = by_crate.map(Vec::from);
    let are_numerals = plain.iter().all(|number| u32::from(*number) < radix);
    if plain.len() <= width_max(radix) && are_numerals {
        let of = numerals(plain, radix);
        let ours = cipher.encrypt(tweak, &of).ok();
        assert_eq!(
            ours,
            by_crate.as_ref().map(|numbers| numerals(numbers, radix))
        );
        if let Some(ours) = ours {
            assert_eq!(cipher.decrypt(tweak, &ours).unwrap(), of);
        }
    }
    by_crate
}

/// The numerals of a plain text; `None` if FF1 refuses it.
fn encrypt(key: &[u8], radix: u32, tweak: &[u8], plain: &[u16]) -> Option<Vec<u16>> {
    match key.len() {
        16 => cipher_with::<Aes128>(key, radix, tweak, plain),
        24 => cipher_with::<Aes192>(key, radix, tweak, plain),
        32 => cipher_with::<Aes256>(key, radix, tweak, plain),
        _ => None,
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    let bytes = (0..hex.len()).step_by(2);
    bytes
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

/// The numbers of a text; `None` if it has other characters.
fn numbers(text: &str, alphabet: &str) -> Option<Vec<u16>> {
    let position = |character| alphabet.chars().position(|known| known == character);
    text.chars()
        .map(|character| u16::try_from(position(character)?).ok())
        .collect()
}

const BASE36: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
const KEY: &str = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94";

fn check(key_len: usize, radix: u32, tweak: &[u8], plain: &str, expected: &str) {
    let alphabet = &BASE36[..radix as usize];
    let plain = numbers(plain, alphabet).unwrap();
    let encrypted = encrypt(&unhex(KEY)[..key_len], radix, tweak, &plain);
    assert_eq!(encrypted, numbers(expected, alphabet), "{expected}");
}

/// Source: NIST, FF1 samples 1 to 9.
#[test]
fn ff1_is_that_of_nist() {
    let tweak = &unhex("39383736353433323130");
    let tweak36 = &unhex("3737373770717273373737");
    let (ten, nineteen) = ("0123456789", "0123456789abcdefghi");
    check(16, 10, b"", ten, "2433477484");
    check(16, 10, tweak, ten, "6124200773");
    check(16, 36, tweak36, nineteen, "a9tv40mll9kdu509eum");
    check(24, 10, b"", ten, "2830668132");
    check(24, 10, tweak, ten, "2496655549");
    check(24, 36, tweak36, nineteen, "xbj3kv35jrawxv32ysr");
    check(32, 10, b"", ten, "6657667009");
    check(32, 10, tweak, ten, "1001623463");
    check(32, 36, tweak36, nineteen, "xs8a0azh2avyalyzuwd");
}

/// Source: generators.md 8.2, computed apart from the crate.
#[test]
fn ff1_of_ids_is_that_of_others() {
    check(16, 10, b"", "0000000000000000001", "5699375573116964085");
    check(16, 10, b"", "0000000000000000002", "8891084478848963907");
    check(16, 10, b"", "0660125991150026752", "7229683684693472610");
    check(
        16,
        10,
        b"order",
        "0660125991150026752",
        "2902676550008989073",
    );
    check(16, 10, b"order", "0000000001", "6977042256");
    check(16, 10, b"", "000001", "713838");
    check(16, 36, b"", "0000000000001", "4ld4qerc445ha");
    check(16, 36, b"order", "0000000000002", "emvrutbvxlz7h");
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite {
    number_of_tests: usize,
    test_groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    /// Of messages that are texts.
    #[serde(default)]
    alphabet: String,
    radix: u32,
    tests: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    key: String,
    tweak: String,
    msg: Message,
    ct: Message,
    result: String,
    flags: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Message {
    Text(String),
    Numbers(Vec<i64>),
}

impl Message {
    /// `None` if there are no such numbers.
    fn numbers(&self, alphabet: &str) -> Option<Vec<u16>> {
        match self {
            Self::Text(text) => numbers(text, alphabet),
            Self::Numbers(all) => all.iter().map(|one| u16::try_from(*one).ok()).collect(),
        }
    }
}

/// Source: C2SP/wycheproof, tests/vectors/README.md. Messages of fewer than a million texts are
/// refused, as revision 1 of the standard asks for.
#[test]
fn ff1_passes_wycheproof() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/wycheproof");
    let mut suites_len = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let suite = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            println!("{}", path.display());
            check_suite(&suite);
            suites_len += 1;
        }
    }
    assert_eq!(suites_len, 22);
}

fn check_suite(suite: &Suite) {
    let (mut count, mut fits) = (0, 0);
    for group in &suite.test_groups {
        let Group {
            alphabet, radix, ..
        } = group;
        for vector in &group.tests {
            let (key, tweak) = (unhex(&vector.key), unhex(&vector.tweak));
            let plain = vector.msg.numbers(alphabet);
            let encrypted = plain.and_then(|plain| encrypt(&key, *radix, &tweak, &plain));
            let is_small = vector.flags.iter().any(|flag| flag == "SmallMessageSize");
            let expected = match vector.result == "valid" && !is_small {
                true => vector.ct.numbers(alphabet),
                false => None,
            };
            assert_eq!(
                encrypted, expected,
                "{} {} {:?}",
                vector.key, vector.tweak, vector.msg
            );
            count += 1;
            fits += usize::from(encrypted.is_some_and(|of| of.len() <= width_max(group.radix)));
        }
    }
    assert_eq!(count, suite.number_of_tests);
    let radix = suite.test_groups[0].radix;
    assert!(
        fits > 1000 || width_max(radix) == 0,
        "only {fits} are of the numerals of opaque ids"
    );
}

/// Every radix: the texts of [`Radix`] have the numerals in the order of its digits.
#[test]
fn the_ciphers_of_opaque_ids_exist() {
    for radix in [Radix::Decimal, Radix::Base36, Radix::Base62] {
        let (least, most) = super::Form::widths(radix).unwrap();
        let count = radix.digits().len() as u64;
        let exponent = u32::try_from(least).unwrap();
        assert!(count.pow(exponent) >= 1_000_000 && count.pow(exponent - 1) < 1_000_000);
        assert!(u128::from(count).pow(u32::try_from(most).unwrap()) > 1 << 63);
    }
}
