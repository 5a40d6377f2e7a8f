//! What an id says.

use std::collections::BTreeMap;

use leafid::format::TextParts;
use leafid::{Layout, Parts};
use leafid_formats::{Decoded, Mark, Part, Recognised};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[cfg(test)]
use super::schema;
use crate::tag_id::TagId;
use crate::wall_clock::time;

/// By which layout, or of which tag.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LayoutRequest {
    /// A preset, a preset with an epoch (`leaf@2020-01-01T00:00:00Z`), or widths with an epoch
    /// (`time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z`); the server's own if it is missing.
    #[param(schema_with = schema::layout, required = false)]
    pub layout: Option<String>,
    /// The tag that issued the id: then it is decoded exactly. Not with a layout.
    #[param(schema_with = schema::tag, required = false)]
    pub tag: Option<String>,
}

/// What an unknown text may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reading {
    /// The family or layout.
    #[schema(example = "uuid7")]
    pub name: String,
    /// When it was made; missing if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub time: Option<String>,
    /// The other parts, by name.
    pub parts: BTreeMap<String, String>,
    /// What is impossible or unlikely about this reading.
    pub marks: Vec<String>,
    /// How likely it is beside the others, 0 to 100; no probability.
    #[schema(example = 90)]
    pub score: u8,
}

/// What an unknown text may be, the most likely first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodedText {
    /// The text.
    pub id: String,
    /// Every family and layout that fits.
    pub readings: Vec<Reading>,
}

/// An id of a tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodedOfTag {
    /// The id as it was sent.
    pub id: String,
    /// The tag.
    #[schema(example = "order")]
    pub tag: String,
    /// The number behind the text; missing for a family.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "4711")]
    pub number: Option<String>,
    /// When it was made, of a date its first moment; missing if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub time: Option<String>,
    /// The other parts, by name.
    pub parts: BTreeMap<String, String>,
    /// What is impossible about it.
    pub marks: Vec<String>,
}

/// What an id says: by a layout, of a tag, or by what it looks like.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum DecodeAnswer {
    /// A number, by a layout.
    Number(Box<DecodedNumber>),
    /// An id of a tag.
    OfTag(DecodedOfTag),
    /// A text.
    Text(DecodedText),
}

/// The parts of a number by a layout, and what else it may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecodedNumber {
    /// By the layout.
    #[serde(flatten)]
    pub decoded: DecodedId,
    /// What is impossible about it by the layout.
    pub marks: Vec<String>,
    /// Every family and layout that fits, the most likely first; missing if a layout was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<Vec<Reading>>,
}

impl DecodedNumber {
    /// The parts of a number by a layout, with its marks.
    #[must_use]
    pub fn new(decoded: DecodedId, found: &[Mark], readings: Option<Vec<Reading>>) -> Self {
        Self {
            decoded,
            marks: marks(found),
            readings,
        }
    }
}

impl DecodedOfTag {
    /// What an id of a tag says, with its marks.
    #[must_use]
    pub fn new(id: &str, tag: &str, found: &TagId, found_marks: &[Mark]) -> Self {
        let parts = match found {
            TagId::Number(parts) => text_parts(parts),
            TagId::Snowflake(_, layout, decoded) => snowflake_parts(*layout, decoded),
            TagId::Family(_, decoded) => parts(decoded),
        };
        Self {
            id: id.to_owned(),
            tag: tag.to_owned(),
            number: found.number().map(|number| number.to_string()),
            time: found.unix_ms().map(time),
            parts,
            marks: marks(found_marks),
        }
    }
}

fn text_parts(parts: &TextParts) -> BTreeMap<String, String> {
    let worker = parts.worker_id.map(|worker| ("worker", worker.to_string()));
    let period = parts
        .period
        .map(|(period, _)| ("period", period.to_string()));
    let counter = parts
        .period
        .map(|(_, counter)| ("counter", counter.to_string()));
    let parts = [worker, period, counter].into_iter().flatten();
    parts
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn snowflake_parts(layout: Layout, decoded: &Parts) -> BTreeMap<String, String> {
    let parts = [
        ("layout", layout.to_string()),
        ("worker", decoded.worker.to_string()),
        ("sequence", decoded.sequence.to_string()),
    ];
    let shard = decoded.shard.map(|shard| ("shard", shard.to_string()));
    let parts = parts.into_iter().chain(shard);
    parts
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn marks(marks: &[Mark]) -> Vec<String> {
    marks.iter().map(ToString::to_string).collect()
}

impl From<&Recognised> for Reading {
    fn from(found: &Recognised) -> Self {
        Self {
            name: found.name.to_owned(),
            time: found.decoded.unix_ms.map(time),
            parts: parts(&found.decoded),
            marks: marks(&found.marks),
            score: found.score,
        }
    }
}

/// The parts by name.
fn parts(decoded: &Decoded) -> BTreeMap<String, String> {
    let parts = decoded.parts.iter();
    let part = |part: &Part| (part.name.to_owned(), part.value.to_string());
    parts.map(part).collect()
}

/// The parts of a snowflake id. Numbers that may exceed 2^53 are strings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecodedId {
    /// The id.
    #[schema(example = "1169786042799259000")]
    pub id: String,
    /// The layout by which it was decoded.
    #[schema(example = "leaf")]
    pub layout: String,
    /// When its tick began.
    #[schema(format = DateTime, example = "2019-09-06T01:35:00.834Z")]
    pub time: String,
    /// The same in milliseconds since 1970-01-01T00:00:00Z.
    #[schema(example = "1567733700834")]
    pub unix_ms: String,
    /// The same in units of the layout since its epoch.
    #[schema(example = "278898726177")]
    pub tick: String,
    /// The worker id that made it, the bits of the data centre included.
    #[schema(example = 39)]
    pub worker_id: u32,
    /// The upper bits of the worker id; missing if the layout has no data centre.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_center: Option<u32>,
    /// The lower bits of the worker id; missing if the layout has no data centre.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_in_data_center: Option<u32>,
    /// Which id of its tick.
    #[schema(example = "3448")]
    pub sequence: String,
    /// Its shard; missing if the layout has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
}

impl DecodedId {
    /// The parts of an id that was made with this layout.
    #[must_use]
    pub fn new(id: u64, layout: Layout, parts: Parts) -> Self {
        let data_center = parts.data_center;
        Self {
            id: id.to_string(),
            layout: layout.to_string(),
            time: time(parts.unix_ms),
            unix_ms: parts.unix_ms.to_string(),
            tick: parts.tick.to_string(),
            worker_id: parts.worker.get(),
            data_center,
            worker_in_data_center: data_center.map(|_| parts.worker_in_data_center),
            sequence: parts.sequence.to_string(),
            shard: parts.shard,
        }
    }
}
