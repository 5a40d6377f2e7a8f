//! `DateFields`: what the text of an id says about its date.

use std::ops::RangeInclusive;

use jiff::Span;
use jiff::civil::Date;

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
