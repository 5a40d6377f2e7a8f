//! What a snowflake id says.

use leafid::{Layout, Parts};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[cfg(test)]
use super::schema;

/// By which layout.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LayoutRequest {
    /// A preset, a preset with an epoch (`leaf@2020-01-01T00:00:00Z`), or widths with an epoch
    /// (`time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z`); the server's own if it is missing.
    #[param(schema_with = schema::layout, required = false)]
    pub layout: Option<String>,
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
}

impl DecodedId {
    /// The parts of an id that was made with this layout.
    #[must_use]
    pub fn new(id: u64, layout: Layout, parts: Parts) -> Self {
        let data_center = parts.data_center;
        Self {
            id: id.to_string(),
            layout: layout.to_string(),
            time: parts.time().to_string(),
            unix_ms: parts.unix_ms.to_string(),
            tick: parts.tick.to_string(),
            worker_id: parts.worker.get(),
            data_center,
            worker_in_data_center: data_center.map(|_| parts.worker_in_data_center),
            sequence: parts.sequence.to_string(),
        }
    }
}
