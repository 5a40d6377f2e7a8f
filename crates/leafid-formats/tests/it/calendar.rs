//! Counters that restart with each period: midnight, summer time, leap days, ends of years, and
//! zones whose clocks were moved back over midnight.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use leafid::format::{FormatError, IdFormat};

use crate::{compile, context, write};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

fn ms(time: &str) -> u64 {
    let time: Timestamp = time.parse().unwrap();
    time.as_millisecond().cast_unsigned()
}

fn label(format: &dyn IdFormat, time: &str) -> u64 {
    format.period(ms(time)).unwrap().label
}

/// The text of the first number of the period at a time.
fn first(format: &dyn IdFormat, time: &str) -> String {
    let period = format.period(ms(time)).unwrap();
    write(format, period.first, ms(time))
}

#[test]
fn a_day_of_shanghai_begins_at_16_of_utc() {
    let template = "{zone Asia/Shanghai}SO{date %Y%m%d}{number width=6 restart=day}";
    let format = compile(template);
    assert_eq!(
        first(&*format, "2026-11-22T15:59:59.999Z"),
        "SO20261122000001"
    );
    assert_eq!(
        first(&*format, "2026-11-22T16:00:00.000Z"),
        "SO20261123000001"
    );
    let period = format.period(ms("2026-11-22T16:00:00Z")).unwrap();
    assert_eq!(period.label, 20_261_123);
    assert_eq!(period.first, 2_026_112_300_000_000_001);
    assert_eq!(period.last, 2_026_112_300_000_999_999);
    assert_eq!(write(&*format, period.last, 0), "SO20261123999999");
    assert_eq!(format.read("SO20261123999999"), Ok(period.last));
}

#[test]
fn each_period_has_numbers_of_its_own() {
    let check = |restart: &str, date: &str, text: &str, label: u64, len: u64| {
        let format = compile(&format!("{{date {date}}}-{{number restart={restart}}}"));
        let period = format.period(ms("2026-11-22T13:14:15Z")).unwrap();
        assert_eq!((period.label, period.len()), (label, len), "{restart}");
        let written = write(&*format, period.first, ms("2026-11-22T13:14:15Z"));
        assert_eq!(written, format!("{text}-1"));
        assert_eq!(format.read(&written), Ok(period.first));
        let written = write(&*format, period.last, ms("2026-11-22T13:14:15Z"));
        assert_eq!(format.read(&written), Ok(period.last));
    };
    check("year", "%Y", "2026", 2026, 10_u64.pow(15) - 1);
    check("month", "%Y%m", "202611", 202_611, 10_u64.pow(13) - 1);
    check("day", "%Y%m%d", "20261122", 20_261_122, 10_u64.pow(11) - 1);
    check("day", "%y-%j", "26-326", 20_261_122, 10_u64.pow(11) - 1);
    check(
        "day",
        "%d %b %y",
        "22 Nov 26",
        20_261_122,
        10_u64.pow(11) - 1,
    );
    check(
        "hour",
        "%Y%m%d%H",
        "2026112213",
        2_026_112_213,
        10_u64.pow(9) - 1,
    );
}

#[test]
fn an_hour_that_new_york_repeats_continues_its_counter() {
    let format = compile("{zone America/New_York}{date %Y%m%d%H}{number restart=hour}");
    let label = |time: &str| label(&*format, time) % 10_000;
    assert_eq!(label("2026-11-01T04:59:59.999Z"), 100);
    assert_eq!(label("2026-11-01T05:00:00Z"), 101);
    assert_eq!(
        label("2026-11-01T06:00:00Z"),
        101,
        "01:00 for the second time"
    );
    assert_eq!(label("2026-11-01T06:59:59.999Z"), 101);
    assert_eq!(label("2026-11-01T07:00:00Z"), 102);
    assert_eq!(label("2026-03-08T06:59:59.999Z"), 801);
    assert_eq!(label("2026-03-08T07:00:00Z"), 803, "no hour 2");

    let format = compile("{zone America/New_York}{date %y%m%d}{number restart=day}");
    assert_eq!(first(&*format, "2026-11-01T03:59:59.999Z"), "2610311");
    assert_eq!(first(&*format, "2026-11-01T04:00:00Z"), "2611011");
    assert_eq!(
        first(&*format, "2026-11-02T04:59:59.999Z"),
        "2611011",
        "a day of 25 hours"
    );
    assert_eq!(first(&*format, "2026-11-02T05:00:00Z"), "2611021");
}

#[test]
fn lord_howe_moves_its_clocks_by_half_an_hour() {
    let format = compile("{zone Australia/Lord_Howe}{date %Y%m%d%H}{number restart=hour}");
    let label = |time: &str| label(&*format, time) % 10_000;
    assert_eq!(label("2026-04-04T14:00:00Z"), 501);
    assert_eq!(label("2026-04-04T14:59:59.999Z"), 501);
    assert_eq!(
        label("2026-04-04T15:00:00Z"),
        501,
        "01:30 for the second time"
    );
    assert_eq!(label("2026-04-04T15:30:00Z"), 502);
    assert_eq!(label("2026-10-03T15:29:59.999Z"), 401);
    assert_eq!(label("2026-10-03T15:30:00Z"), 402, "02:30 after 01:59");
    assert_eq!(label("2026-10-03T16:00:00Z"), 403);
}

/// In St John's clocks went from 00:01 back to 23:01 of the day before, at Casey from 02:00 to
/// 23:00.
#[test]
fn a_day_that_has_begun_is_not_left_again() {
    // A new format each time: one that was asked before knows the period from then on.
    let label = |zone: &str, time: &str| {
        let template = format!("{{zone {zone}}}{{date %Y%m%d}}{{number restart=day}}");
        label(&*compile(&template), time)
    };
    let st_johns = |time: &str| label("America/St_Johns", time);
    assert_eq!(st_johns("2010-11-07T02:29:59Z"), 20_101_106);
    assert_eq!(st_johns("2010-11-07T02:30:30Z"), 20_101_107);
    assert_eq!(
        st_johns("2010-11-07T02:31:00Z"),
        20_101_107,
        "23:01 of the 6th"
    );
    let casey = |time: &str| label("Antarctica/Casey", time);
    assert_eq!(casey("2010-03-04T14:59:00Z"), 20_100_305);
    assert_eq!(
        casey("2010-03-04T15:30:00Z"),
        20_100_305,
        "23:30 of the 4th"
    );
    let apia = |time: &str| label("Pacific/Apia", time);
    assert_eq!(apia("2011-12-30T09:59:59Z"), 20_111_229);
    assert_eq!(
        apia("2011-12-30T10:00:00Z"),
        20_111_231,
        "there was no 30th"
    );
}

/// The oracle: the highest label that the zone's clocks have shown since some days before.
#[test]
fn labels_ascend_over_all_minutes_of_several_years() {
    let check = |zone_name: &str, from: &str, years: u64| {
        let zone = TimeZone::get(zone_name).unwrap();
        let template = |date, restart| {
            format!("{{zone {zone_name}}}{{date {date}}}{{number restart={restart}}}")
        };
        let hours = compile(&template("%Y%m%d%H", "hour"));
        let days = compile(&template("%Y%m%d", "day"));
        let start = ms(from);
        let minutes = (start..start + years * 366 * DAY_MS).step_by(60_000);
        let labels = minutes.scan(0, |hour_max: &mut u64, unix_ms| {
            let time = Timestamp::from_millisecond(unix_ms.cast_signed()).unwrap();
            *hour_max = shown(zone.to_datetime(time)).max(*hour_max);
            Some((unix_ms, *hour_max))
        });
        // The first days only tell the oracle what was shown.
        let labels: Vec<_> = labels.skip(4 * 24 * 60).collect();
        let check = |(unix_ms, hour): &(u64, u64)| {
            assert_eq!(
                days.period(*unix_ms).unwrap().label,
                hour / 100,
                "{unix_ms}"
            );
            assert_eq!(hours.period(*unix_ms).unwrap().label, *hour, "{unix_ms}");
        };
        // As time goes on, a format knows the period from before; backwards, it never does.
        labels.iter().for_each(check);
        labels.iter().rev().step_by(7).for_each(check);
    };
    check("America/New_York", "2026-01-01T00:00:00Z", 2);
    check("Australia/Lord_Howe", "2027-01-01T00:00:00Z", 2);
    check("America/St_Johns", "2009-01-01T00:00:00Z", 2);
    check("Antarctica/Casey", "2009-06-01T00:00:00Z", 2);
    check("Pacific/Apia", "2011-01-01T00:00:00Z", 1);
    check("Asia/Shanghai", "1990-01-01T00:00:00Z", 2);
}

fn shown(date: DateTime) -> u64 {
    let number = |number: i8| u64::try_from(number).unwrap();
    let year = u64::try_from(date.year()).unwrap();
    let day = (year * 100 + number(date.month())) * 100 + number(date.day());
    day * 100 + number(date.hour())
}

#[test]
fn every_year_from_1970_to_2999_begins_and_ends() {
    let days = compile("{zone Asia/Shanghai}{date %Y%m%d}{number restart=day}");
    let years = compile("{zone Asia/Shanghai}{date %Y}{number restart=year}");
    let shanghai = TimeZone::get("Asia/Shanghai").unwrap();
    for year in 1970..=2999 {
        let midnight = DateTime::new(year, 1, 1, 0, 0, 0, 0).unwrap();
        let midnight = midnight.to_zoned(shanghai.clone()).unwrap().timestamp();
        let Ok(begin) = u64::try_from(midnight.as_millisecond()) else {
            continue;
        };
        let year = u64::try_from(year).unwrap();
        let labels = |unix_ms| [&years, &days].map(|format| format.period(unix_ms).unwrap().label);
        assert_eq!(labels(begin), [year, year * 10_000 + 101]);
        assert_eq!(labels(begin - 1), [year - 1, (year - 1) * 10_000 + 1231]);
        for format in [&years, &days] {
            let period = format.period(begin).unwrap();
            assert!(format.period(begin - 1).unwrap().last < period.first);
            for number in [period.first, period.last] {
                let text = write(&**format, number, begin);
                assert_eq!(format.read(&text), Ok(number), "{text}");
            }
        }
    }
}

#[test]
fn leap_days_are_days() {
    let format = compile("{date %Y%m%d}{number width=2 restart=day}");
    for (time, text) in [
        ("2028-02-28T23:59:59Z", "2028022801"),
        ("2028-02-29T00:00:00Z", "2028022901"),
        ("2028-03-01T00:00:00Z", "2028030101"),
        ("2100-02-28T23:59:59Z", "2100022801"),
        ("2100-03-01T00:00:00Z", "2100030101"),
    ] {
        assert_eq!(first(&*format, time), text);
    }
    assert!(format.read("2100022901").is_err(), "2100 is no leap year");
    let format = compile("{date %Y-%j}{number width=2 restart=day}");
    assert_eq!(first(&*format, "2028-12-31T12:00:00Z"), "2028-36601");
    assert!(format.read("2027-36601").is_err());
}

/// A server whose clock is in another period than the number writes a date of the number's.
#[test]
fn finer_dates_are_within_the_period_of_the_number() {
    let format = compile("{zone Asia/Shanghai}{date %Y%m%d-%H%M%S.%3f}-{number restart=month}");
    let period = format.period(ms("2026-11-22T00:00:00Z")).unwrap();
    let written = |time: &str| write(&*format, period.first + 41, ms(time));
    assert_eq!(written("2026-11-22T00:00:00Z"), "20261122-080000.000-42");
    assert_eq!(written("2026-11-30T16:00:00Z"), "20261130-235959.999-42");
    assert_eq!(written("2026-10-31T15:59:59Z"), "20261101-000000.000-42");
    for time in ["2026-11-22T00:00:00Z", "2026-12-30T16:00:00Z"] {
        assert_eq!(format.read(&written(time)), Ok(period.first + 41));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |template: &str, number: u64, reason: &str| {
        let mut text = String::new();
        let error = compile(template)
            .write(number, &context(0), &mut text)
            .unwrap_err();
        assert!(error.to_string().contains(reason), "{template}: {error}");
        assert_eq!(text, "");
        error
    };
    let six = "{date %Y%m%d}{number width=6 restart=day}";
    let error = refused(six, 2_026_112_200_001_000_000, "restarts with the next day");
    assert!(matches!(error, FormatError::TooLong(_)));
    let error = refused(six, 4711, "does not begin with a date");
    assert!(matches!(error, FormatError::NotOfFormat(_)));
    refused(six, 2_026_133_200_000_000_001, "does not begin with a date");
    let two_digits = "${date6}{number restart=day}";
    refused(two_digits, 2_100_010_100_000_000_001, "tells 2000 to 2099");
    refused(
        two_digits,
        1_999_123_100_000_000_001,
        "make a new tag with %Y",
    );
    refused(
        "${date16}{number restart=day}",
        3_000_010_100_000_000_001,
        "2000 to 2999",
    );

    assert_eq!(compile(six).largest(), 9_222_123_100_000_999_999);
    assert_eq!(compile(two_digits).largest(), 2_099_123_199_999_999_999);
    let texts = [
        "20261322000001",
        "20261122x00001",
        "2026112200001",
        "93000101000001",
    ];
    for text in texts {
        assert!(compile(six).read(text).is_err(), "{text}");
    }
    let twice = compile("{date %Y%m%d}{number width=2 restart=day}-{date %y}");
    assert!(twice.read("2026112201-26").is_ok());
    assert!(twice.read("2026112201-27").is_err(), "two years");
}

/// Each thread keeps the present period of several calendars: none takes another's.
#[test]
fn calendars_do_not_mix() {
    let formats: Vec<_> = (0..20)
        .map(|index| {
            let zone = format!("{{zone +{index:02}:00}}");
            compile(&format!("{zone}{{date %Y%m%d%H}}{{number restart=hour}}"))
        })
        .collect();
    for unix_ms in (0..3 * DAY_MS).step_by(1_234_567) {
        for (index, format) in formats.iter().enumerate() {
            let local = unix_ms + index as u64 * 60 * MINUTE_MS;
            let hour = local % DAY_MS / (60 * MINUTE_MS);
            let label = format.period(unix_ms).unwrap().label;
            assert_eq!(label, (19_700_101 + local / DAY_MS) * 100 + hour);
        }
    }
}
