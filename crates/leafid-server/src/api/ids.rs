//! Ids by the batch and by the range.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::{COUNT_MAX, RANGE_LEN_MAX, SHARD_MAX};
use super::number::{Index, Whole, given};
#[cfg(test)]
use super::schema;

/// How many ids.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IdsRequest {
    /// The number of ids; 1 if it is missing.
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = schema::count, required = false)]
    #[param(minimum = 1, maximum = 10_000, default = 1, value_type = Option<u64>)]
    pub count: Option<Whole<COUNT_MAX>>,
    /// The shard of the ids, from 0, of a snowflake tag; the server's own if it is missing.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(schema_with = schema::shard, required = false)]
    #[param(minimum = 0, maximum = 65_535, value_type = Option<u64>)]
    pub shard: Option<Index<SHARD_MAX>>,
    /// A key in place of the shard: the CRC-32 of its UTF-8 bytes modulo the number of shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard_key: Option<String>,
}

/// Ids, ascending but not always adjacent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Ids {
    /// The ids, as strings: JavaScript numbers hold 53 bits only.
    #[schema(example = json!(["1", "2", "3"]))]
    pub ids: Vec<String>,
}

/// How long a run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RangeRequest {
    /// How many adjacent ids.
    #[schema(schema_with = schema::length)]
    pub length: Whole<RANGE_LEN_MAX>,
}

/// A range of adjacent ids, for the caller alone: every whole number from `first` to `last`, both
/// included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Range {
    /// Whose ids.
    pub tag: String,
    /// The first id of the run.
    #[schema(example = "1")]
    pub first: String,
    /// The last id of the range, which belongs to the caller too.
    #[schema(example = "1000")]
    pub last: String,
    /// How many ids it has.
    #[schema(example = 1000)]
    pub length: u64,
}
