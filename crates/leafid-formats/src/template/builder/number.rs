//! The part of a template that carries the number, from its text.

use leafid::Tag;
use leafid::format::{FormatError, Radix};

use crate::calendar::Restart;
use crate::gene::Gene;
use crate::keys::{KeyId, SharedKeys};
use crate::number::{Letters, NumberText, PlainNumber};
use crate::opaque::{Form, Opaque};
use crate::sqids_number::SqidsNumber;
use crate::template::WIDTH_MAX;
use crate::template::field::{Arguments, Field};
use crate::template::number::Number;
use crate::uuid_number::{HashVersion, UuidHash, UuidNumber, namespace};
use crate::wrong_value::wrong_value;

/// The most characters of a text, for `total=`.
const TOTAL_MAX: u64 = 128;

/// The names of all parts that carry a number.
pub(super) const NAMES: [&str; 7] = [
    "number", "opaque", "sqids", "gene", "uuid3", "uuid5", "uuid8",
];

/// The number, as far as one part says how it is written.
pub(super) struct NumberField<'a> {
    pub(super) field: Field<'a>,
    pub(super) letters: Letters,
    pub(super) restart: Option<Restart>,
    how: How,
}

enum How {
    /// Its width may follow from that of the other parts.
    Plain {
        radix: Radix,
        width: Option<usize>,
        /// The characters of the whole text.
        total: Option<usize>,
    },
    Text(Box<dyn NumberText>),
    Opaque {
        opaque: Opaque,
        pinned: Option<KeyId>,
    },
}

impl<'a> NumberField<'a> {
    pub(super) fn new(field: Field<'a>, tag: &Tag) -> Result<Self, FormatError> {
        let mut arguments = field.arguments();
        let mut restart = None;
        if field.name != "number" {
            check_no_restart(&mut arguments)?;
        }
        let (how, letters) = match field.name {
            "number" => {
                restart = self::restart(&mut arguments)?;
                plain(&mut arguments)?
            }
            "opaque" => opaque(&mut arguments, tag)?,
            "sqids" => {
                let width = arguments.width("min")?.unwrap_or(0);
                let number = SqidsNumber::new(width).map_err(|error| field.error(error))?;
                (How::Text(Box::new(number)), Letters::BothCases)
            }
            "gene" => gene(&mut arguments)?,
            "uuid8" => (How::Text(Box::new(UuidNumber::new(tag))), Letters::OneCase),
            _ => uuid_hash(&mut arguments, tag)?,
        };
        arguments.finish()?;
        Ok(Self {
            field,
            letters,
            restart,
            how,
        })
    }

    /// Whether each text must name its key.
    pub(super) fn names_its_key(&self) -> bool {
        matches!(self.how, How::Opaque { pinned: None, .. })
    }

    /// The finished number; the other parts have so many characters.
    pub(super) fn finish(self, others: usize, keys: &SharedKeys) -> Result<Number, FormatError> {
        let field = self.field;
        match self.how {
            How::Plain {
                radix,
                width,
                total,
            } => {
                let room = total.map(|total| room(&field, total, others)).transpose()?;
                Ok(Number::Text(Box::new(PlainNumber::new(
                    radix,
                    room.or(width),
                ))))
            }
            How::Text(number) => Ok(Number::Text(number)),
            How::Opaque { opaque, pinned } => Ok(Number::Opaque {
                opaque,
                keys: keys.clone(),
                pinned,
                place: field.place(),
            }),
        }
    }
}

fn restart(arguments: &mut Arguments<'_>) -> Result<Option<Restart>, FormatError> {
    let Some(name) = arguments.option("restart") else {
        return Ok(None);
    };
    let restart = Restart::ALL.into_iter().find(|known| known.name() == name);
    restart.map(Some).ok_or_else(|| {
        let wanted = "year, month, day or hour";
        arguments.field.error(wrong_value("restart", name, wanted))
    })
}

/// Only `{number}` restarts. A cipher writes equal counters alike in every period, so that the texts
/// of two days would show which of them are the first; and with the period in the cipher's tweak,
/// a text with an altered date would decode to another counter, unnoticed.
fn check_no_restart(arguments: &mut Arguments<'_>) -> Result<(), FormatError> {
    let field = arguments.field;
    match arguments.option("restart") {
        None => Ok(()),
        Some(_) if field.name == "opaque" => Err(field.error(
            "a counter that restarts begins each period with the same texts, so that they show how \
            many there were: remove restart=, or write {number} in place of {opaque}",
        )),
        Some(_) => Err(field.error("only {number} restarts: write it, or remove restart=")),
    }
}

fn plain(arguments: &mut Arguments<'_>) -> Result<(How, Letters), FormatError> {
    let radix = arguments.radix()?;
    let width = arguments.width("width")?;
    let total = arguments.number("total", 1..=TOTAL_MAX)?;
    let total = total.and_then(|total| usize::try_from(total).ok());
    if width.is_some() && total.is_some() {
        let error = "width and total exclude each other: remove one";
        return Err(arguments.field.error(error));
    }
    let how = How::Plain {
        radix,
        width,
        total,
    };
    Ok((how, Letters::of(radix)))
}

/// The digits that `total=` leaves for the number.
fn room(field: &Field<'_>, total: usize, others: usize) -> Result<usize, FormatError> {
    let room = total.checked_sub(others).filter(|room| *room > 0);
    let room = room.ok_or_else(|| {
        field.error(format_args!(
            "total={total} leaves no room for the number: the other parts have {others} characters"
        ))
    })?;
    match room <= WIDTH_MAX {
        true => Ok(room),
        false => Err(field.error(format_args!(
            "total={total} leaves {room} digits for the number, and {WIDTH_MAX} are the most"
        ))),
    }
}

fn opaque(arguments: &mut Arguments<'_>, tag: &Tag) -> Result<(How, Letters), FormatError> {
    let field = arguments.field;
    let radix = match arguments.option("radix") {
        Some("63bit") => None,
        None | Some("10") => Some(Radix::Decimal),
        Some("36") => Some(Radix::Base36),
        Some("62") => Some(Radix::Base62),
        Some(radix) => {
            let wanted = "10, 36, 62 or 63bit";
            return Err(field.error(wrong_value("radix", radix, wanted)));
        }
    };
    let (form, letters) = match radix.and_then(|radix| Some((radix, Form::widths(radix)?))) {
        None => (Form::Bits63, Letters::None),
        Some((radix, (least, most))) => {
            let width = arguments.number("width", least as u64..=most as u64)?;
            let width = width.and_then(|width| usize::try_from(width).ok());
            (
                Form::Digits(radix, width.unwrap_or(most)),
                Letters::of(radix),
            )
        }
    };
    let pinned = arguments.option("key").map(|id| {
        let id: Result<KeyId, _> = id.parse();
        id.map_err(|error| field.error(error))
    });
    let how = How::Opaque {
        opaque: Opaque::new(form, tag.clone()),
        pinned: pinned.transpose()?,
    };
    Ok((how, letters))
}

fn gene(arguments: &mut Arguments<'_>) -> Result<(How, Letters), FormatError> {
    let fixed = arguments.number("fixed", Gene::FIXED)?;
    let fixed = fixed.ok_or_else(|| {
        arguments
            .field
            .error("say by what to divide, as in {gene fixed=32}")
    })?;
    let factor = arguments.number("factor", 0..=u64::MAX)?;
    let radix = arguments.radix()?;
    let width = arguments.width("width")?;
    let gene = Gene::new(fixed, factor, PlainNumber::new(radix, width));
    let gene = gene.ok_or_else(|| {
        arguments
            .field
            .error("the width leaves no room for a number: make it larger")
    })?;
    Ok((How::Text(Box::new(gene)), Letters::of(radix)))
}

fn uuid_hash(arguments: &mut Arguments<'_>, tag: &Tag) -> Result<(How, Letters), FormatError> {
    let field = arguments.field;
    let namespace = arguments.option("namespace").and_then(namespace);
    let namespace = namespace.ok_or_else(|| {
        field.error("name the namespace: dns, url, oid, x500 or a UUID, as in namespace=url")
    })?;
    let version = match field.name {
        "uuid3" => HashVersion::Md5,
        _ => HashVersion::Sha1,
    };
    let number = UuidHash::new(version, namespace, tag);
    Ok((How::Text(Box::new(number)), Letters::OneCase))
}
