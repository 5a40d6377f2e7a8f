//! `DatePattern`: the date in an id, by directives of `strftime` whose width is fixed, or as
//! ns4_gear_idgen writes it; and which fields of the date a text tells.
//!
//! Each directive is formatted and parsed by jiff. Two-digit years are ours, because jiff knows
//! only those of 1969 to 2068.

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use leafid::format::FormatError;

use super::field::{Field, advice};
use crate::calendar::DateFields;
use crate::number::Letters;

/// The dates of ns4_gear_idgen, as patterns. There is also date16, the last 16 digits of date17:
/// it begins with a year of three digits, which no `strftime` has.
const GEAR: [(&str, &str); 7] = [
    ("date6", "%y%m%d"),
    ("date8", "%y%m%d%H"),
    ("date10", "%y%m%d%H%M"),
    ("date12", "%y%m%d%H%M%S"),
    ("date14", "%Y%m%d%H%M%S"),
    ("date15", "%y%m%d%H%M%S%3f"),
    ("date17", "%Y%m%d%H%M%S%3f"),
];

/// Directives that jiff formats and parses, with their widths.
const DIRECTIVES: [(&str, usize); 18] = [
    ("%Y", 4),
    ("%m", 2),
    ("%d", 2),
    ("%j", 3),
    ("%H", 2),
    ("%M", 2),
    ("%S", 2),
    ("%3f", 3),
    ("%b", 3),
    ("%h", 3),
    ("%a", 3),
    ("%u", 1),
    ("%w", 1),
    ("%U", 2),
    ("%W", 2),
    ("%V", 2),
    ("%G", 4),
    ("%I", 2),
];

/// Directives that stand for several.
const COMPOSED: [(&str, &str); 4] = [
    ("%F", "%Y-%m-%d"),
    ("%T", "%H:%M:%S"),
    ("%R", "%H:%M"),
    ("%D", "%m/%d/%y"),
];

/// Whether ns4_gear_idgen has a date of this name.
pub(crate) fn is_gear(name: &str) -> bool {
    name == "date16" || GEAR.iter().any(|(known, _)| *known == name)
}

/// How a date is written.
#[derive(Debug)]
pub(super) struct DatePattern(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    /// The last digits of the year: 2 or 3.
    Year(usize),
    Directive {
        text: &'static str,
        width: usize,
    },
}

impl DatePattern {
    /// The pattern of `{date …}`.
    pub(super) fn new(field: &Field<'_>) -> Result<Self, FormatError> {
        if field.rest.is_empty() {
            return Err(field.error("say how to write the date, as in {date %Y%m%d}"));
        }
        let mut pieces = Vec::new();
        let mut left = field.rest;
        while let Some(character) = left.chars().next() {
            let len = match character {
                '%' => push_directive(field, left, &mut pieces)?,
                _ => {
                    push_text(character, &mut pieces);
                    character.len_utf8()
                }
            };
            left = &left[len..];
        }
        match pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            true => {
                Err(field.error("no part of it is a date, such as %Y: write it without {date}"))
            }
            false => Ok(Self(pieces)),
        }
    }

    /// The pattern of a date of gear.
    pub(super) fn gear(field: &Field<'_>) -> Result<Self, FormatError> {
        let mut pieces = Vec::new();
        let mut left = match GEAR.iter().find(|(name, _)| *name == field.name) {
            Some((_, pattern)) => *pattern,
            None => {
                pieces.push(Piece::Year(3));
                "%m%d%H%M%S%3f"
            }
        };
        while !left.is_empty() {
            let len = push_directive(field, left, &mut pieces)?;
            left = &left[len..];
        }
        Ok(Self(pieces))
    }

    /// How many bytes it writes.
    pub(super) fn width(&self) -> usize {
        self.0.iter().map(Piece::width).sum()
    }

    pub(super) fn letters(&self) -> Letters {
        let writes_letters = |piece: &Piece| match piece {
            Piece::Text(text) => text.contains(|character: char| character.is_ascii_alphabetic()),
            Piece::Year(_) => false,
            Piece::Directive { text, .. } => ["%b", "%h", "%a"].contains(text),
        };
        // They are compared letter by letter, so that the case says nothing.
        match self.0.iter().any(writes_letters) {
            true => Letters::OneCase,
            false => Letters::None,
        }
    }

    /// Whether it writes less than a second.
    pub(super) fn has_milliseconds(&self) -> bool {
        let is_fraction = |piece: &Piece| matches!(piece, Piece::Directive { text: "%3f", .. });
        self.0.iter().any(is_fraction)
    }

    /// Appends the date.
    pub(super) fn write(&self, date: DateTime, text: &mut String) -> Result<(), jiff::Error> {
        let time = BrokenDownTime::from(date);
        for piece in &self.0 {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Year(digits) => {
                    let year = format!("{:04}", date.year());
                    text.push_str(&year[year.len() - digits..]);
                }
                Piece::Directive { text: pattern, .. } => time.format(pattern, &mut *text)?,
            }
        }
        Ok(())
    }

    /// Adds what a text says about the date; `None` if it is no such date.
    pub(super) fn read(&self, text: &str, fields: &mut DateFields) -> Option<()> {
        let mut left = text;
        for piece in &self.0 {
            let (text, rest) = left.split_at_checked(piece.width())?;
            piece.read(text, fields)?;
            left = rest;
        }
        left.is_empty().then_some(())
    }

    /// Marks the fields that its texts tell.
    pub(super) fn tell(&self, fields: &mut DateFields) {
        for piece in &self.0 {
            match piece {
                Piece::Year(2) => fields.year2 = Some(0),
                Piece::Year(_) => fields.year3 = Some(0),
                Piece::Directive { text, .. } => match *text {
                    "%Y" => fields.year = Some(2000),
                    "%m" | "%b" | "%h" => fields.month = Some(1),
                    "%d" => fields.day = Some(1),
                    "%j" => fields.day_of_year = Some(1),
                    "%H" => fields.hour = Some(0),
                    _ => {}
                },
                Piece::Text(_) => {}
            }
        }
    }
}

impl Piece {
    fn width(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Year(digits) => *digits,
            Self::Directive { width, .. } => *width,
        }
    }

    fn read(&self, text: &str, fields: &mut DateFields) -> Option<()> {
        match self {
            Self::Text(literal) => (literal == text).then_some(()),
            Self::Year(digits) => {
                let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
                let year = text.parse::<i16>().ok().filter(|_| is_number)?;
                let field = match digits {
                    2 => &mut fields.year2,
                    _ => &mut fields.year3,
                };
                add(field, year)
            }
            Self::Directive { text: pattern, .. } => {
                // jiff also reads other forms, such as a sign, or a month's name in small letters.
                let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let time = BrokenDownTime::parse(pattern, text)
                    .ok()
                    .filter(|_| is_plain)?;
                let again = time.to_string(pattern).ok()?;
                (again == text).then_some(())?;
                match *pattern {
                    "%Y" => add(&mut fields.year, time.year()?),
                    "%m" | "%b" | "%h" => add(&mut fields.month, time.month()?),
                    "%d" => add(&mut fields.day, time.day()?),
                    "%j" => add(&mut fields.day_of_year, time.day_of_year()?),
                    "%H" => add(&mut fields.hour, time.hour()?),
                    "%M" => add(&mut fields.minute, time.minute()?),
                    "%S" => add(&mut fields.second, time.second()?),
                    "%3f" => {
                        let nanosecond = time.subsec_nanosecond()?;
                        add(
                            &mut fields.millisecond,
                            i16::try_from(nanosecond / 1_000_000).ok()?,
                        )
                    }
                    _ => {
                        fields.derived.push((*pattern, text.to_owned()));
                        Some(())
                    }
                }
            }
        }
    }
}

/// Notes a field of the date; `None` if another part says otherwise.
fn add<T: PartialEq + Copy>(field: &mut Option<T>, value: T) -> Option<()> {
    (*field.get_or_insert(value) == value).then_some(())
}

fn push_text(character: char, pieces: &mut Vec<Piece>) {
    match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push(character),
        _ => pieces.push(Piece::Text(character.to_string())),
    }
}

/// Adds the directive that `left` begins with; its length.
fn push_directive(
    field: &Field<'_>,
    left: &str,
    pieces: &mut Vec<Piece>,
) -> Result<usize, FormatError> {
    if left.starts_with("%%") {
        push_text('%', pieces);
        return Ok(2);
    }
    if left.starts_with("%y") {
        pieces.push(Piece::Year(2));
        return Ok(2);
    }
    let composed = COMPOSED.iter().find(|(text, _)| left.starts_with(text));
    if let Some((text, several)) = composed {
        for one in several.split_inclusive(['-', ':', '/']) {
            let (one, between) = one.split_at(2);
            push_directive(field, one, pieces)?;
            between
                .chars()
                .for_each(|character| push_text(character, pieces));
        }
        return Ok(text.len());
    }
    let known = DIRECTIVES.iter().find(|(text, _)| left.starts_with(text));
    let (text, width) = known.ok_or_else(|| no_directive(field, left))?;
    pieces.push(Piece::Directive {
        text,
        width: *width,
    });
    Ok(text.len())
}

/// The error for a directive that cannot be part of an id, and what to write instead.
fn no_directive(field: &Field<'_>, left: &str) -> FormatError {
    let end = left.char_indices().nth(2).map_or(left.len(), |(at, _)| at);
    let directive = &left[..end];
    let instead = match directive {
        "%B" => "its width varies: write %b, such as Nov",
        "%A" => "its width varies: write %a, such as Sun",
        "%e" | "%-" | "%_" => "its width varies, or it has spaces: write %d, %m, %H",
        "%k" => "it has spaces: write %H",
        "%l" => "it has spaces: write %I",
        "%f" | "%." | "%N" | "%L" => "write %3f for milliseconds",
        "%s" => "its width varies: write the part {unix_ms}",
        "%g" => "write %G",
        "%z" | "%Z" | "%Q" | "%:" => "its width varies: the zone is that of the part {zone}",
        "%c" | "%r" | "%x" | "%X" | "%p" | "%P" => {
            "it differs by language: write %Y, %m, %d, %H, %M, %S"
        }
        _ => {
            let known: Vec<&str> = DIRECTIVES.iter().map(|(text, _)| *text).collect();
            let advice = advice(directive, &known, str::to_owned);
            return field.error(format_args!("{directive} is not a directive{advice}"));
        }
    };
    field.error(format_args!(
        "{directive} cannot be part of an id: {instead}"
    ))
}
