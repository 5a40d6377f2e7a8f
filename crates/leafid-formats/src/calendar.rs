//! `Calendar`: a counter that restarts at 1 with each year, month, day or hour of a time zone.
//!
//! A number is `label * scale + counter`, where the label is the date down to the period in decimal
//! digits, such as 20261122. So numbers ascend from period to period, and none is in two of them.

mod fields;
mod restart;

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::LocalKey;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use leafid::format::{FormatError, Period};

pub(crate) use self::fields::DateFields;
pub(crate) use self::restart::Restart;

/// The end of the last year whose numbers fit 63 bits, 9222, one day early, so that it is in that
/// year everywhere. Later times count as this one.
const UNIX_S_MAX: i64 = 228_882_412_800;

/// No zone was ever moved back by more than a day and some hours.
const LOOK_BACK: SignedDuration = SignedDuration::from_hours(72);

/// How many calendars a thread keeps the present period of. Two of one remainder take turns.
const SLOTS: usize = 8;

/// The number of the next calendar, by which threads tell calendars apart.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The period of a calendar from one time up to another, as a thread found it last.
#[derive(Debug, Clone, Copy)]
struct Present {
    /// 0: nothing yet.
    calendar: u64,
    from_ms: u64,
    to_ms: u64,
    period: Period,
}

impl Present {
    const NONE: Self = Self {
        calendar: 0,
        from_ms: 0,
        to_ms: 0,
        period: Period {
            label: 0,
            first: 0,
            last: 0,
        },
    };
}

/// What this thread found last.
fn present() -> &'static LocalKey<[Cell<Present>; SLOTS]> {
    thread_local! {
        static PRESENT: [Cell<Present>; SLOTS] = const { [const { Cell::new(Present::NONE) }; SLOTS] };
    }
    &PRESENT
}

/// The periods of a counter.
#[derive(Debug)]
pub(crate) struct Calendar {
    calendar: u64,
    pub(crate) restart: Restart,
    zone: TimeZone,
    /// The largest counter.
    counter_max: u64,
    /// The years that the text of an id can tell.
    years: RangeInclusive<i16>,
}

/// A number as its period and its counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) label: u64,
    pub(crate) counter: u64,
    /// The first moment of the period.
    first: DateTime,
    /// The first moment of the next one.
    next: DateTime,
}

impl Counted {
    /// A moment within the period: this one, or the nearest.
    pub(crate) fn clamp(&self, date: DateTime) -> DateTime {
        let last = self.next.saturating_sub(SignedDuration::from_millis(1));
        date.clamp(self.first, last)
    }
}

impl Calendar {
    /// `fields` are those that the template tells, `counter_max` what its number has room for.
    pub(crate) fn new(
        restart: Restart,
        zone: TimeZone,
        counter_max: u64,
        fields: &DateFields,
    ) -> Self {
        Self {
            // Relaxed: nothing else is published by this number; it is only unique.
            calendar: NEXT.fetch_add(1, Ordering::Relaxed),
            restart,
            zone,
            counter_max: counter_max.min(restart.scale() - 1),
            years: fields.years(),
        }
    }

    /// The largest number of all.
    pub(crate) fn largest(&self) -> u64 {
        let last = Date::new(*self.years.end(), 12, 31).unwrap_or(Date::MAX);
        self.restart.label(last.at(23, 0, 0, 0)) * self.restart.scale() + self.counter_max
    }

    /// Whether the label is that of a year, month, day or hour.
    pub(crate) fn has_period(&self, label: u64) -> bool {
        self.restart.bounds(label).is_some()
    }

    /// The period at a time. Its label never goes down as time goes on: an hour or a day that a
    /// zone repeats is the same period.
    pub(crate) fn period(&self, unix_ms: u64) -> Period {
        let slot = usize::try_from(self.calendar % SLOTS as u64).unwrap_or(0);
        present().with(|slots| {
            let present = slots[slot].get();
            let is_in = (present.from_ms..present.to_ms).contains(&unix_ms);
            if present.calendar == self.calendar && is_in {
                return present.period;
            }
            let present = self.present(unix_ms);
            slots[slot].set(present);
            present.period
        })
    }

    /// The period at a time, from then on to its end.
    fn present(&self, unix_ms: u64) -> Present {
        let now = timestamp(unix_ms);
        let label = self.label_at(now);
        let scale = self.restart.scale();
        let next = self.restart.bounds(label).map(|(_, next)| next);
        let to = next.and_then(|next| self.first_at_or_after(next, now));
        let to_ms = to.and_then(|to| u64::try_from(to.as_millisecond()).ok());
        Present {
            calendar: self.calendar,
            from_ms: unix_ms,
            to_ms: to_ms.unwrap_or(u64::MAX),
            period: Period {
                label,
                first: label * scale + 1,
                last: label * scale + self.counter_max,
            },
        }
    }

    /// The highest label that the zone's clocks have shown up to a time.
    fn label_at(&self, now: Timestamp) -> u64 {
        let label = |time: Timestamp| self.restart.label(self.zone.to_datetime(time));
        let (Ok(oldest), Ok(after)) = (
            now.checked_sub(LOOK_BACK),
            now.checked_add(SignedDuration::from_millis(1)),
        ) else {
            return label(now);
        };
        let shown_before = self
            .zone
            .preceding(after)
            .take_while(|transition| transition.timestamp() >= oldest)
            .filter_map(|transition| {
                let before = transition
                    .timestamp()
                    .checked_sub(SignedDuration::from_millis(1));
                before.ok().map(label)
            });
        shown_before.fold(label(now), u64::max)
    }

    /// The first time from `now` on at which the zone's clocks show this date or a later one.
    fn first_at_or_after(&self, date: DateTime, now: Timestamp) -> Option<Timestamp> {
        let mut offset = self.zone.to_offset(now);
        let mut from = now;
        for transition in self.zone.following(now) {
            let time = offset.to_timestamp(date).ok()?.max(from);
            if time < transition.timestamp() {
                return Some(time);
            }
            offset = transition.offset();
            from = transition.timestamp();
        }
        Some(offset.to_timestamp(date).ok()?.max(from))
    }

    /// A number as its period and its counter.
    pub(crate) fn split(&self, number: u64) -> Result<Counted, FormatError> {
        let (label, counter) = (number / self.restart.scale(), number % self.restart.scale());
        let Some((first, next)) = self.restart.bounds(label) else {
            return Err(FormatError::NotOfFormat(format!(
                "the number {number} does not begin with a date, as those of a counter that \
                restarts with each {} do",
                self.restart.name()
            )));
        };
        if !self.years.contains(&first.year()) {
            let (least, most) = (self.years.start(), self.years.end());
            return Err(FormatError::TooLong(format!(
                "the year {} does not fit the format, which tells {least} to {most}: make a new \
                tag with %Y",
                first.year()
            )));
        }
        if counter > self.counter_max {
            return Err(FormatError::TooLong(format!(
                "the counter of {label} is beyond {}, the largest that the format has room for: \
                it restarts with the next {}",
                self.counter_max,
                self.restart.name()
            )));
        }
        Ok(Counted {
            label,
            counter,
            first,
            next,
        })
    }

    /// The number of a text.
    pub(crate) fn join(&self, fields: &DateFields, counter: u64) -> Result<u64, FormatError> {
        let label = fields.label(self.restart).ok_or_else(|| {
            FormatError::NotOfFormat("the date in the text does not exist".to_owned())
        })?;
        if counter == 0 {
            return Err(FormatError::NotOfFormat(
                "the counter in the text is 0, and counters begin at 1".to_owned(),
            ));
        }
        let number = label.checked_mul(self.restart.scale());
        let number = number.and_then(|number| number.checked_add(counter));
        let number = number.ok_or_else(|| {
            FormatError::NotOfFormat("the date in the text is too late".to_owned())
        })?;
        self.split(number).map(|_| number)
    }
}

/// A time as jiff has it; one that is too late as the latest.
pub(crate) fn timestamp(unix_ms: u64) -> Timestamp {
    let unix_ms = i64::try_from(unix_ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(unix_ms.min(UNIX_S_MAX * 1000)).unwrap_or(Timestamp::MAX)
}
