//! The options of `{id ...}`, and which of them a family has.

use leafid::Family;
use leafid::format::FormatError;

use super::super::digits::{BASE36, TEXT_LEN_MAX};
use super::super::random_symbols::NANOID;
use super::Form;
use super::template::{Template, invalid};
use crate::wrong_value::wrong_value;

/// Fewer random bits than this repeat by chance: with 80, a billion ids have two alike once in two
/// million times.
const RANDOM_BITS_MIN: f64 = 80.0;

const CUID2_LEN_MAX: usize = 32;

/// A value and its position.
type At<'text> = (usize, &'text str);

#[derive(Debug, Default)]
pub(super) struct Options<'text> {
    form: Option<At<'text>>,
    length: Option<At<'text>>,
    alphabet: Option<At<'text>>,
}

impl<'text> Options<'text> {
    pub(super) fn of(template: &Template<'text>, family: Family) -> Result<Self, FormatError> {
        let mut options = Self::default();
        for (position, word) in &template.options {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let option = match name {
                "form" => &mut options.form,
                "length" => &mut options.length,
                "alphabet" => &mut options.alphabet,
                _ => {
                    let known = known(family);
                    let reason = format!("there is no option {name:?}: {family} has {known}");
                    return Err(invalid(*position, reason));
                }
            };
            if option.replace((*position, value)).is_some() {
                return Err(invalid(
                    *position,
                    format!("{name} is given twice: keep one"),
                ));
            }
        }
        Ok(options)
    }

    pub(super) fn form(self, family: Family) -> Result<Form, FormatError> {
        match family {
            Family::NanoId => {
                refuse(family, &[("form", self.form)])?;
                self.nanoid()
            }
            Family::Cuid2 => {
                refuse(family, &[("form", self.form), ("alphabet", self.alphabet)])?;
                self.cuid2()
            }
            _ => {
                refuse(
                    family,
                    &[("length", self.length), ("alphabet", self.alphabet)],
                )?;
                self.form_of(family)
            }
        }
    }

    fn form_of(self, family: Family) -> Result<Form, FormatError> {
        let forms = forms(family);
        let Some((position, name)) = self.form else {
            return Ok(forms[0].1.clone());
        };
        let named = forms
            .iter()
            .find(|(known, _)| *known == name && !known.is_empty());
        match (named, forms) {
            (Some((_, form)), _) => Ok(form.clone()),
            (None, [_]) => {
                let reason = format!("{family} has one form: remove the option");
                Err(invalid(position, reason))
            }
            (None, _) => {
                let known: Vec<&str> = forms.iter().map(|(known, _)| *known).collect();
                let wanted = known.join(", ");
                let wanted = match wanted.rsplit_once(", ") {
                    Some((others, last)) => format!("{others} or {last}"),
                    None => wanted,
                };
                Err(invalid(position, wrong_value("form", name, wanted)))
            }
        }
    }

    fn nanoid(self) -> Result<Form, FormatError> {
        let alphabet = match self.alphabet {
            None => NANOID.as_bytes(),
            Some((position, alphabet)) => checked_alphabet(position, alphabet)?,
        };
        let bits_each = bits(alphabet.len());
        let len = self.len(21, TEXT_LEN_MAX, |len| bits_each * float(len))?;
        let alphabet = alphabet.into();
        Ok(Form::Symbols { len, alphabet })
    }

    fn cuid2(self) -> Result<Form, FormatError> {
        let letter_and_digits = |len: usize| bits(26) + bits(36) * (float(len) - 1.0);
        let len = self.len(24, CUID2_LEN_MAX, letter_and_digits)?;
        let alphabet = BASE36[..].into();
        Ok(Form::Symbols { len, alphabet })
    }

    /// The length, if ids of it have enough random bits.
    fn len(
        &self,
        usual: usize,
        max: usize,
        random_bits: impl Fn(usize) -> f64,
    ) -> Result<usize, FormatError> {
        let enough = |len: &usize| random_bits(*len) >= RANDOM_BITS_MIN;
        let Some(shortest) = (1..=max).find(enough) else {
            let (position, _) = self.alphabet.unwrap_or_default();
            let reason = format!("{max} symbols of so few make too few ids: name more symbols");
            return Err(invalid(position, reason));
        };
        let (position, len) = match self.length {
            None => (self.alphabet.map_or(1, |(position, _)| position), usual),
            Some((position, text)) => {
                let len = text.parse().ok().filter(|len| (1..=max).contains(len));
                let wrong = || {
                    let wanted = format_args!("a number from {shortest} to {max}");
                    invalid(position, wrong_value("length", text, wanted))
                };
                (position, len.ok_or_else(wrong)?)
            }
        };
        if len < shortest {
            let reason = format!(
                "ids of length {len} would repeat by chance: write length={shortest} or more"
            );
            return Err(invalid(position, reason));
        }
        Ok(len)
    }
}

impl Form {
    /// The forms of a family, the usual one first.
    pub(crate) fn of(family: Family) -> Vec<Self> {
        let usual = match family {
            Family::NanoId => Options::default().nanoid(),
            Family::Cuid2 => Options::default().cuid2(),
            _ => return forms(family).iter().map(|(_, form)| form.clone()).collect(),
        };
        usual.into_iter().collect()
    }
}

/// Refuses options of other families.
fn refuse(family: Family, others: &[(&str, Option<At<'_>>)]) -> Result<(), FormatError> {
    let given = others
        .iter()
        .find_map(|(name, given)| given.map(|(position, _)| (name, position)));
    let Some((name, position)) = given else {
        return Ok(());
    };
    let known = known(family);
    let reason = format!("{name} is not an option of {family}, which has {known}: remove it");
    Err(invalid(position, reason))
}

/// The options that a family has, in words.
fn known(family: Family) -> &'static str {
    match (family, forms(family)) {
        (Family::NanoId, _) => "length and alphabet",
        (Family::Cuid2, _) => "length",
        (_, [(_, Form::Usual)]) => "no options",
        _ => "form",
    }
}

/// The forms of a family by name, the usual one first.
fn forms(family: Family) -> &'static [(&'static str, Form)] {
    match family {
        Family::Uuid1 | Family::Uuid4 | Family::Uuid6 | Family::Uuid7 | Family::Uuid8 => &[
            ("hyphenated", Form::Hyphenated),
            ("simple", Form::Simple),
            ("typeid", Form::TypeId),
        ],
        Family::Ulid => &[
            ("crockford", Form::Crockford),
            ("crockford-lower", Form::CrockfordLower),
            ("uuid", Form::Hyphenated),
        ],
        Family::Tsid => &[
            ("crockford", Form::Crockford),
            ("crockford-lower", Form::CrockfordLower),
            ("hex", Form::Hex),
            ("hex-upper", Form::HexUpper),
            ("decimal", Form::Decimal),
            ("base62", Form::Base62),
        ],
        Family::CosId => &[
            ("radix62", Form::Radix62),
            ("radix36", Form::Radix36),
            ("friendly", Form::Friendly),
        ],
        Family::NanoId | Family::Cuid2 => &[("", Form::Usual), ("", Form::Usual)],
        _ => &[("", Form::Usual)],
    }
}

/// An alphabet of visible ASCII characters, none of them twice.
fn checked_alphabet(position: usize, alphabet: &str) -> Result<&[u8], FormatError> {
    let bytes = alphabet.as_bytes();
    if !bytes.iter().all(u8::is_ascii_graphic) || bytes.len() < 2 {
        let reason = "alphabet must have at least 2 characters, all of them visible ASCII";
        return Err(invalid(position, reason));
    }
    let second = (1..bytes.len()).find(|place| bytes[..*place].contains(&bytes[*place]));
    match second {
        None => Ok(bytes),
        Some(place) => {
            let twice = char::from(bytes[place]);
            let reason = format!("{twice:?} occurs twice in the alphabet: keep one");
            Err(invalid(position, reason))
        }
    }
}

fn bits(symbols: usize) -> f64 {
    float(symbols).log2()
}

/// A number of at most 255.
fn float(number: usize) -> f64 {
    u32::try_from(number).map_or(0.0, f64::from)
}
