//! Opaque ids: a permutation of the numbers that needs the key; keys in the text and in the format,
//! rotation; and a statistical test that radix 62 and Sqids do not pass.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leafid::Tag;
use leafid::format::{CompileFormat, FormatContext, FormatError, IdFormat};
use leafid_formats::{Formats, Keys, KeysError};

use crate::{compile, context, write};

/// The ids are computed apart, by SHA-256 and radix 62 of Python.
const KEY: &str = "imJ2 = 2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";
const OTHER: &str = "8vgd = 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn keys(lines: &[&str]) -> Keys {
    Keys::parse(&lines.join("\n")).unwrap()
}

fn formats(lines: &[&str]) -> Formats {
    let formats = Formats::new();
    formats.replace_keys(keys(lines));
    formats
}

fn format_of(tag: &str, template: &str) -> Arc<dyn IdFormat> {
    let format = formats(&[KEY, OTHER]).compile(&Tag::new(tag).unwrap(), template);
    format.unwrap_or_else(|error| panic!("{template}: {error}"))
}

const FORMS: [&str; 9] = [
    "{key}{opaque}",
    "{opaque key=imJ2 width=6}",
    "{opaque key=imJ2 width=18}-X",
    "{key}-{opaque radix=36}",
    "{opaque radix=36 width=4 key=imJ2}",
    "{opaque radix=62}{key}",
    "{opaque radix=62 width=5 key=imJ2}",
    "{opaque radix=63bit key=8vgd}",
    "{date %Y%m%d}{opaque radix=36 width=8 key=imJ2}{check 37-36}",
];

#[test]
fn each_form_is_read_back() {
    for template in FORMS {
        let format = format_of("order", template);
        assert!(format.is_readable() && format.largest() <= i64::MAX as u64);
        let random = std::iter::repeat_with(|| fastrand::u64(..=format.largest()));
        let edges = [0, 1, 999_999, 1_000_000, format.largest()];
        for number in edges
            .into_iter()
            .filter(|number| *number <= format.largest())
            .chain(random.take(300))
        {
            let text = write(&*format, number, 0);
            assert_eq!(format.read(&text), Ok(number), "{template} {text}");
        }
    }
}

#[test]
fn numbers_stay_within_63_bits() {
    for (template, width) in [
        ("{opaque radix=63bit key=imJ2}", 0),
        ("{opaque key=imJ2}", 19),
    ] {
        let format = format_of("order", template);
        assert_eq!(format.largest(), i64::MAX as u64);
        for number in (0..2000).chain(i64::MAX as u64 - 2000..=i64::MAX as u64) {
            let text = write(&*format, number, 0);
            assert!(text.parse::<i64>().is_ok() && text.len() >= width, "{text}");
        }
        assert!(format.read("9223372036854775808").is_err());
        assert!(
            format
                .write(1 << 63, &FormatContext::default(), &mut String::new())
                .is_err()
        );
    }
    assert!(
        format_of("order", "{opaque radix=63bit key=imJ2}")
            .read("007")
            .is_err()
    );
}

/// A part of the smallest domain; `leafid-bench opaque` writes all of it, and ten million of others.
#[test]
fn numbers_in_a_row_have_different_texts() {
    let format = format_of("order", "{opaque width=6 key=imJ2}");
    let texts: HashSet<String> = (0..20_000)
        .map(|number| write(&*format, number, 0))
        .collect();
    assert_eq!(texts.len(), 20_000);
    assert!(texts.iter().all(|text| text.len() == 6));
}

#[test]
fn tags_and_keys_have_texts_of_their_own() {
    let text = |tag: &str, template: &str| write(&*format_of(tag, template), 4711, 0);
    let texts = HashSet::from([
        text("order", "{opaque radix=62 key=imJ2}"),
        text("user", "{opaque radix=62 key=imJ2}"),
        text("order", "{opaque radix=62 key=8vgd}"),
    ]);
    assert_eq!(texts.len(), 3);
    let of_another_key = text("order", "{opaque radix=62 key=8vgd}");
    let read = format_of("order", "{opaque radix=62 key=imJ2}").read(&of_another_key);
    assert_ne!(read, Ok(4711));
}

/// Neighbours share no visible order: of the texts of numbers in a row, half ascend, and their
/// first digits are spread evenly.
fn has_no_order(format: &dyn IdFormat, letters: &str) -> bool {
    let texts: Vec<String> = (1_000_000..1_004_000)
        .map(|number| write(format, number, 0))
        .collect();
    let rank = |text: &str| {
        text.chars()
            .map(|digit| letters.find(digit))
            .collect::<Vec<_>>()
    };
    let ascending = texts
        .windows(2)
        .filter(|two| rank(&two[0]) < rank(&two[1]))
        .count();
    // Standard deviation: the square root of a twelfth of 4001, 18.
    let half_ascend = (1900..2100).contains(&ascending);
    let same_length = texts.iter().all(|text| text.len() == texts[0].len());
    let shared = texts.windows(2).map(|two| {
        two[0]
            .chars()
            .zip(two[1].chars())
            .filter(|(one, other)| one == other)
            .count()
    });
    // By chance 4000 times width / radix.
    let by_chance = 4000 * texts[0].len() / letters.len();
    half_ascend && same_length && shared.sum::<usize>() < by_chance * 5 / 4
}

#[test]
fn neighbours_share_no_visible_order() {
    let digits = leafid::format::Radix::Base62.digits();
    assert!(has_no_order(
        &*format_of("order", "{opaque radix=62 key=imJ2}"),
        digits
    ));
    assert!(has_no_order(
        &*format_of("order", "{opaque radix=36 key=imJ2}"),
        &digits[..36]
    ));
    assert!(has_no_order(
        &*format_of("order", "{opaque width=18 key=imJ2}"),
        &digits[..10]
    ));
    assert!(!has_no_order(
        &*compile("{number radix=62 width=11}"),
        digits
    ));
    assert!(!has_no_order(&*compile("{sqids min=11}"), digits));
}

#[test]
fn rotation_keeps_old_texts_readable() {
    let formats = formats(&[KEY]);
    let format = formats
        .compile(&Tag::new("order").unwrap(), "{key}{opaque radix=36}")
        .unwrap();
    let old = write(&*format, 4711, 0);
    assert!(old.starts_with("imJ2"));
    formats
        .clone()
        .replace_keys(keys(&[OTHER, "# the old one", KEY]));
    let new = write(&*format, 4711, 0);
    assert!(new.starts_with("8vgd"));
    assert_eq!((format.read(&old), format.read(&new)), (Ok(4711), Ok(4711)));

    formats.replace_keys(keys(&[OTHER]));
    let error = format.read(&old).unwrap_err();
    assert!(matches!(&error, FormatError::NotOfFormat(text) if text.contains("the key imJ2")));
}

/// Four threads write numbers of their own while the keys are rotated.
#[test]
fn rotation_under_load_repeats_nothing() {
    let formats = formats(&[KEY, OTHER]);
    let format = formats
        .compile(&Tag::new("order").unwrap(), "{key}{opaque width=6}")
        .unwrap();
    let done = AtomicBool::new(false);
    let texts = std::thread::scope(|scope| {
        let rotating = scope.spawn(|| {
            let (one, other) = (keys(&[KEY, OTHER]), keys(&[OTHER, KEY]));
            let mut rotations = 0_u32;
            while !done.load(Ordering::Relaxed) {
                formats.replace_keys(other.clone());
                formats.replace_keys(one.clone());
                rotations += 2;
            }
            rotations
        });
        let writing: Vec<_> = (0..4)
            .map(|thread| {
                let format = &format;
                scope.spawn(move || {
                    let numbers = (0..2000).map(|number| number * 4 + thread);
                    numbers
                        .map(|number| (number, write(&**format, number, 0)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let texts: Vec<_> = writing
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        done.store(true, Ordering::Relaxed);
        assert!(rotating.join().unwrap() > 2);
        texts
    });
    let by_key = |key| {
        texts
            .iter()
            .filter(|(_, text)| text.starts_with(key))
            .count()
    };
    assert!(by_key("imJ2") > 0 && by_key("8vgd") > 0, "both keys wrote");
    for (number, text) in &texts {
        assert_eq!(format.read(text), Ok(*number), "{text}");
    }
    assert_eq!(
        texts
            .iter()
            .map(|(_, text)| text)
            .collect::<HashSet<_>>()
            .len(),
        8000
    );
}

#[test]
fn altered_texts_are_refused_by_the_check_digit() {
    let format = format_of("order", "{key}{opaque radix=36}{check 37-36}");
    let text = write(&*format, 4711, 0);
    for at in 4..text.len() {
        let mut altered = text.clone().into_bytes();
        altered[at] = if altered[at] == b'7' { b'8' } else { b'7' };
        let altered = String::from_utf8(altered).unwrap();
        assert!(format.read(&altered).is_err(), "{altered}");
    }
    // Without one, most texts that no number has are noticed: 36^13 are 18 times 2^63.
    let format = format_of("order", "{opaque radix=36 key=imJ2}");
    let random = std::iter::repeat_with(|| {
        let digits = std::iter::repeat_with(|| fastrand::digit(36)).take(13);
        digits.collect::<String>()
    });
    let accepted = random
        .take(1000)
        .filter(|text| format.read(text).is_ok())
        .count();
    assert!(accepted < 120, "{accepted} of 1000");
}

#[test]
fn a_format_without_its_key_is_refused() {
    let refused = |formats: &Formats, template: &str, reason: &str| {
        let error = formats
            .compile(&Tag::new("order").unwrap(), template)
            .unwrap_err();
        assert!(error.to_string().contains(reason), "{template}: {error}");
    };
    let lacks = |formats: &Formats, template: &str, reason: &str| {
        let format = formats.compile(&Tag::new("order").unwrap(), template);
        let format = format.unwrap();
        for error in [
            format.check(None).unwrap_err(),
            format
                .write(1, &context(0), &mut String::new())
                .unwrap_err(),
        ] {
            let is_missing = matches!(&error, FormatError::MissingKey(why) if why.contains(reason));
            assert!(is_missing, "{template}: {error}");
        }
    };
    lacks(&Formats::new(), "{key}{opaque}", "configure a keys file");
    let place = "{opaque} at character 8 of the format: ";
    lacks(&Formats::new(), "订-{key}{opaque}", place);
    let with_key = formats(&[KEY]);
    lacks(&with_key, "{opaque key=8vgd}", "does not have the key 8vgd");
    refused(&with_key, "{opaque}", "add {key}");
    refused(&with_key, "{key}{opaque key=imJ2}", "remove {key}");
    refused(&with_key, "{key}{number}", "remove {key}");
    refused(&with_key, "{key}{key}{opaque}", "twice");
    refused(&with_key, "{key}{opaque width=5}", "from 6 to 19");
    refused(&with_key, "{key}{opaque radix=36 width=14}", "from 4 to 13");
    refused(
        &with_key,
        "{key}{opaque radix=58}",
        "radix is 58, but must be 10, 36, 62 or 63bit",
    );
    refused(
        &with_key,
        "{key}{opaque radix=63bit width=19}",
        "means nothing",
    );
    refused(
        &with_key,
        "{opaque key=imJ}",
        "must be four digits and letters",
    );
    refused(&with_key, "{key}{opaque restart=day}", "remove restart=");
}

#[test]
fn keys_are_checked_and_not_shown() {
    let bad = |text: &str, line: usize, reason: &str| match Keys::parse(text).unwrap_err() {
        KeysError::BadLine { line: at, problem } => {
            assert_eq!(at, line, "{text}");
            assert!(problem.contains(reason), "{text}: {problem}");
        }
        error => panic!("{text}: {error}"),
    };
    let key = &KEY["imJ2 = ".len()..];
    bad(&format!("# mine\n\nimJ3 = {key}"), 3, "not that of the key");
    bad(&format!("{KEY}\n{KEY}"), 2, "an earlier key has this id");
    bad(key, 1, "ID = KEY");
    bad(&format!("imJ = {key}"), 1, "four digits");
    bad(&format!("imJ2 = {}", &key[1..]), 1, "64 hex digits");
    bad(&format!("imJ2 = {}g", &key[1..]), 1, "64 hex digits");
    bad(&format!("imJ2 = {}é", &key[2..]), 1, "64 hex digits");
    assert_eq!(Keys::parse(" # nothing\n").unwrap_err(), KeysError::Empty);

    let two = keys(&[KEY, " ", OTHER, "# the end"]);
    assert_eq!(two.current().to_string(), "imJ2");
    assert_eq!(
        two.ids().map(|id| id.to_string()).collect::<Vec<_>>(),
        ["imJ2", "8vgd"]
    );
    let formats = formats(&[KEY]);
    let format = formats
        .compile(&Tag::new("order").unwrap(), "{key}{opaque}")
        .unwrap();
    for shown in [
        format!("{two:?}"),
        format!("{formats:?}"),
        format!("{format:?}"),
    ] {
        assert!(shown.contains("imJ2") && !shown.contains("2b7e"), "{shown}");
        assert!(
            !shown.contains("43, 126") && !shown.contains("0x2b"),
            "{shown}"
        );
    }
    let (one, other) = (
        Keys::generate_line().unwrap(),
        Keys::generate_line().unwrap(),
    );
    assert_ne!(*one, *other);
    assert!(Keys::parse(&one).is_ok() && Keys::parse(&other).is_ok());
    // Hex digits of either case are read; the case of an id counts.
    assert!(Keys::parse(&format!("imJ2 = {}", key.to_uppercase())).is_ok());
    bad(&KEY.to_uppercase(), 1, "not that of the key");
}
