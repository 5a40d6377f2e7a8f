//! Quotas.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::bounds::IDS_PER_SECOND_MAX;
use super::number::Rate;

/// A quota to set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaRequest {
    /// Ids per second; 0 blocks what the quota limits.
    #[schema(value_type = u64, minimum = 0, maximum = 1_000_000_000, example = 1000)]
    pub ids_per_second: Rate<IDS_PER_SECOND_MAX>,
}

/// A quota in force on this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Quota {
    /// What it limits: `server`, `tag` or `token`.
    #[schema(example = "tag")]
    pub on: String,
    /// The name of the tag or the token; null for the server.
    #[schema(example = "order")]
    pub name: Option<String>,
    /// Ids per second; 0 blocks what the quota limits.
    #[schema(example = 1000)]
    pub ids_per_second: u64,
}

/// The quotas in force on this server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuotaList {
    /// The server's first, then those of tags and of tokens by name.
    pub quotas: Vec<Quota>,
}
