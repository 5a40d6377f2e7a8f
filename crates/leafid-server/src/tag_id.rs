//! `TagId`: an id of a tag, decoded by the tag's row. The service and the command line, which reads
//! the row from the store itself, decode alike.

use leafid::format::{FormatError, TextParts};
use leafid::store::{TagKind, TagRecord};
use leafid::{Family, Generators, Layout, Limit, Parts, WorkerId};
use leafid_formats::{Decoded, FamilyFormat, Mark, decimal};

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
/// assert_eq!(decoded?.number(), Some(4711));
/// assert!(TagId::decode(&generators, Layout::LEAF, &order, "SO-4711").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum TagId {
    /// The number of a segment tag, and what else its text says.
    Number(TextParts),
    /// A snowflake id, with its layout.
    Snowflake(u64, Layout, Parts),
    /// The parts of an id of a family.
    Family(Family, Decoded),
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
            return Ok(Self::Family(family, decoded));
        }
        let parts = parts(generators, record, text)?;
        let number = parts.number;
        let max = Limit::INT64.largest();
        if number == 0 || number > max {
            let reason = format!("ids have numbers from 1 to {max}, and this is {number}");
            return Err(FormatError::NotOfFormat(reason));
        }
        if record.settings.kind == TagKind::Snowflake {
            let parts = layout.try_decompose(number).map_err(not_of_tag)?;
            return Ok(Self::Snowflake(number, layout, parts));
        }
        Ok(Self::Number(parts))
    }

    /// The number behind the text; `None` for a family.
    #[must_use]
    pub const fn number(&self) -> Option<u64> {
        match self {
            Self::Number(parts) => Some(parts.number),
            Self::Snowflake(number, ..) => Some(*number),
            Self::Family(..) => None,
        }
    }

    /// When it was made, in milliseconds since 1970-01-01T00:00:00Z, the earliest time if it tells
    /// a longer one, such as a day; `None` if it does not say.
    #[must_use]
    pub fn unix_ms(&self) -> Option<i64> {
        match self {
            Self::Number(parts) => parts.unix_ms.map(|(first, _)| first),
            Self::Snowflake(_, _, parts) => Some(parts.unix_ms),
            Self::Family(_, decoded) => decoded.unix_ms,
        }
    }

    /// The worker id in it, and when it was made at the latest, if it says both. `layout` is that
    /// of snowflake ids.
    pub(crate) fn worker(&self, layout: Layout) -> Option<(WorkerId, i64)> {
        match self {
            Self::Number(parts) => Some((parts.worker_id?, parts.unix_ms?.1)),
            Self::Snowflake(_, _, parts) => Some((parts.worker, parts.unix_ms)),
            Self::Family(family, decoded) => {
                let worker = decoded.leased_worker(*family, layout)?;
                Some((worker, decoded.unix_ms?))
            }
        }
    }

    /// What speaks against its time; `now_ms` is the time of day, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn time_marks(&self, now_ms: i64) -> Vec<Mark> {
        match (self, self.unix_ms()) {
            (_, None) => Vec::new(),
            (Self::Number(_), Some(unix_ms)) => Vec::from_iter(Mark::of_time(unix_ms, now_ms)),
            (Self::Snowflake(_, layout, _), Some(unix_ms)) => {
                Mark::of_layout(*layout, unix_ms, now_ms)
            }
            (Self::Family(family, _), Some(unix_ms)) => Mark::of_family(*family, unix_ms, now_ms),
        }
    }
}

fn not_of_tag(error: impl std::fmt::Display) -> FormatError {
    FormatError::NotOfFormat(error.to_string())
}

fn parts(
    generators: &Generators,
    record: &TagRecord,
    text: &str,
) -> Result<TextParts, FormatError> {
    match generators.form_of(record)?.format() {
        Some(format) => format.decode(text),
        None => {
            let parts = decimal(text).map(TextParts::of_number);
            parts.ok_or_else(|| not_of_tag("its ids are whole numbers in decimal"))
        }
    }
}
