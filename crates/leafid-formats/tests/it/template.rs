//! What each part writes, and what a format says of itself.

use leafid::format::{CompileFormat, FormatContext, FormatError};
use leafid::{Tag, WorkerId};
use leafid_formats::Formats;

use crate::{GEAR_MS, check, compile, context, write};

#[test]
fn each_part_writes_what_it_says() {
    check("{number}", 4711, "4711");
    check("{number}", 0, "0");
    check("{number}", u64::MAX, "18446744073709551615");
    check("{number width=8}", 4711, "00004711");
    check("{number radix=62}", 2_576_460, "aOfO");
    check("{number radix=36 width=11}", 2_576_460, "0000001j80c");
    check("{number radix=58}", 57, "z");
    check("{number radix=crockford width=6}", 1023, "0000ZZ");
    check("A{{{number}}}B", 7, "A{7}B");
    check("单-{number total=8}-号", 42, "单-0042-号");
    check("{worker width=4}-{number}", 7, "0039-7");
    check("{worker radix=36 width=2}{number}", 7, "137");
    check("{unix_ms}{number}", 7, "15708073380797");
    check(
        "{zone Asia/Shanghai}{date %Y-%m-%d}/{number}",
        7,
        "2019-10-11/7",
    );
    check("{date %F %T}/{number}", 7, "2019-10-11 15:22:18/7");
    check("{zone +08:00}{date %H}-{number}", 7, "23-7");
    check("{zone -03:30}{date %H%M}-{number}", 7, "1152-7");
    check("${number}", 7, "$7");
    check("{number}{date %3f}", 7, "7079");
    check("{number}-{date %y%j}", 7, "7-19284");
    check("{number}%-{date %d%%}", 7, "7%-11%");
}

/// The vectors of the check digits are those of the library; these guard what a template counts.
#[test]
fn check_digits_cover_what_stands_before_them() {
    check("{number}{check luhn}", 7_992_739_871, "79927398713");
    check("ORD-{number}{check luhn}", 7_992_739_871, "ORD-79927398713");
    check("4-{number width=3}{check luhn}", 992, "4-9924");
    check("{number}{check luhn}-X", 7_992_739_871, "79927398713-X");
    check("{number}{check damm}", 572, "5724");
    check("{number}{check verhoeff}", 236, "2363");
    check("ORD{number}{check 37-36}", 20_241_120, "ORD20241120A");
    check("{number}{check 97-10}", 5367, "536702");
    check("{number radix=36}{check 37-36}", 2_576_460, "1j80cK");
}

#[test]
fn crockford_digits_are_read_as_meant() {
    let format = compile("{number radix=crockford width=4}{check 37-36}");
    let text = write(&*format, 32 * 32 + 1, GEAR_MS);
    assert_eq!(text, format!("0101{}", &text[4..]));
    assert_eq!(format.read(&text.replace('0', "o")), Ok(32 * 32 + 1));
    assert_eq!(format.read(&text.replace('1', "l")), Ok(32 * 32 + 1));
}

#[test]
fn texts_of_others_are_refused() {
    let refused = |template: &str, text: &str, reason: &str| {
        let error = compile(template).read(text).unwrap_err();
        assert!(matches!(error, FormatError::NotOfFormat(_)), "{error:?}");
        assert!(
            error.to_string().contains(reason),
            "{template} {text}: {error}"
        );
    };
    refused("SO-{number}", "SO", "byte 0");
    refused("SO-{number}", "SO-", "at least one digit");
    refused("SO-{number}", "so-1", "byte 0");
    refused("SO-{number}-X", "SO-1-Y", "byte 4");
    refused("SO-{number}", "SO-01", "2 digits");
    refused("SO-{number}", "SO-1 ", "no digit");
    refused("SO-{number width=3}", "SO-1", "1 digits");
    refused("SO-{number}", "SO-18446744073709551616", "larger");
    refused("{number}单", "1é", "byte 0");
    refused("{number}单", "12é", "byte 1");
    refused("{number}单", "1éé", "byte 0");
    refused("单{number}", "é1", "byte 0");
    refused("{date %Y%m%d}-{number}", "20191301-7", "byte 0");
    refused("{date %Y%m%d}-{number}", "2019 1 1-7", "byte 0");
    refused("{date %b}-{number}", "oct-7", "byte 0");
    refused("{worker width=4}{number}", "00x97", "byte 0");
    refused("{number}{random 3}", "712", "at least one digit");
    refused("{number}{random 3}", "71", "byte 0");
    refused("{number}{random 3}", "712x", "byte 1");
    refused("{number}{check damm}", "5725", "mistyped");
    refused("{number radix=36}{check 37-36}", "1j80ck", "mistyped");
    refused("{may_repeat}{random 3}", "123", "no number");
}

#[test]
fn too_long_is_an_error_and_nothing_is_written() {
    let refused = |template: &str, number: u64, largest: u64| {
        let format = compile(template);
        assert_eq!(format.largest(), largest, "{template}");
        let mut text = String::from("before");
        let error = format
            .write(number, &context(GEAR_MS), &mut text)
            .unwrap_err();
        assert!(matches!(error, FormatError::TooLong(_)), "{error:?}");
        assert_eq!(text, "before", "{template}");
        assert_eq!(format.read(&write(&*format, largest, GEAR_MS)), Ok(largest));
    };
    refused("SO-{number width=3}", 1000, 999);
    refused("SO-{number total=5}-", 10, 9);
    refused("SO-{number radix=62 width=2}", 62 * 62, 62 * 62 - 1);
    // No cut, as ns4_gear_idgen does: ('', '', 5, 1234567) is 34567 there.
    refused("{number total=5}", 1_234_567, 99_999);
    assert_eq!(compile("{number width=30}").largest(), u64::MAX);

    // Asked before a number is taken, which would be lost.
    let narrow = compile("{number}-{worker width=1}");
    assert_eq!(narrow.worker_id_max(), Some(9));
    assert!(narrow.check(Some(WorkerId::new(9))).is_ok());
    let error = narrow.check(Some(WorkerId::new(10))).unwrap_err();
    assert!(matches!(error, FormatError::TooLong(_)), "{error}");
    let format = compile("{number}-{worker width=1}");
    let mut text = String::new();
    let error = format.write(1, &context(GEAR_MS), &mut text).unwrap_err();
    assert!(matches!(&error, FormatError::TooLong(text) if text.contains("{worker}")));
    let nobody = FormatContext {
        unix_ms: GEAR_MS,
        worker_id: None,
    };
    let error = format.write(1, &nobody, &mut text).unwrap_err();
    assert!(matches!(&error, FormatError::Unavailable(text) if text.contains("no worker id")));
    let format = compile("{number}{unix_ms}");
    let error = format
        .write(1, &context(10_u64.pow(13)), &mut text)
        .unwrap_err();
    assert!(matches!(error, FormatError::TooLong(_)), "{error:?}");
    assert_eq!(text, "");
}

/// Alibaba's order number: date, random digits, time, application and thread.
#[test]
fn templates_without_a_number_say_that_they_may_repeat() {
    let format = compile("{may_repeat}{date %Y%m%d}{random 4}{unix_ms}app1{worker width=2}");
    assert!(format.may_repeat() && !format.is_readable());
    assert_eq!(format.largest(), u64::MAX);
    let (one, other) = (write(&*format, 1, GEAR_MS), write(&*format, 1, GEAR_MS));
    assert_eq!(
        (one.len(), &one[..8], &one[12..]),
        (31, "20191011", "1570807338079app139")
    );
    assert_ne!(one, other, "one chance in 10,000");

    let format = compile("{date %Y%m%d}{random 4}{number width=9}app1");
    assert!(!format.may_repeat() && format.is_readable());
    assert_eq!(format.read(&write(&*format, 4711, GEAR_MS)), Ok(4711));
}

/// Several templates on one thread: none writes the dates that another one rendered.
#[test]
fn dates_follow_the_clock_in_each_template() {
    let formats: Vec<_> = (0..20)
        .map(|index| {
            compile(&format!(
                "{{zone +{index:02}:00}}{{date %H:%M:%S.%3f}} {{number}}"
            ))
        })
        .collect();
    for second in 0..50 {
        for (hour, format) in formats.iter().enumerate() {
            let text = write(&**format, 7, second * 1000 + second);
            assert_eq!(text, format!("{hour:02}:00:{second:02}.{second:03} 7"));
        }
    }
}

#[test]
fn a_text_is_appended_to_what_stands_there() {
    let format = compile("A{number}{check luhn}");
    let mut text = String::from("9");
    format
        .write(7_992_739_871, &context(GEAR_MS), &mut text)
        .unwrap();
    assert_eq!(text, "9A79927398713");
}

#[test]
fn the_worker_id_is_that_of_the_context() {
    let tag = Tag::new("order").unwrap();
    let format = Formats::new()
        .compile(&tag, "{worker width=10}{number}")
        .unwrap();
    let context = FormatContext {
        unix_ms: 0,
        worker_id: Some(WorkerId::new(u32::MAX)),
    };
    let mut text = String::new();
    format.write(1, &context, &mut text).unwrap();
    assert_eq!(text, "42949672951");
}
