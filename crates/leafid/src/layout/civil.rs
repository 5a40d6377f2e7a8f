//! Instants as text and back (RFC 3339), without a crate for dates: `leafid` depends on few.
//!
//! The calendar is the proleptic Gregorian one. Source of the two conversions between days and
//! dates: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil` and
//! `civil_from_days`, <https://howardhinnant.github.io/date_algorithms.html> (public domain).

use std::fmt;

pub(super) const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
pub(super) const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// An instant, in milliseconds since 1970-01-01T00:00:00Z, that writes itself as RFC 3339 in UTC;
/// milliseconds only where there are some. A year outside 0000 to 9999 gets a sign, as ISO 8601
/// has it.
#[derive(Clone, Copy)]
pub(crate) struct Instant {
    pub(crate) unix_ms: i64,
}

/// A date; days and months count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Date {
    /// Days since 1970-01-01.
    const fn days(self) -> i64 {
        // Years begin in March here, so that the leap day is the last one.
        let year = self.year - (self.month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month = (self.month + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    const fn of_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + (month <= 2) as i64;
        Self { year, month, day }
    }
}

impl Instant {
    /// The year it lies in, in UTC.
    pub(super) const fn year(self) -> i64 {
        Date::of_days(self.unix_ms.div_euclid(DAY_MS)).year
    }

    /// Midnight (UTC) at the start of a year.
    pub(super) const fn start_of_year(year: i64) -> Self {
        let date = Date {
            year,
            month: 1,
            day: 1,
        };
        Self {
            unix_ms: date.days() * DAY_MS,
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Date { year, month, day } = Date::of_days(self.unix_ms.div_euclid(DAY_MS));
        let ms = self.unix_ms.rem_euclid(DAY_MS);
        let (hour, minute) = (ms / (60 * MINUTE_MS), ms / MINUTE_MS % 60);
        let (second, ms) = (ms / SECOND_MS % 60, ms % SECOND_MS);
        match year {
            0..=9999 => write!(f, "{year:04}")?,
            _ => write!(f, "{year:+05}")?,
        }
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if ms > 0 {
            write!(f, ".{ms:03}")?;
        }
        f.write_str("Z")
    }
}

/// What is wrong with a text for an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not a date and time in RFC 3339.
    Malformed,
    /// It is a date alone, or a date and time without a zone.
    NoZone,
    /// A day, hour, minute, second or zone that does not exist.
    NoSuchTime,
    /// It is finer than a millisecond.
    TooFine,
}

/// Parses an instant in RFC 3339, and returns milliseconds since 1970-01-01T00:00:00Z.
pub(super) fn parse(text: &str) -> Result<i64, Fault> {
    let mut rest = Rest(text.as_bytes());
    let date = rest.date()?;
    if rest.is_empty() {
        return Err(Fault::NoZone);
    }
    if !rest.skip(b"Tt ") {
        return Err(Fault::Malformed);
    }
    let time_ms = rest.time_ms()?;
    let offset_ms = rest.offset_ms()?;
    if !rest.is_empty() {
        return Err(Fault::Malformed);
    }
    Ok(date.days() * DAY_MS + time_ms - offset_ms)
}

/// The rest of the input.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Skips one byte if it is one of these.
    fn skip(&mut self, any_of: &[u8]) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if any_of.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// A number of exactly this many digits.
    fn number(&mut self, len: usize) -> Result<i64, Fault> {
        let (digits, rest) = self.0.split_at_checked(len).ok_or(Fault::Malformed)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(Fault::Malformed);
        }
        self.0 = rest;
        let digit = |byte: &u8| i64::from(byte - b'0');
        Ok(digits
            .iter()
            .map(digit)
            .fold(0, |sum, digit| sum * 10 + digit))
    }

    /// A number of two digits after a separator.
    fn behind(&mut self, mark: u8) -> Result<i64, Fault> {
        match self.skip(&[mark]) {
            true => self.number(2),
            false => Err(Fault::Malformed),
        }
    }

    fn date(&mut self) -> Result<Date, Fault> {
        let date = Date {
            year: self.number(4)?,
            month: self.behind(b'-')?,
            day: self.behind(b'-')?,
        };
        let exists = (1..=12).contains(&date.month) && Date::of_days(date.days()) == date;
        if exists {
            Ok(date)
        } else {
            Err(Fault::NoSuchTime)
        }
    }

    /// The time of day. A leap second has no number of its own in Unix time, and is refused.
    fn time_ms(&mut self) -> Result<i64, Fault> {
        let hour = self.number(2)?;
        let minute = self.behind(b':')?;
        let second = self.behind(b':')?;
        if hour > 23 || minute > 59 || second > 59 {
            return Err(Fault::NoSuchTime);
        }
        Ok((hour * 60 + minute) * MINUTE_MS + second * SECOND_MS + self.fraction_ms()?)
    }

    fn fraction_ms(&mut self) -> Result<i64, Fault> {
        if !self.skip(b".") {
            return Ok(0);
        }
        let len = self
            .0
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if len == 0 {
            return Err(Fault::Malformed);
        }
        let ms = match len {
            1 => self.number(1)? * 100,
            2 => self.number(2)? * 10,
            _ => self.number(3)?,
        };
        while self.skip(b"0") {}
        match self.0.first() {
            Some(byte) if byte.is_ascii_digit() => Err(Fault::TooFine),
            _ => Ok(ms),
        }
    }

    fn offset_ms(&mut self) -> Result<i64, Fault> {
        if self.is_empty() {
            return Err(Fault::NoZone);
        }
        if self.skip(b"Zz") {
            return Ok(0);
        }
        let sign = match (self.skip(b"+"), self.skip(b"-")) {
            (true, false) => 1,
            (false, true) => -1,
            _ => return Err(Fault::Malformed),
        };
        let hour = self.number(2)?;
        let minute = self.behind(b':')?;
        if hour > 23 || minute > 59 {
            return Err(Fault::NoSuchTime);
        }
        Ok(sign * (hour * 60 + minute) * MINUTE_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_and_read_back() {
        let check = |unix_ms: i64, text: &str| {
            assert_eq!(Instant { unix_ms }.to_string(), text);
            assert_eq!(parse(text), Ok(unix_ms), "{text}");
        };
        check(0, "1970-01-01T00:00:00Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        check(1_288_834_974_657, "2010-11-04T01:42:54.657Z");
        check(951_782_400_000, "2000-02-29T00:00:00Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00Z");
        check(253_402_300_799_999, "9999-12-31T23:59:59.999Z");
        check(-62_167_219_200_000, "0000-01-01T00:00:00Z");
    }

    #[test]
    fn years_that_no_reader_takes_are_written_with_a_sign() {
        let check = |unix_ms: i64, text: &str| {
            assert_eq!(Instant { unix_ms }.to_string(), text);
            assert_eq!(parse(text), Err(Fault::Malformed), "{text}");
        };
        check(253_402_300_800_000, "+10000-01-01T00:00:00Z");
        check(-62_167_219_200_001, "-0001-12-31T23:59:59.999Z");
        check(i64::MAX, "+292278994-08-17T07:12:55.807Z");
        check(i64::MIN, "-292275055-05-16T16:47:04.192Z");
    }

    #[test]
    fn every_day_of_eight_centuries_comes_back() {
        let first = Date {
            year: 1600,
            month: 1,
            day: 1,
        }
        .days();
        let mut date = Date::of_days(first);
        for days in first..first + 2 * 146_097 {
            assert_eq!(Date::of_days(days).days(), days);
            let next = Date::of_days(days + 1);
            let in_order = (date.year, date.month, date.day) < (next.year, next.month, next.day);
            assert!(in_order, "{date:?} {next:?}");
            date = next;
        }
        assert_eq!(
            date,
            Date {
                year: 2400,
                month: 1,
                day: 1
            }
        );
    }

    #[test]
    fn zones_and_fractions_are_read() {
        let check = |text: &str, expected| assert_eq!(parse(text), expected, "{text}");
        check("2016-05-20T00:00:00+08:00", Ok(1_463_673_600_000));
        check("2016-05-20T00:00:00Z", Ok(1_463_702_400_000));
        check("2016-05-19t16:00:00.000z", Ok(1_463_673_600_000));
        check("2016-05-19 10:30:00-05:30", Ok(1_463_673_600_000));
        check("1970-01-01T00:00:00.5Z", Ok(500));
        check("1970-01-01T00:00:00.0650000Z", Ok(65));
        check("1970-01-01T00:00:00.0001Z", Err(Fault::TooFine));
        check("1970-01-01T00:00:00.00000100Z", Err(Fault::TooFine));
        check("2016-05-20", Err(Fault::NoZone));
        check("2016-05-20T00:00:00", Err(Fault::NoZone));
        check("2016-05-20T00:00:00.123", Err(Fault::NoZone));
        check("2016-02-30T00:00:00Z", Err(Fault::NoSuchTime));
        check("2015-02-29T00:00:00Z", Err(Fault::NoSuchTime));
        check("2016-13-01T00:00:00Z", Err(Fault::NoSuchTime));
        check("2016-00-01T00:00:00Z", Err(Fault::NoSuchTime));
        check("2016-05-20T24:00:00Z", Err(Fault::NoSuchTime));
        check("2016-12-31T23:59:60Z", Err(Fault::NoSuchTime));
        check("2016-05-20T00:00:00+24:00", Err(Fault::NoSuchTime));
        check("2016-05-20T00:00Z", Err(Fault::Malformed));
        check("2016-05-20T00:00:00.Z", Err(Fault::Malformed));
        check("2016-05-20T00:00:00+0800", Err(Fault::Malformed));
        check("2016-05-20T00:00:00+-8:00", Err(Fault::Malformed));
        check("2016-05-20T00:00:00Zx", Err(Fault::Malformed));
        check("2016-5-20T00:00:00Z", Err(Fault::Malformed));
        check("２０１６-05-20T00:00:00Z", Err(Fault::Malformed));
        check("", Err(Fault::Malformed));
    }

    #[test]
    fn years_start_at_midnight() {
        let unix_ms = Instant {
            unix_ms: 1_732_109_055_000,
        };
        assert_eq!(unix_ms.year(), 2024);
        let start = Instant::start_of_year(unix_ms.year());
        assert_eq!(start.to_string(), "2024-01-01T00:00:00Z");
    }
}
