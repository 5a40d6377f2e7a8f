//! `TagId`: an id of a tag, decoded by the tag's row. The service and the command line, which reads
//! the row from the store itself, decode alike.

use leafid::format::FormatError;
use leafid::store::{TagKind, TagRecord};
use leafid::{Generators, Layout, Limit, Parts};
use leafid_formats::{Decoded, FamilyFormat};

/// What an id of a tag says.
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryStore, TagSpec};
/// use leafid::{Generators, Layout, Options, Tag};
/// use leafid_server::TagId;
///
/// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
/// let order = TagSpec::new(Tag::new("order")?).record();
/// let decoded = TagId::decode(&generators, Layout::LEAF, &order, "4711");
/// assert_eq!(decoded, Ok(TagId::Number(4711)));
/// assert!(TagId::decode(&generators, Layout::LEAF, &order, "SO-4711").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum TagId {
    /// The number of a segment tag.
    Number(u64),
    /// A snowflake id, with its layout.
    Snowflake(u64, Layout, Parts),
    /// The parts of an id of a family.
    Family(Decoded),
}

impl TagId {
    /// Decodes an id of the tag that has this row, exactly. `layout` is that of snowflake ids, and
    /// the formats are those of `generators`.
    ///
    /// # Errors
    ///
    /// Why the tag does not issue this text; [`FormatError::MissingKey`] if nobody can tell without
    /// the key of its format.
    pub fn decode(
        generators: &Generators,
        layout: Layout,
        record: &TagRecord,
        text: &str,
    ) -> Result<Self, FormatError> {
        if let TagKind::Family(family) = record.settings.kind {
            let format = FamilyFormat::compile(family, record.format.as_deref());
            let decoded = format
                .map_err(not_of_tag)?
                .decode(text)
                .map_err(not_of_tag)?;
            return Ok(Self::Family(decoded));
        }
        let number = number(generators, record, text)?;
        let max = Limit::INT64.largest();
        if number == 0 || number > max {
            let reason = format!("ids have numbers from 1 to {max}, and this is {number}");
            return Err(FormatError::NotOfFormat(reason));
        }
        if record.settings.kind == TagKind::Snowflake {
            let parts = layout.try_decompose(number).map_err(not_of_tag)?;
            return Ok(Self::Snowflake(number, layout, parts));
        }
        Ok(Self::Number(number))
    }

    /// The number behind the text; `None` for a family.
    #[must_use]
    pub const fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) | Self::Snowflake(number, ..) => Some(*number),
            Self::Family(_) => None,
        }
    }

    /// When it was made, in milliseconds since 1970-01-01T00:00:00Z; `None` if it does not say.
    #[must_use]
    pub const fn unix_ms(&self) -> Option<i64> {
        match self {
            Self::Number(_) => None,
            Self::Snowflake(_, _, parts) => Some(parts.unix_ms),
            Self::Family(decoded) => decoded.unix_ms,
        }
    }
}

fn not_of_tag(error: impl std::fmt::Display) -> FormatError {
    FormatError::NotOfFormat(error.to_string())
}

fn number(generators: &Generators, record: &TagRecord, text: &str) -> Result<u64, FormatError> {
    match generators.form_of(record)?.format() {
        Some(format) => format.read(text),
        None => {
            let number = text.parse().ok().filter(|_| !text.starts_with('+'));
            number.ok_or_else(|| not_of_tag("its ids are whole numbers in decimal"))
        }
    }
}
