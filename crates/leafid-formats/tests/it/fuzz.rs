//! Every parser of the crate, over its corpus in `fuzz/corpus` and mutations of it: nothing panics,
//! what a format writes it reads back, and what a family issues it decodes.

use std::collections::HashSet;
use std::sync::Arc;

use leafid::format::{CompileFormat as _, FormatContext, IdFormat};
use leafid::{Family, SystemClock, Tag};
use leafid_formats::{Families, FamilyFormat, Formats, GearKey, Keys, decode, recognise};
use leafid_fuzz::fuzz;

use crate::{GEAR_MS, context};

const KEY: &str = "imJ2 = 2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";
/// More than any format writes.
const TEXT_LEN_MAX: usize = 1024;

fn text(data: &[u8]) -> &str {
    str::from_utf8(data).unwrap_or_default()
}

/// The numbers to write: the ends and the middle of what the format has, or of its present period.
fn numbers(format: &dyn IdFormat, context: &FormatContext) -> [u64; 4] {
    let (first, last) = match format.period(context.unix_ms) {
        Some(period) => (period.first, period.last),
        None => (0, format.largest()),
    };
    [first, first + 1, first + (last - first) / 2, last].map(|number| number.min(last))
}

fn check_format(format: &dyn IdFormat, template: &str) {
    let context = context(GEAR_MS);
    for number in numbers(format, &context) {
        let mut written = String::new();
        if let Err(error) = format.write(number, &context, &mut written) {
            // Such as a worker id that does not fit its width.
            assert!(!error.to_string().is_empty());
            continue;
        }
        assert!(written.len() <= TEXT_LEN_MAX, "{template} {written}");
        if format.is_readable() {
            assert_eq!(format.read(&written), Ok(number), "{template} {written}");
        }
    }
}

#[test]
fn templates() {
    let formats = Formats::new();
    formats.replace_keys(Keys::parse(KEY).unwrap());
    let tag = Tag::new("order").unwrap();
    fuzz("templates", |data| {
        let template = text(data);
        let Ok(format) = formats.compile(&tag, template) else {
            return false;
        };
        check_format(&*format, template);
        true
    });
}

/// Guards that a format that was compiled reads any text without a panic, and only what it writes.
#[test]
fn texts_of_formats() {
    let formats = Formats::new();
    formats.replace_keys(Keys::parse(KEY).unwrap());
    let tag = Tag::new("order").unwrap();
    let templates = [
        "SO-{date %Y%m%d}-{number width=6 restart=day}",
        "{number width=8 radix=36}{check 37-36}",
        "{key}-{opaque radix=62}",
        "{sqids min=8}",
        "{uuid8}",
        "{gene fixed=25}",
    ];
    let compiled = templates.map(|template| formats.compile(&tag, template).unwrap());
    fuzz("format-texts", |data| {
        let text = text(data);
        let mut is_read = false;
        for (format, template) in compiled.iter().zip(templates) {
            let Ok(number) = format.read(text) else {
                continue;
            };
            is_read = true;
            if format.period(GEAR_MS).is_some() {
                continue; // the date in the text may be any
            }
            let mut written = String::new();
            let context = FormatContext::default();
            format.write(number, &context, &mut written).unwrap();
            assert_eq!(written, text, "{template}");
        }
        is_read
    });
}

#[test]
fn ids() {
    fuzz("ids", |data| {
        let text = text(data);
        let readings = recognise(text, 1_795_305_600_000);
        assert!(readings.is_sorted_by(|a, b| a.score >= b.score), "{text}");
        let mut is_id = false;
        for family in Family::ALL {
            let Ok(decoded) = decode(family, text) else {
                continue;
            };
            is_id = true;
            // The same id in its form as a UUID has the same parts.
            if let Some(uuid) = decoded.part("uuid") {
                let again = decode(family, &uuid.to_string()).unwrap();
                assert_eq!(again.unix_ms, decoded.unix_ms, "{family} {text}");
            }
        }
        is_id
    });
}

#[test]
fn formats_of_families() {
    let families = Families::new(Arc::new(SystemClock::new()));
    fuzz("family-formats", |data| {
        let (family, template) = text(data).split_once(' ').unwrap_or_default();
        let Ok(family) = family.parse::<Family>() else {
            return false;
        };
        let Ok(format) = FamilyFormat::compile(family, Some(template)) else {
            return false;
        };
        for id in families.next_many(&format, 2).unwrap() {
            let decoded = format.decode(&id);
            assert!(decoded.is_ok(), "{family} {template:?} {id}: {decoded:?}");
        }
        true
    });
}

#[test]
fn keys() {
    fuzz("keys", |data| match Keys::parse(text(data)) {
        Ok(keys) => {
            let ids: Vec<_> = keys.ids().collect();
            assert_eq!(ids.first(), Some(&keys.current()));
            assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
            true
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("2b7e151628"), "a key is shown: {text}");
            false
        }
    });
}

/// Rows of `gear_key` become templates, which are refused or write what they read.
#[test]
fn rows_of_gear() {
    let formats = Formats::new();
    let tag = Tag::new("order").unwrap();
    fuzz("gear-keys", |data| {
        let fields: Vec<&str> = text(data).split('|').collect();
        let [prefix, suffix, length, radix] = fields[..] else {
            return false;
        };
        let (Ok(length), Ok(radix)) = (length.parse(), radix.parse()) else {
            return false;
        };
        let key = GearKey {
            prefix,
            suffix,
            length,
            radix,
        };
        let template = key.template("Asia/Shanghai");
        let Ok(format) = formats.compile(&tag, &template) else {
            return false;
        };
        check_format(&*format, &template);
        true
    });
}
