//! Worker ids.

use serde::de::{Deserializer, Error as _, Unexpected};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;

/// How this server stands with its worker id and its clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnWorker {
    /// `starting`, `refused`, `holding` or `stopped`.
    #[schema(example = "holding")]
    pub stage: String,
    /// What is in the way of a worker id, and what to do; null when nothing is.
    pub reason: Option<String>,
    /// The worker id; null for none.
    #[schema(example = 3)]
    pub worker: Option<u32>,
    /// How often it was claimed, this time included; null for none, 0 where no registry counts.
    #[schema(example = "1")]
    pub epoch: Option<String>,
    /// Until when it is reserved; null for none, and where nobody leases it.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// How long ids can go on without the registry; null where nobody leases it.
    pub left_seconds: Option<f64>,
    /// How far the time in the next id is ahead of the clock.
    pub borrowed_seconds: f64,
    /// How far the wall clock is ahead of the time in ids.
    pub clock_offset_seconds: f64,
    /// How ids divide their bits.
    #[schema(example = "leaf")]
    pub layout: String,
    /// Until when the layout has bits of time.
    #[schema(format = DateTime, example = "2080-07-10T17:30:30.208Z")]
    pub end: String,
    /// Whether the registry answered its last call; null before the first, and without one.
    pub registry_answers: Option<bool>,
}

/// A worker id as the registry has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// The worker id.
    #[schema(example = 3)]
    pub worker: u32,
    /// Whether its reservation is not over yet.
    pub held: bool,
    /// Whether it is the server that answers.
    pub own: bool,
    /// Where its holder serves HTTP; empty if that is not known.
    #[schema(example = "10.0.0.5:8080")]
    pub address: String,
    /// The name that its holder made up for itself; empty if it was released.
    pub holder: String,
    /// How often it was claimed.
    #[schema(example = "7")]
    pub epoch: String,
    /// Where its reservation ends; null for never, as with servers of Java Leaf.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// All worker ids that were ever held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerList {
    /// In ascending order.
    pub workers: Vec<Worker>,
    /// The largest worker id that the layout has.
    #[schema(example = 1023)]
    pub worker_max: u32,
}

/// What an operator states of a holder.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// That its process does not run any more, and never will again. If it does after all, ids
    /// can come twice.
    #[serde(deserialize_with = "yes")]
    #[schema(schema_with = schema::yes)]
    pub dead: bool,
}

fn yes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        return Ok(true);
    }
    let wanted = "true: that its process does not run any more";
    Err(D::Error::invalid_value(Unexpected::Bool(false), &wanted))
}
