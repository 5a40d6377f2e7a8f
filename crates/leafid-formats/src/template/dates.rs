//! `Dates`: all dates of one template, rendered once per second.
//!
//! Issuing a text needs the same dates as the text before it, nearly always. Each thread keeps what
//! it rendered last for a few templates, so that nothing is shared and nothing waits.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::LocalKey;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use leafid::format::FormatError;

use super::date::DatePattern;
use crate::calendar::{Counted, DateFields, timestamp};

/// How many templates a thread keeps the dates of. Two of one remainder take turns.
const SLOTS: usize = 8;

/// The number of the next template, by which threads tell templates apart.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// What a thread rendered last for a template.
struct Rendered {
    /// 0: nothing yet.
    template: u64,
    /// Seconds since 1970, or milliseconds where the template writes them.
    time: u64,
    /// That of the period of a calendar counter.
    label: u64,
    text: String,
}

impl Rendered {
    const NONE: Self = Self {
        template: 0,
        time: 0,
        label: 0,
        text: String::new(),
    };
}

/// What this thread rendered last.
fn rendered() -> &'static LocalKey<RefCell<[Rendered; SLOTS]>> {
    thread_local! {
        static RENDERED: RefCell<[Rendered; SLOTS]> =
            const { RefCell::new([const { Rendered::NONE }; SLOTS]) };
    }
    &RENDERED
}

/// The dates of one template, one after the other.
#[derive(Debug)]
pub(super) struct Dates {
    template: u64,
    zone: TimeZone,
    patterns: Vec<DatePattern>,
    width: usize,
    /// How many milliseconds have the same text.
    unit_ms: u64,
}

impl Dates {
    pub(super) fn new(zone: TimeZone, patterns: Vec<DatePattern>) -> Self {
        let has_milliseconds = patterns.iter().any(DatePattern::has_milliseconds);
        Self {
            // Relaxed: nothing else is published by this number; it is only unique.
            template: NEXT.fetch_add(1, Ordering::Relaxed),
            zone,
            width: patterns.iter().map(DatePattern::width).sum(),
            patterns,
            unit_ms: if has_milliseconds { 1 } else { 1000 },
        }
    }

    /// Calls `with` with all dates at a time. Those of a calendar counter are within its period.
    pub(super) fn render<T>(
        &self,
        unix_ms: u64,
        counted: Option<&Counted>,
        with: impl FnOnce(&str) -> Result<T, FormatError>,
    ) -> Result<T, FormatError> {
        if self.patterns.is_empty() {
            return with("");
        }
        let time = unix_ms / self.unit_ms;
        let label = counted.map_or(0, |counted| counted.label);
        let slot = usize::try_from(self.template % SLOTS as u64).unwrap_or(0);
        rendered().with_borrow_mut(|slots| {
            let rendered = &mut slots[slot];
            let is_same = rendered.template == self.template;
            if !is_same || rendered.time != time || rendered.label != label {
                rendered.template = 0;
                rendered.text.clear();
                self.render_new(unix_ms, counted, &mut rendered.text)?;
                rendered.template = self.template;
                rendered.time = time;
                rendered.label = label;
            }
            with(&rendered.text)
        })
    }

    fn render_new(
        &self,
        unix_ms: u64,
        counted: Option<&Counted>,
        text: &mut String,
    ) -> Result<(), FormatError> {
        let date = self.zone.to_datetime(timestamp(unix_ms));
        let date = counted.map_or(date, |counted| counted.clamp(date));
        for pattern in &self.patterns {
            let written = pattern.write(date, text);
            written.map_err(|error| {
                FormatError::Unavailable(format!("the date of the id cannot be written: {error}"))
            })?;
        }
        match text.len() == self.width {
            true => Ok(()),
            false => Err(FormatError::Unavailable(format!(
                "the date of the id cannot be written: \"{text}\" should have {} characters; \
                correct the clock",
                self.width
            ))),
        }
    }

    /// From when to when the fields of a text fit, in milliseconds since 1970-01-01T00:00:00Z: the
    /// second time is the first one after them. `Some(None)` if they do not tell the year, and
    /// `None` if there is no such date.
    pub(super) fn times(&self, fields: &DateFields) -> Option<Option<(i64, i64)>> {
        let Some((first, next)) = fields.bounds()? else {
            return Some(None);
        };
        // Clocks that are put back show a time twice: from the earlier to the later one.
        let first = self.zone.to_ambiguous_timestamp(first).compatible();
        let next = self.zone.to_ambiguous_timestamp(next).later();
        let [first, next] = [first, next].map(|time| time.unwrap_or(Timestamp::MAX));
        Some(Some((first.as_millisecond(), next.as_millisecond())))
    }

    /// Adds what the text of the date with this index tells; `None` if it is no such date.
    pub(super) fn read(&self, index: usize, text: &str, fields: &mut DateFields) -> Option<()> {
        self.patterns.get(index)?.read(text, fields)
    }
}
