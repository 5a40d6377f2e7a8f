//! `Builder`: the parts of a template from their text, and the rules that hold for the whole.

mod check;
mod number;

use jiff::tz::TimeZone;
use leafid::format::{FormatError, Radix};
use leafid::{Escaped, Tag};

use self::number::NumberField;

use super::date::{DatePattern, is_gear};
use super::dates::Dates;
use super::field::{Field, Token, advice, parse_within, tokens};
use super::part::{Digits, Part};
use super::{TEXT_LEN_MAX, Template, WIDTH_MAX, zone};
use crate::calendar::{Calendar, DateFields, Restart};
use crate::keys::SharedKeys;
use crate::number::Letters;

/// The names of all parts that carry no number.
const NAMES: [&str; 8] = [
    "date",
    "zone",
    "worker",
    "random",
    "unix_ms",
    "check",
    "key",
    "may_repeat",
];

/// A template that is being built.
pub(super) struct Builder<'a> {
    text: &'a str,
    tag: &'a Tag,
    parts: Vec<Part>,
    zone: Option<TimeZone>,
    may_repeat: bool,
    patterns: Vec<DatePattern>,
    number: Option<NumberField<'a>>,
    /// The part that writes the id of the key.
    key: Option<Field<'a>>,
    /// The letters that parts other than literal text write so far.
    letters: Vec<(Letters, &'a str)>,
}

impl<'a> Builder<'a> {
    /// Understands each part.
    pub(super) fn new(text: &'a str, tag: &'a Tag) -> Result<Self, FormatError> {
        check_text(text)?;
        let mut builder = Self {
            text,
            tag,
            parts: Vec::new(),
            zone: None,
            may_repeat: false,
            patterns: Vec::new(),
            number: None,
            key: None,
            letters: Vec::new(),
        };
        for token in tokens(text)? {
            match token {
                Token::Literal(literal) => builder.parts.push(Part::Literal(literal.into())),
                Token::Gear(field) => builder.push_date(&field, DatePattern::gear(&field)?),
                Token::Field(field) => builder.push(field)?,
            }
        }
        Ok(builder)
    }

    fn push(&mut self, field: Field<'a>) -> Result<(), FormatError> {
        match field.name {
            "zone" | "may_repeat" => return self.set(&field),
            "date" => self.push_date(&field, DatePattern::new(&field)?),
            name if number::NAMES.contains(&name) => self.push_number(field)?,
            "worker" => self.push_worker(field)?,
            "random" => self.push_random(field)?,
            "unix_ms" => {
                field.no_arguments()?;
                self.push_digits(&field, Part::UnixMs, Radix::Decimal, 13);
            }
            "check" => self.push_check(&field)?,
            "key" => self.push_key(field)?,
            name if is_gear(name) => {
                return Err(field.error(format_args!("write ${{{name}}}, with a dollar sign")));
            }
            name => {
                let names = [&number::NAMES[..], &NAMES].concat();
                let advice = advice(name, &names, |known| format!("{{{known}}}"));
                return Err(field.error(format_args!("there is no such part{advice}")));
            }
        }
        Ok(())
    }

    /// A part that writes nothing.
    fn set(&mut self, field: &Field<'_>) -> Result<(), FormatError> {
        if !self.parts.is_empty() {
            return Err(field.error("it must come before all that is written: move it there"));
        }
        let is_again = match field.name {
            "zone" => self.zone.replace(zone::zone(field)?).is_some(),
            _ => {
                field.no_arguments()?;
                std::mem::replace(&mut self.may_repeat, true)
            }
        };
        match is_again {
            true => Err(field.error("it is given twice: remove one")),
            false => Ok(()),
        }
    }

    fn push_date(&mut self, field: &Field<'a>, pattern: DatePattern) {
        self.letters.push((pattern.letters(), field.name));
        self.parts.push(Part::Date {
            index: self.patterns.len(),
            start: self.patterns.iter().map(DatePattern::width).sum(),
            width: pattern.width(),
        });
        self.patterns.push(pattern);
    }

    fn push_number(&mut self, field: Field<'a>) -> Result<(), FormatError> {
        let number = NumberField::new(field, self.tag)?;
        if self.parts.iter().any(|part| matches!(part, Part::Check(_))) {
            return Err(field.error(
                "it comes after {check}, which covers only what comes before it: move {check} to \
                the end",
            ));
        }
        self.letters.push((number.letters, field.name));
        if self.number.replace(number).is_some() {
            return Err(field.error("a format has one number: remove this one"));
        }
        self.parts.push(Part::Number);
        Ok(())
    }

    fn push_key(&mut self, field: Field<'a>) -> Result<(), FormatError> {
        field.no_arguments()?;
        if self.key.replace(field).is_some() {
            return Err(field.error("it is given twice: remove one"));
        }
        // Check digits take its letters as those of literal text: another id is no key.
        self.letters.push((Letters::None, field.name));
        self.parts.push(Part::Key);
        Ok(())
    }

    fn push_worker(&mut self, field: Field<'a>) -> Result<(), FormatError> {
        let mut arguments = field.arguments();
        let radix = arguments.radix()?;
        let width = arguments.width("width")?;
        arguments.finish()?;
        let width = width.ok_or_else(|| {
            field.error(
                "say how many digits it has, as in {worker width=4}: only the number may vary",
            )
        })?;
        self.push_digits(&field, Part::Worker, radix, width);
        Ok(())
    }

    fn push_random(&mut self, field: Field<'a>) -> Result<(), FormatError> {
        let mut arguments = field.arguments();
        let radix = arguments.radix()?;
        let width = arguments.next_plain();
        arguments.finish()?;
        let width = width.and_then(|width| parse_within(width, &(1..=WIDTH_MAX as u64)));
        let width = width.and_then(|width| usize::try_from(width).ok());
        let width = width.ok_or_else(|| {
            field.error(format_args!(
                "say how many digits, 1 to {WIDTH_MAX}, as in {{random 6}}"
            ))
        })?;
        self.push_digits(&field, Part::Random, radix, width);
        Ok(())
    }

    fn push_digits(
        &mut self,
        field: &Field<'a>,
        part: impl FnOnce(Digits) -> Part,
        radix: Radix,
        width: usize,
    ) {
        self.letters.push((Letters::of(radix), field.name));
        self.parts.push(part(Digits { radix, width }));
    }

    /// Checks the rules of the whole.
    pub(super) fn finish(mut self, keys: &SharedKeys) -> Result<Template, FormatError> {
        self.check_number()?;
        self.check_key()?;
        self.check_length()?;
        let zone = self.zone.take().unwrap_or(TimeZone::UTC);
        let mut calendar = None;
        let mut number = None;
        if let Some(field) = self.number.take() {
            let (restart, others) = (
                field.restart.map(|restart| (restart, field.field)),
                self.others(),
            );
            let finished = field.finish(others, keys)?;
            if let Some((restart, field)) = restart {
                let fields = self.fields(restart, &field)?;
                let zone = zone.clone();
                calendar = Some(Calendar::new(restart, zone, finished.largest(), &fields));
            }
            number = Some(finished);
        }
        let is_number = |part: &Part| matches!(part, Part::Number);
        let at = self.parts.iter().position(is_number).unwrap_or_default();
        let width = |parts: &[Part]| parts.iter().filter_map(Part::width).sum();
        Ok(Template {
            before: width(&self.parts[..at]),
            after: width(&self.parts[at..]),
            dates: Dates::new(zone, self.patterns),
            parts: self.parts.into(),
            number,
            calendar,
        })
    }

    /// The characters of all parts but the number.
    fn others(&self) -> usize {
        self.parts.iter().filter_map(Part::characters).sum()
    }

    fn check_number(&self) -> Result<(), FormatError> {
        match (&self.number, self.may_repeat) {
            (Some(_), false) => Ok(()),
            (None, true) if self.parts.iter().any(Part::varies) => Ok(()),
            (None, true) => Err(FormatError::Invalid(
                "all texts of the format would be the same: add a part that varies, such as \
                {random 12} or {unix_ms}"
                    .to_owned(),
            )),
            (Some(_), true) => Err(FormatError::Invalid(
                "the format has a number, so that its texts do not repeat: remove {may_repeat}"
                    .to_owned(),
            )),
            (None, false) => Err(FormatError::Invalid(format!(
                "the format \"{}\" has no number, so that its texts could repeat: add {{number}}, \
                or begin it with {{may_repeat}} if they may",
                Escaped(self.text)
            ))),
        }
    }

    /// Ids are kept in columns and indexes, and 10,000 of them in memory.
    fn check_length(&self) -> Result<(), FormatError> {
        let others = self.others();
        if others <= TEXT_LEN_MAX {
            return Ok(());
        }
        Err(FormatError::Invalid(format!(
            "each text of the format would have {others} characters besides its number: {TEXT_LEN_MAX} \
            is the most"
        )))
    }

    /// A key that the text does not name must be one for life: two keys give two numbers one text.
    fn check_key(&self) -> Result<(), FormatError> {
        let number = self.number.as_ref();
        let names_its_key = number.is_some_and(NumberField::names_its_key);
        match (&self.key, number) {
            (None, Some(number)) if names_its_key => Err(number.field.error(
                "texts of two keys could be the same: add {key}, which names the key in each \
                text, or key=ID for one key for life",
            )),
            (Some(key), _) if !names_its_key => {
                Err(key.error("only {opaque} without key= has a key to be named: remove {key}"))
            }
            _ => Ok(()),
        }
    }

    /// What the texts say about the date, if that is the whole period.
    fn fields(&self, restart: Restart, field: &Field<'_>) -> Result<DateFields, FormatError> {
        let mut fields = DateFields::default();
        for pattern in &self.patterns {
            pattern.tell(&mut fields);
        }
        match fields.label(restart) {
            Some(_) => Ok(fields),
            None => {
                let missing = match restart {
                    Restart::Year => "%Y",
                    Restart::Month => "%Y%m",
                    Restart::Day => "%Y%m%d",
                    Restart::Hour => "%Y%m%d%H",
                };
                let name = restart.name();
                Err(field.error(format_args!(
                    "the text must tell the {name} in which the counter restarts, or it repeats: \
                    add {{date {missing}}}"
                )))
            }
        }
    }
}

/// Refuses texts that no part could be at fault for.
fn check_text(text: &str) -> Result<(), FormatError> {
    let problem = if text.is_empty() {
        "it is empty: write {number} for the plain number".to_owned()
    } else if text.len() > TEXT_LEN_MAX {
        format!("it has more than {TEXT_LEN_MAX} bytes")
    } else if text.trim() != text {
        "it begins or ends with white space: remove it".to_owned()
    } else if text.contains(Escaped::is_invisible) {
        "it has an invisible character: remove it".to_owned()
    } else {
        return Ok(());
    };
    Err(FormatError::Invalid(format!(
        "the format cannot be used: {problem}"
    )))
}
