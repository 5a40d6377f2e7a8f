//! `Field`: one part in braces, `{name argument... option=value...}`, as it stands in the text of
//! a format, and the tokens of that text.

use leafid::format::{FormatError, Radix};

use crate::wrong_value::wrong_value;

/// A part of a format's text.
#[derive(Debug)]
pub(super) enum Token<'a> {
    Literal(String),
    Field(Field<'a>),
    /// A date of `ns4_gear_idgen`: the name in `${name}`.
    Gear(Field<'a>),
}

/// What stands in one pair of braces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    /// With its braces.
    text: &'a str,
    /// In characters from 1, as people count.
    position: usize,
    pub(super) name: &'a str,
    /// What follows the name, without white space around it.
    pub(super) rest: &'a str,
}

/// The text as literals and fields. `{{` and `}}` are braces of a literal.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, FormatError> {
    let mut tokens = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let left = &text[at..];
        if left.starts_with("{{") || left.starts_with("}}") {
            literal.push(character);
            at += 2;
        } else if character == '{' {
            let field = Field::new(text, at)?;
            at += field.text.len();
            let token = token(field, &mut literal);
            if !literal.is_empty() {
                tokens.push(Token::Literal(std::mem::take(&mut literal)));
            }
            tokens.push(token);
        } else if character == '}' {
            let position = position(text, at);
            return Err(FormatError::Invalid(format!(
                "a closing brace without an opening one at character {position} of the format: \
                write }}}} for a brace in the text"
            )));
        } else {
            literal.push(character);
            at += character.len_utf8();
        }
    }
    if !literal.is_empty() {
        tokens.push(Token::Literal(literal));
    }
    Ok(tokens)
}

/// A `$` before the date of gear belongs to it.
fn token<'a>(field: Field<'a>, literal: &mut String) -> Token<'a> {
    let is_gear = literal.ends_with('$') && super::date::is_gear(field.name);
    match is_gear && field.rest.is_empty() {
        true => {
            literal.pop();
            Token::Gear(field)
        }
        false => Token::Field(field),
    }
}

/// In characters from 1.
fn position(text: &str, at: usize) -> usize {
    text[..at].chars().count() + 1
}

impl<'a> Field<'a> {
    /// The field whose opening brace is at byte `at`.
    fn new(text: &'a str, at: usize) -> Result<Self, FormatError> {
        let position = position(text, at);
        let inside = &text[at + 1..];
        let len = inside.find(['{', '}']).unwrap_or(inside.len());
        if !inside[len..].starts_with('}') {
            return Err(FormatError::Invalid(format!(
                "the brace at character {position} of the format is not closed: close it, or \
                write {{{{ for a brace in the text"
            )));
        }
        let inside = &inside[..len];
        let (name, rest) = inside.split_once(' ').unwrap_or((inside, ""));
        Ok(Self {
            text: &text[at..at + len + 2],
            position,
            name,
            rest: rest.trim_ascii(),
        })
    }

    /// An error that names this part and where it stands.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::Invalid(format!("{}: {message}", self.place()))
    }

    /// This part, and where it stands.
    pub(super) fn place(&self) -> String {
        let Self { text, position, .. } = self;
        format!("{text} at character {position} of the format")
    }

    /// Refuses a part that takes neither arguments nor options but has some.
    pub(super) fn no_arguments(&self) -> Result<(), FormatError> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(self.error(format_args!("write {{{}}} and no more", self.name))),
        }
    }

    /// The arguments and options of this part.
    pub(super) fn arguments(self) -> Arguments<'a> {
        let words = self.rest.split_ascii_whitespace();
        let (options, plain) = words.partition(|word| word.contains('='));
        Arguments {
            field: self,
            plain,
            options,
            known: Vec::new(),
        }
    }
}

/// The arguments and options of a part. Each is taken once; [`finish`](Self::finish) refuses what
/// nobody took.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub(super) field: Field<'a>,
    plain: Vec<&'a str>,
    options: Vec<&'a str>,
    known: Vec<&'static str>,
}

impl<'a> Arguments<'a> {
    /// The next argument without a name.
    pub(super) fn next_plain(&mut self) -> Option<&'a str> {
        match self.plain.is_empty() {
            true => None,
            false => Some(self.plain.remove(0)),
        }
    }

    /// The value of an option.
    pub(super) fn option(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let of_name = |option: &&str| option.split_once('=').is_some_and(|(key, _)| key == name);
        let index = self.options.iter().position(of_name)?;
        let (_, value) = self.options.remove(index).split_once('=')?;
        Some(value)
    }

    /// The value of an option that is a whole number within bounds.
    pub(super) fn number(
        &mut self,
        name: &'static str,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, FormatError> {
        let Some(value) = self.option(name) else {
            return Ok(None);
        };
        let number = parse_within(value, &bounds);
        number.map(Some).ok_or_else(|| {
            let (least, most) = bounds.into_inner();
            let wanted = format_args!("a number from {least} to {most}");
            self.field.error(wrong_value(name, value, wanted))
        })
    }

    /// A number of digits.
    pub(super) fn width(&mut self, name: &'static str) -> Result<Option<usize>, FormatError> {
        let width = self.number(name, 1..=super::WIDTH_MAX as u64)?;
        Ok(width.and_then(|width| usize::try_from(width).ok()))
    }

    /// The option `radix`, decimal without it.
    pub(super) fn radix(&mut self) -> Result<Radix, FormatError> {
        match self.option("radix") {
            None | Some("10") => Ok(Radix::Decimal),
            Some("36") => Ok(Radix::Base36),
            Some("58") => Ok(Radix::Base58),
            Some("62") => Ok(Radix::Base62),
            Some("crockford") => Ok(Radix::Crockford32),
            Some(radix) => {
                let wanted = "10, 36, 58, 62 or crockford";
                Err(self.field.error(wrong_value("radix", radix, wanted)))
            }
        }
    }

    /// Refuses what is left.
    pub(super) fn finish(self) -> Result<(), FormatError> {
        let Some(left) = self.plain.first().or(self.options.first()) else {
            return Ok(());
        };
        let (name, is_option) = match left.split_once('=') {
            Some((name, _)) => (name, true),
            None => (*left, false),
        };
        if is_option && self.known.contains(&name) {
            let message = format_args!("{name} is given twice: remove one");
            return Err(self.field.error(message));
        }
        let advice = advice(name, &self.known, |known| format!("{known}=..."));
        Err(self.field.error(format_args!(
            "\"{left}\" means nothing to this part{advice}"
        )))
    }
}

/// A number within bounds.
pub(super) fn parse_within(text: &str, bounds: &std::ops::RangeInclusive<u64>) -> Option<u64> {
    let number = Radix::Decimal.parse(text).ok();
    number.filter(|number| bounds.contains(number))
}

/// "; did you mean …?" for a name that is nearly one of these; else all of them.
pub(super) fn advice(name: &str, known: &[&str], show: impl Fn(&str) -> String) -> String {
    let near = known
        .iter()
        .map(|known| (strsim::osa_distance(name, known), known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4);
    match near {
        Some((_, known)) => format!("; did you mean {}?", show(known)),
        None if known.is_empty() => String::from(": remove it"),
        None => {
            let all: Vec<String> = known.iter().map(|known| show(known)).collect();
            format!("; known are {}", all.join(", "))
        }
    }
}
