//! `Reader`: a text that a template wrote, part by part, back to its number and its other parts.

use leafid::WorkerId;
use leafid::format::{CheckDigit, FormatError, TextParts};

use super::Template;
use super::number::Number;
use super::part::Part;
use crate::calendar::DateFields;
use crate::keys::KeyId;

/// A text that is being read.
pub(super) struct Reader<'a> {
    template: &'a Template,
    text: &'a str,
    /// What was read so far, in bytes.
    at: usize,
    number_end: usize,
    fields: DateFields,
    worker_id: Option<WorkerId>,
    unix_ms: Option<i64>,
    key: Option<KeyId>,
    /// The check digit, and where it begins.
    check: Option<(CheckDigit, usize)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(template: &'a Template, text: &'a str) -> Result<Self, FormatError> {
        let number_end = text.len().checked_sub(template.after);
        let number_end = number_end.filter(|end| *end >= template.before);
        Ok(Self {
            template,
            text,
            at: 0,
            number_end: number_end.ok_or_else(|| not_of_format(0))?,
            fields: DateFields::default(),
            worker_id: None,
            unix_ms: None,
            key: None,
            check: None,
        })
    }

    /// What the text says, of a template with this number.
    pub(super) fn read(mut self, number: &Number) -> Result<TextParts, FormatError> {
        for part in &self.template.parts {
            let start = self.at;
            self.read_part(part).ok_or_else(|| not_of_format(start))?;
        }
        let key = number.key(self.key)?;
        // Every part before and after it was found, so that it is between them.
        let text = self.text.get(self.template.before..self.number_end);
        let text = text.ok_or_else(|| not_of_format(self.template.before))?;
        let counter = number.read(text, key.as_deref())?;
        if let Some((check, at)) = self.check {
            // With the number as it is written: Crockford digits are read in other forms too.
            let mut covered = String::from(&self.text[..self.template.before]);
            number.write(counter, key.as_deref(), &mut covered)?;
            covered.push_str(&self.text[self.number_end..at]);
            if check.of_counted(&covered) != Ok(&self.text[at..at + check.width()]) {
                return Err(FormatError::NotOfFormat(
                    "the check digit is wrong: the text is mistyped".to_owned(),
                ));
            }
        }
        self.parts(counter)
    }

    /// The parts of a text that was read to its end.
    fn parts(self, counter: u64) -> Result<TextParts, FormatError> {
        let calendar = self.template.calendar.as_ref();
        let number = calendar.map(|calendar| calendar.join(&self.fields, counter));
        let mut parts = TextParts::of_number(number.transpose()?.unwrap_or(counter));
        parts.period = calendar.map(|calendar| (parts.number / calendar.restart.scale(), counter));
        let times = self.template.dates.times(&self.fields).ok_or_else(|| {
            FormatError::NotOfFormat("the date in the text does not exist".to_owned())
        })?;
        // A calendar counter keeps to a date that it began, whatever the clock says.
        if let (Some(unix_ms), Some((first, next)), None) = (self.unix_ms, times, calendar)
            && self.fields.year.is_some()
            && !(first..next).contains(&unix_ms)
        {
            return Err(FormatError::NotOfFormat(
                "the date in the text is not that of its {unix_ms}".to_owned(),
            ));
        }
        let exact = self.unix_ms.map(|first| (first, first.saturating_add(1)));
        parts.unix_ms = exact.or(times);
        parts.worker_id = self.worker_id;
        Ok(parts)
    }

    /// Reads one part; `None` if the text has something else there.
    fn read_part(&mut self, part: &Part) -> Option<()> {
        let start = self.at;
        let end = part.width().map_or(self.number_end, |width| start + width);
        let text = self.text.get(start..end)?;
        self.at = end;
        let fits = match part {
            Part::Literal(literal) => **literal == *text,
            Part::Date { index, .. } => {
                let dates = &self.template.dates;
                dates.read(*index, text, &mut self.fields).is_some()
            }
            Part::Number => true,
            Part::Random(digits) => digits.fits(text),
            Part::Worker(digits) => {
                let number = digits.read(text)?;
                self.worker_id = Some(WorkerId::new(u32::try_from(number).ok()?));
                true
            }
            Part::UnixMs(digits) => {
                self.unix_ms = Some(i64::try_from(digits.read(text)?).ok()?);
                true
            }
            Part::Check(check) => {
                self.check = Some((*check, start));
                true
            }
            Part::Key => {
                self.key = text.parse().ok();
                self.key.is_some()
            }
        };
        fits.then_some(())
    }
}

/// The error for a text with something else from this byte on.
fn not_of_format(at: usize) -> FormatError {
    FormatError::NotOfFormat(format!(
        "the text is not of the tag's format: it differs from byte {at} on"
    ))
}
