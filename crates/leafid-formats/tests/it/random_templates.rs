//! Properties of all templates, by random ones: what is written is read back, different numbers
//! have different texts, and mistakes are noticed. Each failure prints its seed.

use std::collections::HashMap;
use std::sync::Arc;

use fastrand::Rng;
use leafid::format::{CompileFormat, IdFormat};
use leafid::{Tag, WorkerId};
use leafid_formats::{Formats, Keys};

use crate::{compile, write};

const FOR_DIGITS: [&str; 5] = ["luhn", "damm", "verhoeff", "37-36", "97-10"];
const FOR_LETTERS: [&str; 2] = ["37-36", "97-10"];

/// A random template with parts before and after the number, and a check digit that counts it.
fn template(rng: &mut Rng) -> String {
    let width = match rng.u8(0..3) {
        0 => format!(" width={}", rng.u8(1..=24)),
        _ => String::new(),
    };
    let (number, checks) = match rng.u8(0..10) {
        0..3 => (format!("{{number{width}}}"), &FOR_DIGITS[..]),
        3 => (format!("{{number radix=36{width}}}"), &FOR_LETTERS[..]),
        4 => (
            format!("{{number radix=crockford{width}}}"),
            &FOR_LETTERS[..],
        ),
        5 => (format!("{{number radix=58{width}}}"), &[][..]),
        6 => (format!("{{number radix=62{width}}}"), &[][..]),
        7 => (
            format!("{{gene fixed={}}}", rng.u32(2..=65_536)),
            &FOR_DIGITS[..],
        ),
        8 => ("{uuid8}".to_owned(), &FOR_LETTERS[..]),
        _ => (format!("{{sqids min={}}}", rng.u8(1..=20)), &[][..]),
    };
    let check = rng.choice(checks).map(|check| format!("{{check {check}}}"));
    let zone = rng.choice(&["", "{zone Asia/Shanghai}", "{zone -09:30}"]);
    let (before, after) = (parts(rng), parts(rng));
    let (zone, check) = (zone.unwrap(), check.unwrap_or_default());
    format!("{zone}{before}{number}{after}{check}")
}

fn parts(rng: &mut Rng) -> String {
    const PARTS: [&str; 9] = [
        "SO-",
        "7",
        "单",
        "{{",
        "{date %Y%m%d}",
        "${date15}",
        "{worker width=4}",
        "{random 3}",
        "{unix_ms}",
    ];
    let len = rng.usize(0..4);
    (0..len).map(|_| PARTS[rng.usize(..PARTS.len())]).collect()
}

fn with_templates(mut property: impl FnMut(&str, Arc<dyn IdFormat>, &mut Rng)) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    for _ in 0..300 {
        let template = template(&mut rng);
        let format = compile(&template);
        property(&template, format, &mut rng);
    }
}

fn number(format: &dyn IdFormat, rng: &mut Rng) -> u64 {
    let largest = format.largest();
    match rng.u8(0..4) {
        0 => largest,
        1 => rng.u64(0..=largest.min(99)),
        _ => rng.u64(0..=largest) >> rng.u32(0..64),
    }
}

#[test]
fn what_is_written_is_read_back() {
    with_templates(|template, format, rng| {
        for _ in 0..20 {
            let number = number(&*format, rng);
            let unix_ms = rng.u64(0..4_000_000_000_000);
            let text = write(&*format, number, unix_ms);
            assert_eq!(format.read(&text), Ok(number), "{template} {text}");
        }
    });
}

/// Guards that a text is never taken for one of another time or worker id than its own: those
/// would be marked as impossible.
#[test]
fn what_a_text_says_besides_its_number_is_so() {
    // Years of two digits are of this millennium, in every zone.
    const YEAR_2000_MS: i64 = 946_684_800_000 + 86_400_000;
    with_templates(|template, format, rng| {
        for _ in 0..20 {
            let unix_ms = rng.i64(YEAR_2000_MS..4_000_000_000_000);
            let number = number(&*format, rng);
            let text = write(&*format, number, unix_ms.cast_unsigned());
            let parts = format.decode(&text).unwrap();
            assert_eq!(parts.number, number, "{template} {text}");
            let worker = template.contains("{worker").then_some(WorkerId::new(39));
            assert_eq!(parts.worker_id, worker, "{template} {text}");
            let tells = template.contains("date") || template.contains("unix_ms");
            assert_eq!(parts.unix_ms.is_some(), tells, "{template} {text}");
            if let Some((first, next)) = parts.unix_ms {
                assert!(
                    (first..next).contains(&unix_ms),
                    "{template} {text} {unix_ms}"
                );
            }
        }
    });
}

#[test]
fn different_numbers_have_different_texts() {
    with_templates(|template, format, rng| {
        let mut texts = HashMap::new();
        for _ in 0..200 {
            let number = number(&*format, rng);
            let text = write(&*format, number, rng.u64(0..3) * 86_400_000);
            if let Some(other) = texts.insert(text.clone(), number) {
                assert_eq!(other, number, "{template} {text}");
            }
        }
    });
}

/// All of these check digits notice every single wrong character that they count. Crockford digits
/// that are read alike are no mistake.
#[test]
fn a_wrong_character_is_noticed() {
    with_templates(|template, format, rng| {
        if !template.contains("check") {
            return;
        }
        let written = number(&*format, rng);
        let text = write(&*format, written, rng.u64(0..4_000_000_000_000));
        for (at, character) in text.char_indices() {
            let other = char::from(*rng.choice(b"0123456789ABCDEFabcdefxyzXYZ-").unwrap());
            let mut wrong = text.clone();
            wrong.replace_range(at..at + character.len_utf8(), &other.to_string());
            let is_same = character.eq_ignore_ascii_case(&other);
            // 97-10 counts a letter as two digits: a digit for a letter is another kind of mistake.
            let is_of_kind = character.is_ascii_digit() == other.is_ascii_digit();
            if template.contains("97-10") && !is_of_kind {
                continue;
            }
            match format.read(&wrong) {
                Ok(number) => assert!(is_same && number == written, "{template} {text} {wrong}"),
                Err(_) => assert_ne!(character, other, "{template} {text}"),
            }
        }
    });
}

/// No text makes reading panic, and what is read is written so or alike.
#[test]
fn texts_of_chance_are_refused_or_read_alike() {
    with_templates(|template, format, rng| {
        for _ in 0..50 {
            let mut text = write(&*format, number(&*format, rng), 0);
            for _ in 0..rng.u8(1..4) {
                let at = rng.usize(0..=text.len());
                if text.is_char_boundary(at) {
                    text.insert(at, *rng.choice(&['0', '1', 'é', ' ', 'z', '9']).unwrap());
                }
                if rng.bool() {
                    text.pop();
                }
            }
            if let Ok(number) = format.read(&text) {
                let again = write(&*format, number, 0);
                assert_eq!(again.len(), text.len(), "{template} {text}");
            }
        }
    });
}

/// No text makes understanding a template or a keys file panic, and a template that is understood
/// can be read back.
#[test]
fn texts_of_chance_are_no_danger_to_parsers() {
    const FRAGMENTS: [&str; 30] = [
        "{",
        "}",
        "{{",
        "}}",
        "$",
        " ",
        "=",
        "-",
        "é",
        "单",
        "0",
        "9",
        "99999999999999999999",
        "{number}",
        "{number",
        "width=",
        "total=20",
        "radix=62",
        "restart=day",
        "{date %Y%m%d}",
        "{date %",
        "${date16}",
        "{check luhn}",
        "{check ",
        "{opaque}",
        "{key}",
        "{sqids}",
        "{gene fixed=25}",
        "{zone UTC}",
        "{random 3}",
    ];
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let formats = Formats::new();
    let tag = Tag::new("order").unwrap();
    let mut understood = 0;
    for _ in 0..20_000 {
        let len = rng.usize(0..7);
        let text: String = (0..len)
            .map(|_| FRAGMENTS[rng.usize(..FRAGMENTS.len())])
            .collect();
        let _ = Keys::parse(&text);
        let Ok(format) = formats.compile(&tag, &text) else {
            continue;
        };
        if format.check(None).is_err() {
            continue; // without a key
        }
        understood += 1;
        let period = format.period(1_570_807_338_079);
        let number = period.map_or_else(|| number(&*format, &mut rng), |period| period.last);
        let written = write(&*format, number, 1_570_807_338_079);
        assert_eq!(format.read(&written), Ok(number), "{text} {written}");
    }
    assert!(understood > 100, "only {understood} of them are templates");
}
