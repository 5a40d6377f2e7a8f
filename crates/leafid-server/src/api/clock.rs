//! What the clocks of a server show.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a server's clocks show. Peers read it too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Clock {
    /// The time in its ids, without what they have borrowed, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    #[schema(example = "1795250400000")]
    pub unix_ms: String,
    /// The wall clock, in the same unit.
    #[schema(example = "1795250400000")]
    pub wall_ms: String,
    /// How far the wall clock is ahead of the time in ids, in milliseconds.
    #[schema(example = 0)]
    pub offset_ms: i64,
    /// The worker id that the server holds; null for none.
    #[schema(example = 3)]
    pub worker: Option<u32>,
}
