//! `DateFields`: what the text of an id says about its date.

use std::ops::RangeInclusive;

use jiff::Span;
use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime::BrokenDownTime;

use super::Restart;

/// What a text says about the date.
#[derive(Debug, Clone, Default)]
pub(crate) struct DateFields {
    pub(crate) year: Option<i16>,
    /// The last two digits of the year.
    pub(crate) year2: Option<i16>,
    /// The last three.
    pub(crate) year3: Option<i16>,
    pub(crate) month: Option<i8>,
    pub(crate) day: Option<i8>,
    pub(crate) day_of_year: Option<i16>,
    pub(crate) hour: Option<i8>,
    pub(crate) minute: Option<i8>,
    pub(crate) second: Option<i8>,
    pub(crate) millisecond: Option<i16>,
    /// Directives that follow from these, such as `%a`, with their texts.
    pub(crate) derived: Vec<(&'static str, String)>,
}

impl DateFields {
    /// The year: one without its first digits is of this millennium.
    fn year(&self) -> Option<i16> {
        let long = self.year.or(self.year3.map(|year| 2000 + year));
        let year = long.or(self.year2.map(|year| 2000 + year))?;
        let fits = self.year3.is_none_or(|last| last == year % 1000)
            && self.year2.is_none_or(|last| last == year % 100);
        fits.then_some(year)
    }

    /// The years that texts with these fields tell apart.
    pub(super) fn years(&self) -> RangeInclusive<i16> {
        match (self.year, self.year3) {
            (Some(_), _) => 0..=9222,
            (None, Some(_)) => 2000..=2999,
            (None, None) => 2000..=2099,
        }
    }

    /// Month and day, which a day of the year tells too.
    fn date(&self) -> Option<Date> {
        let year = self.year()?;
        let date = match (self.month, self.day, self.day_of_year) {
            (month, day, Some(day_of_year)) => {
                let days = Span::new().days(i64::from(day_of_year) - 1);
                let date = Date::new(year, 1, 1).ok()?.checked_add(days).ok()?;
                let fits = date.year() == year
                    && month.is_none_or(|month| month == date.month())
                    && day.is_none_or(|day| day == date.day());
                fits.then_some(date)?
            }
            (month, day, None) => Date::new(year, month?, day?).ok()?,
        };
        Some(date)
    }

    fn tells_day(&self) -> bool {
        self.day_of_year.is_some() || (self.month.is_some() && self.day.is_some())
    }

    /// Whether the directives that follow from a date and its hour are those of this one, as far as
    /// the text tells it.
    fn derives(&self, first: DateTime) -> bool {
        let time = BrokenDownTime::from(first);
        let mut derived = self.derived.iter();
        derived.all(|(directive, text)| {
            let is_told = match *directive {
                "%I" => self.hour.is_some(),
                _ => self.tells_day(),
            };
            !is_told || time.to_string(directive).is_ok_and(|own| own == *text)
        })
    }

    /// The first moment that the fields fit, and the first one after them; `Some(None)` if they do
    /// not tell the year, and `None` if there is no such date.
    pub(crate) fn bounds(&self) -> Option<Option<(DateTime, DateTime)>> {
        if self.year.is_none() && self.year2.is_none() && self.year3.is_none() {
            return Some(None);
        }
        let year = self.year()?;
        let tells_day = self.tells_day();
        let date = match tells_day {
            true => self.date()?,
            false => Date::new(year, self.month.unwrap_or(1), 1).ok()?,
        };
        let hour = self.hour.filter(|_| tells_day);
        let minute = self.minute.filter(|_| hour.is_some());
        let second = self.second.filter(|_| minute.is_some());
        let millisecond = self.millisecond.filter(|_| second.is_some());
        let first = date.at(
            hour.unwrap_or(0),
            minute.unwrap_or(0),
            second.unwrap_or(0),
            i32::from(millisecond.unwrap_or(0)) * 1_000_000,
        );
        if !self.derives(first.with().hour(self.hour.unwrap_or(0)).build().ok()?) {
            return None;
        }
        let unit = match (self.month, tells_day, hour, minute, second, millisecond) {
            (.., Some(_)) => Span::new().milliseconds(1),
            (.., Some(_), None) => Span::new().seconds(1),
            (.., Some(_), None, None) => Span::new().minutes(1),
            (_, _, Some(_), ..) => Span::new().hours(1),
            (_, true, ..) => Span::new().days(1),
            (Some(_), false, ..) => Span::new().months(1),
            (None, false, ..) => Span::new().years(1),
        };
        Some(Some((first, first.saturating_add(unit))))
    }

    /// The label of the period, if the fields tell it.
    pub(crate) fn label(&self, restart: Restart) -> Option<u64> {
        let (date, hour) = match restart {
            Restart::Year => (Date::new(self.year()?, 1, 1).ok()?, 0),
            Restart::Month if self.day_of_year.is_none() => {
                (Date::new(self.year()?, self.month?, 1).ok()?, 0)
            }
            Restart::Month | Restart::Day => (self.date()?, 0),
            Restart::Hour => (self.date()?, self.hour?),
        };
        Some(restart.label(date.at(hour, 0, 0, 0)))
    }
}
