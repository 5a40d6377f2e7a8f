//! `Template`: a format made of literal text, dates, a number and other parts.
//!
//! Every part but the number has a fixed width, which is why the number can be read back.

mod builder;
pub(crate) mod date;
mod dates;
mod field;
mod number;
mod part;
mod reader;
mod zone;

use leafid::format::{FormatContext, FormatError, IdFormat, Period, TextParts};
use leafid::{Tag, WorkerId};

use self::builder::Builder;
use self::dates::Dates;
use self::number::Number;
use self::part::{Digits, Part, check_worker, write_worker};
use self::reader::Reader;
use crate::calendar::Calendar;
use crate::keys::SharedKeys;

/// The most bytes that the text of a template may have.
const TEXT_LEN_MAX: usize = 255;
/// The most digits of one part.
const WIDTH_MAX: usize = 64;
/// As long as most numbers get: those of UUIDs.
const NUMBER_LEN: usize = 36;

/// A compiled template.
#[derive(Debug)]
pub(crate) struct Template {
    parts: Box<[Part]>,
    dates: Dates,
    /// `None`: the texts of this template may repeat.
    number: Option<Number>,
    calendar: Option<Calendar>,
    /// How many bytes stand before and after the number.
    before: usize,
    after: usize,
}

impl Template {
    /// Understands the text of a template.
    pub(crate) fn new(text: &str, tag: &Tag, keys: &SharedKeys) -> Result<Self, FormatError> {
        Builder::new(text, tag)?.finish(keys)
    }

    fn write_parts(
        &self,
        number: u64,
        context: &FormatContext,
        text: &mut String,
    ) -> Result<(), FormatError> {
        let counted = self
            .calendar
            .as_ref()
            .map(|calendar| calendar.split(number));
        let counted = counted.transpose()?;
        let number = counted.map_or(number, |counted| counted.counter);
        let key = match &self.number {
            Some(number) => number.key(None)?,
            None => None,
        };
        let start = text.len();
        self.dates
            .render(context.unix_ms, counted.as_ref(), |dates| {
                for part in &self.parts {
                    match part {
                        Part::Literal(literal) => text.push_str(literal),
                        Part::Date { start, width, .. } => {
                            text.push_str(dates.get(*start..start + width).unwrap_or_default());
                        }
                        Part::Number => {
                            if let Some(format) = &self.number {
                                format.write(number, key.as_deref(), text)?;
                            }
                        }
                        Part::Worker(digits) => write_worker(*digits, context, text)?,
                        Part::Random(digits) => digits.write_random(text),
                        Part::UnixMs(digits) => digits.write(context.unix_ms, "unix_ms", text)?,
                        Part::Key => {
                            if let Some(key) = &key {
                                key.id.push(text);
                            }
                        }
                        Part::Check(check) => {
                            // The builder made sure that something before it is counted.
                            text.push_str(check.of_counted(&text[start..]).unwrap_or_default());
                        }
                    }
                }
                Ok(())
            })
    }
}

impl Template {
    fn worker_digits(&self) -> impl Iterator<Item = Digits> {
        self.parts.iter().filter_map(|part| match part {
            Part::Worker(digits) => Some(*digits),
            _ => None,
        })
    }
}

impl IdFormat for Template {
    fn write(
        &self,
        number: u64,
        context: &FormatContext,
        text: &mut String,
    ) -> Result<(), FormatError> {
        let len = text.len();
        let written = self.write_parts(number, context, text);
        if written.is_err() {
            text.truncate(len);
        }
        written
    }

    fn read(&self, text: &str) -> Result<u64, FormatError> {
        self.decode(text).map(|parts| parts.number)
    }

    fn decode(&self, text: &str) -> Result<TextParts, FormatError> {
        let number = self.number.as_ref().ok_or_else(|| {
            FormatError::NotOfFormat("the ids of this format have no number in them".to_owned())
        })?;
        Reader::new(self, text)?.read(number)
    }

    fn largest(&self) -> u64 {
        let number = self.number.as_ref();
        let largest = number.map_or(u64::MAX, Number::largest);
        self.calendar.as_ref().map_or(largest, Calendar::largest)
    }

    fn period(&self, unix_ms: u64) -> Option<Period> {
        Some(self.calendar.as_ref()?.period(unix_ms))
    }

    fn has_period(&self, label: u64) -> bool {
        let calendar = self.calendar.as_ref();
        calendar.is_some_and(|calendar| calendar.has_period(label))
    }

    fn text_len_max(&self) -> usize {
        let others = self.parts.iter().filter_map(Part::width).sum::<usize>();
        others + self.number.as_ref().map_or(0, |_| NUMBER_LEN)
    }

    fn needs_worker_id(&self) -> bool {
        self.worker_digits().next().is_some()
    }

    fn worker_id_max(&self) -> Option<u32> {
        let largest = self.worker_digits().map(Digits::largest).min()?;
        u32::try_from(largest).ok()
    }

    fn check(&self, worker_id: Option<WorkerId>) -> Result<(), FormatError> {
        if let Some(number) = &self.number {
            number.key(None)?;
        }
        let mut workers = self.worker_digits();
        workers.try_for_each(|digits| check_worker(digits, worker_id))
    }

    fn is_readable(&self) -> bool {
        let number = self.number.as_ref();
        number.is_some_and(Number::is_readable)
    }

    fn is_stable(&self) -> bool {
        let is_stable =
            |part: &Part| matches!(part, Part::Literal(_) | Part::Number | Part::Check(_));
        self.calendar.is_none() && self.parts.iter().all(is_stable)
    }

    fn may_repeat(&self) -> bool {
        self.number.is_none()
    }
}
