//! Texts that are no format: each error says where, and what to write instead.

use leafid::Tag;
use leafid::format::{CompileFormat, FormatError};
use leafid_formats::Formats;

fn refused(template: &str, reason: &str) {
    let error = Formats::new()
        .compile(&Tag::new("order").unwrap(), template)
        .unwrap_err();
    assert!(matches!(error, FormatError::Invalid(_)), "{error:?}");
    assert!(error.to_string().contains(reason), "{template}: {error}");
}

#[test]
fn names_and_braces() {
    refused("", "is empty");
    refused("SO-", "\"SO-\" has no number");
    refused(
        "SO-{nmber}",
        "{nmber} at character 4 of the format: there is no such part; did you mean {number}?",
    );
    refused(
        "单{}",
        "{} at character 2 of the format: there is no such part; known are {number}, ",
    );
    refused(
        "{number",
        "the brace at character 1 of the format is not closed",
    );
    refused("{number{", "the brace at character 1");
    refused("{number}}", "closing brace without an opening one");
    refused("}{number}", "at character 1 of the format");
    refused("{number}\n", "white space");
    refused("{number}\u{200b}-", "invisible");
    refused(&"{number}-".repeat(40), "255 bytes");
    refused("{number}{number}", "has one number");
    refused("{date6}{number}", "write ${date6}");
    refused("{date66}{number}", "did you mean {date}?");
}

/// Guards what an id takes in a column, and in an answer of 10,000.
#[test]
fn texts_that_are_too_long_or_all_the_same() {
    let long = "{random 64}".repeat(4);
    refused(
        &format!("{long}{{number}}"),
        "256 characters besides its number: 255 is the most",
    );
    refused("{may_repeat}", "would be the same");
    refused(
        "{zone UTC}{may_repeat}abc{worker width=4}",
        "would be the same",
    );
    refused("{gene fixed=65536 width=5}", "leaves no room");
}

#[test]
fn arguments_and_options() {
    refused("{number width}", "\"width\" means nothing to this part");
    refused("{number wdth=8}", "did you mean width=...?");
    refused(
        "{number width=0}",
        "width is 0, but must be a number from 1 to 64",
    );
    refused("{number width=}", "width is empty, but must be");
    refused("{number width=65}", "from 1 to 64");
    refused("{number width=+8}", "from 1 to 64");
    refused(
        "{number width=8 width=9}",
        "width is given twice: remove one",
    );
    refused(
        "{number radix=16}",
        "radix is 16, but must be 10, 36, 58, 62 or crockford",
    );
    refused("{number width=8 total=9}", "exclude each other");
    refused(
        "ABC{number total=3}",
        "leaves no room for the number: the other parts have 3",
    );
    refused("{number total=100}", "64 are the most");
    refused("{worker}{number}", "as in {worker width=4}");
    refused("{random}{number}", "as in {random 6}");
    refused("{random 6 7}{number}", "\"7\" means nothing");
    refused("{unix_ms 13}{number}", "write {unix_ms} and no more");
    refused(
        "{number restart=week}",
        "restart is week, but must be year, month, day or hour",
    );
}

#[test]
fn zones() {
    refused("{zone Asia/Shangai}{number}", "no such zone");
    refused("{zone}{number}", "name the zone");
    refused(
        "{zone localtime}{number}",
        "differs from machine to machine",
    );
    refused("{zone +8}{number}", "written +08:00");
    refused("{zone +24:00}{number}", "written +08:00");
    refused("{zone ../../etc/passwd}{number}", "no such zone");
    refused("{zone UTC}{zone UTC}{number}", "twice");
    refused(
        "SO{zone UTC}{number}",
        "it must come before all that is written",
    );
}

#[test]
fn dates() {
    refused("{date}{number}", "as in {date %Y%m%d}");
    refused("{date YYYY}{number}", "no part of it is a date");
    refused("{date %Q1}{number}", "%Q cannot be part of an id");
    refused("{date %B}{number}", "write %b");
    refused(
        "{date %-d}{number}",
        "%- cannot be part of an id: its width varies",
    );
    refused("{date %f}{number}", "write %3f");
    refused("{date %s}{number}", "write the part {unix_ms}");
    refused("{date %c}{number}", "differs by language");
    refused("{date %!}{number}", "%! is not a directive");
    refused("{date %}{number}", "% is not a directive");
    refused("{date %é}{number}", "%é is not a directive");
}

#[test]
fn check_digits() {
    refused("{number}{check}", "there is no such check digit");
    refused("{number}{check luhm}", "did you mean {check luhn}?");
    refused("{number}{check luhn}{check damm}", "one check digit");
    refused("{check luhn}{number}", "nothing before it varies");
    refused(
        "{random 3}{check luhn}{number}",
        "only what comes before it: move {check} to the end",
    );
    refused("{number radix=36}{check luhn}", "write {check 37-36}");
    refused("{date %b}{number}{check damm}", "{date} writes letters");
    refused("{number radix=62}{check 37-36}", "radix=crockford");
}

/// Guards that a counter that restarts has the whole period in its text, and that nothing but a
/// plain number restarts.
#[test]
fn counters_that_restart() {
    for (restart, date) in [
        ("year", "%Y"),
        ("month", "%Y%m"),
        ("day", "%Y%m%d"),
        ("hour", "%Y%m%d%H"),
    ] {
        let number = format!("{{number restart={restart}}}");
        let reason = format!(
            "{number} at character 1 of the format: the text must tell the {restart} in which the \
             counter restarts, or it repeats: add {{date {date}}}"
        );
        refused(&number, &reason);
        // The pattern without its first or its last field.
        let (first, last) = (&date[2..], &date[..date.len() - 2]);
        for part in [first, last].into_iter().filter(|part| !part.is_empty()) {
            refused(&format!("{{date {part}}}{number}"), "must tell the");
        }
    }
    for part in ["opaque", "opaque radix=62 key=abcd", "opaque radix=63bit"] {
        let template = format!("{{date %Y%m%d}}-{{{part} restart=day}}");
        refused(&template, "write {number} in place of {opaque}");
    }
    for part in ["sqids", "gene fixed=32", "uuid8", "uuid5 namespace=url"] {
        let template = format!("{{date %Y%m%d}}-{{{part} restart=day}}");
        refused(&template, "only {number} restarts");
    }
}

#[test]
fn what_may_repeat_and_what_not() {
    refused("{date %Y}{random 9}", "begin it with {may_repeat}");
    refused("{may_repeat}{number}", "remove {may_repeat}");
    refused(
        "A{may_repeat}{random 9}",
        "it must come before all that is written",
    );
    refused(
        "{may_repeat really}{random 9}",
        "write {may_repeat} and no more",
    );
    refused("{number restart=day}", "add {date %Y%m%d}");
    refused("{date %m%d}{number restart=day}", "tell the day");
    refused("{date %Y%m%d}{number restart=hour}", "add {date %Y%m%d%H}");
    refused("{date %Y%d}{number restart=month}", "tell the month");
}
