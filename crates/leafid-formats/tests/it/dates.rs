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
