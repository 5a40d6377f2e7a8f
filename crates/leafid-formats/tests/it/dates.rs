//! Dates are those of jiff, for every directive, zone and time; what was written is read back.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{compile, write};

const PATTERNS: [&str; 22] = [
    "%Y", "%y", "%m", "%d", "%j", "%H", "%M", "%S", "%3f", "%b", "%h", "%a", "%u", "%w", "%U",
    "%W", "%V", "%G", "%I", "%F", "%T", "%R",
];

const ZONES: [&str; 5] = [
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
];

/// 3000-01-01T00:00:00Z.
const END_MS: u64 = 32_503_680_000_000;

#[test]
fn every_directive_is_that_of_jiff_and_read_back() {
    for zone_name in ZONES {
        let zone = TimeZone::get(zone_name).unwrap();
        for pattern in PATTERNS {
            let format = compile(&format!(
                "{{zone {zone_name}}}{{date {pattern}}}-{{number}}"
            ));
            for _ in 0..200 {
                let unix_ms = fastrand::u64(86_400_000..END_MS);
                let time = Timestamp::from_millisecond(unix_ms.cast_signed()).unwrap();
                let time = time.to_zoned(zone.clone());
                let expected = match pattern {
                    // jiff has no years of two digits but 1969 to 2068.
                    "%y" => time.strftime("%Y").to_string()[2..].to_owned(),
                    _ => time.strftime(pattern).to_string(),
                };
                let text = write(&*format, 42, unix_ms);
                assert_eq!(
                    text,
                    format!("{expected}-42"),
                    "{pattern} {zone_name} {unix_ms}"
                );
                assert_eq!(format.read(&text), Ok(42), "{pattern} {text}");
            }
        }
    }
}

#[test]
fn times_beyond_the_calendar_do_no_harm() {
    let format = compile("{zone Pacific/Apia}{date %Y%m%d}-{number}");
    for unix_ms in [0, 1, i64::MAX as u64, u64::MAX] {
        let text = write(&*format, 42, unix_ms);
        assert_eq!(format.read(&text), Ok(42), "{text}");
    }
}

/// Guards the times that the date in a text stands for, as far as it tells: from the first moment
/// of its year, month, day or hour to that of the next one, as the clocks of the zone show them.
#[test]
fn a_date_in_a_text_is_from_a_first_moment_to_a_last_one() {
    let day = "{zone America/New_York}{date %Y%m%d}-{number}";
    let hour = "{zone America/New_York}{date %Y%m%d%H}-{number}";
    for (template, text, times) in [
        (
            day,
            "20260301-7",
            ("2026-03-01T05:00:00Z", "2026-03-02T05:00:00Z"),
        ),
        // Of 23 and of 25 hours.
        (
            day,
            "20260308-7",
            ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
        ),
        (
            day,
            "20261101-7",
            ("2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
        ),
        // An hour that comes twice.
        (
            hour,
            "2026110101-7",
            ("2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z"),
        ),
        // A day that has no midnight.
        (
            "{zone America/Sao_Paulo}{date %Y%m%d}-{number}",
            "20181104-7",
            ("2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"),
        ),
        (
            "{date %Y}-{number}",
            "2026-7",
            ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ),
        (
            "{date %y%m}-{number}",
            "2611-7",
            ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ),
        (
            "{date %Y%j}-{number}",
            "2026032-7",
            ("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"),
        ),
        (
            "{number}-{date %F}T{date %R}",
            "7-2026-11-22T09:05",
            ("2026-11-22T09:05:00Z", "2026-11-22T09:06:00Z"),
        ),
        (
            "${date14}{number width=3}",
            "20261122090507007",
            ("2026-11-22T09:05:07Z", "2026-11-22T09:05:08Z"),
        ),
        (
            "${date17}{number width=3}",
            "20261122090507123007",
            ("2026-11-22T09:05:07.123Z", "2026-11-22T09:05:07.124Z"),
        ),
        (
            "{date %Y}{unix_ms}-{number}",
            "20261795305600000-7",
            ("2026-11-22T00:00:00Z", "2026-11-22T00:00:00.001Z"),
        ),
    ] {
        let parts = compile(template).decode(text).unwrap();
        let expected: [Timestamp; 2] = [times.0, times.1].map(|time| time.parse().unwrap());
        let expected = expected.map(Timestamp::as_millisecond);
        assert_eq!(parts.unix_ms, Some(expected.into()), "{template} {text}");
        assert_eq!(parts.number, 7, "{template} {text}");
    }
    for (template, text) in [("{date %m%d}-{number}", "1122-7"), ("{number}", "7")] {
        assert_eq!(
            compile(template).decode(text).unwrap().unix_ms,
            None,
            "{template}"
        );
    }
}

/// Guards that a day that no calendar has is no date of an id.
#[test]
fn a_date_that_does_not_exist_is_refused() {
    for (template, text) in [
        ("{date %Y%m%d}-{number}", "20260230-7"),
        ("{date %Y%j}-{number}", "2026366-7"),
        ("{date %Y}{date %m%d%H}-{number}", "2026043100-7"),
    ] {
        let error = compile(template).read(text).unwrap_err().to_string();
        assert!(
            error.contains("does not exist"),
            "{template} {text}: {error}"
        );
    }
    assert_eq!(compile("{date %Y%m%d}-{number}").read("20240229-7"), Ok(7));
}

/// Guards that what a date tells twice is the same both times, where the text tells enough to know.
#[test]
fn a_date_that_contradicts_itself_is_refused() {
    let check = |template: &str, text: &str, refused: &str| {
        let format = compile(template);
        assert_eq!(format.read(text), Ok(7), "{template}");
        assert!(format.read(refused).is_err(), "{template} {refused}");
    };
    check("{date %Y%m%d%a}-{number}", "20261123Mon-7", "20261122Mon-7");
    check("{date %y%m%d}{date %u}-{number}", "2611231-7", "2611232-7");
    check(
        "{date %F.%G%V}-{number}",
        "2026-11-23.202648-7",
        "2026-11-23.202647-7",
    );
    check(
        "{date %Y%m%d%H.%I}-{number}",
        "2026112315.03-7",
        "2026112315.04-7",
    );
    check(
        "{zone Asia/Shanghai}{date %Y%m%d}{unix_ms}-{number}",
        "202611231795363200000-7",
        "202611221795363200000-7",
    );
    // These tell too little to know.
    for (template, text) in [
        ("{date %Y%m%d%I}-{number}", "2026112303-7"),
        ("{date %Y%a}-{number}", "2026Mon-7"),
        ("{date %m%d%a}-{number}", "1123Sun-7"),
    ] {
        assert_eq!(compile(template).read(text), Ok(7), "{template}");
    }
}
