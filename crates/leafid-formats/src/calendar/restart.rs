//! `Restart`: how often a counter restarts, and the labels of its periods.

use jiff::Span;
use jiff::civil::DateTime;

/// How often a counter restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restart {
    Year,
    Month,
    Day,
    Hour,
}

impl Restart {
    pub(crate) const ALL: [Self; 4] = [Self::Year, Self::Month, Self::Day, Self::Hour];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
        }
    }

    /// How many numbers a period has, 0 included.
    pub(crate) const fn scale(self) -> u64 {
        match self {
            Self::Year => 10_u64.pow(15),
            Self::Month => 10_u64.pow(13),
            Self::Day => 10_u64.pow(11),
            Self::Hour => 10_u64.pow(9),
        }
    }

    /// The date down to the period, in decimal digits.
    pub(crate) fn label(self, date: DateTime) -> u64 {
        let digits = |number: i8| u64::try_from(number).unwrap_or(0);
        let year = u64::try_from(date.year()).unwrap_or(0);
        let month = year * 100 + digits(date.month());
        let day = month * 100 + digits(date.day());
        match self {
            Self::Year => year,
            Self::Month => month,
            Self::Day => day,
            Self::Hour => day * 100 + digits(date.hour()),
        }
    }

    /// The first moment of the period with this label, and of the next one.
    pub(super) fn bounds(self, label: u64) -> Option<(DateTime, DateTime)> {
        let two = |label: u64| i8::try_from(label % 100).ok();
        let (year, month, day, hour) = match self {
            Self::Year => (label, 1, 1, 0),
            Self::Month => (label / 100, two(label)?, 1, 0),
            Self::Day => (label / 10_000, two(label / 100)?, two(label)?, 0),
            Self::Hour => {
                let (month, day) = (two(label / 10_000)?, two(label / 100)?);
                (label / 1_000_000, month, day, two(label)?)
            }
        };
        let first = DateTime::new(i16::try_from(year).ok()?, month, day, hour, 0, 0, 0).ok()?;
        let span = match self {
            Self::Year => Span::new().years(1),
            Self::Month => Span::new().months(1),
            Self::Day => Span::new().days(1),
            Self::Hour => Span::new().hours(1),
        };
        Some((first, first.checked_add(span).ok()?))
    }
}
