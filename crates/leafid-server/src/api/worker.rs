//! Worker ids.

use leafid::store::LeaseRecord;
use leafid::{Layout, RegistryStage, RegistryStatus};
use serde::de::{Deserializer, Error as _, Unexpected};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[cfg(test)]
use super::schema;
use crate::wall_clock::time;

/// The worker id of this server, and its clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnWorker {
    /// `starting`, `refused`, `holding` or `stopped`.
    #[schema(example = "holding")]
    pub stage: String,
    /// Why there is no worker id, and what to do; null when there is one.
    pub reason: Option<String>,
    /// The worker id; null for none.
    #[schema(example = 3)]
    pub worker: Option<u32>,
    /// How often it was claimed, this time included; null without a worker id, 0 without a
    /// registry.
    #[schema(example = "1")]
    pub epoch: Option<String>,
    /// Until when it is leased; null without a worker id, and where worker ids are not leased.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// How long ids can be issued without the registry; null where worker ids are not leased.
    pub left_seconds: Option<f64>,
    /// How far the time in the next id is ahead of the clock.
    pub borrowed_seconds: f64,
    /// How far the wall clock is ahead of the time in ids.
    pub clock_offset_seconds: f64,
    /// How ids divide their bits.
    #[schema(example = "leaf")]
    pub layout: String,
    /// When the layout's time runs out.
    #[schema(format = DateTime, example = "2080-07-10T17:30:30.208Z")]
    pub end: String,
    /// Whether the registry answered its last call; null before the first, and without one.
    pub registry_answers: Option<bool>,
}

impl OwnWorker {
    /// The worker id of a server whose ids have this layout.
    pub(crate) fn new(status: &RegistryStatus, layout: Layout) -> Self {
        let (stage, reason) = match &status.stage {
            RegistryStage::Starting => ("starting", None),
            RegistryStage::Refused { reason } => ("refused", Some(reason.clone())),
            RegistryStage::Holding { .. } => ("holding", None),
            RegistryStage::Stopped => ("stopped", None),
        };
        let lease = status.lease;
        let until_ms = lease.and_then(|lease| leased_until(lease.until_ms));
        Self {
            stage: stage.to_owned(),
            reason,
            worker: lease.map(|lease| lease.worker.get()),
            epoch: lease.map(|lease| lease.epoch.to_string()),
            until: until_ms.map(time),
            left_seconds: until_ms.map(|_| seconds(status.left_ms.cast_signed())),
            borrowed_seconds: seconds(status.borrowed_ms.cast_signed()),
            clock_offset_seconds: seconds(status.clock_offset_ms),
            layout: layout.to_string(),
            end: time(status.end_ms),
            registry_answers: status.store_answers,
        }
    }
}

/// `None` for what is not leased.
pub(crate) fn leased_until(until_ms: u64) -> Option<i64> {
    (until_ms != LeaseRecord::FOREVER).then_some(until_ms.cast_signed())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a float has milliseconds for longer than needed"
)]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}

/// A worker id in the registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// The worker id.
    #[schema(example = 3)]
    pub worker: u32,
    /// Whether its lease has not ended yet.
    pub held: bool,
    /// Whether the answering server holds it.
    pub own: bool,
    /// The address of its holder's HTTP; empty if unknown.
    #[schema(example = "10.0.0.5:8080")]
    pub address: String,
    /// The name that its holder chose for itself; empty if it was released.
    pub holder: String,
    /// How often it was claimed.
    #[schema(example = "7")]
    pub epoch: String,
    /// When its lease ends; null for never, as with servers of Java Leaf.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// All worker ids that have ever been held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerList {
    /// In ascending order.
    pub workers: Vec<Worker>,
    /// The largest worker id that the layout has.
    #[schema(example = 1023)]
    pub worker_max: u32,
}

/// The operator's statement about a holder.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// States that the holder's process does not run and will never run again. If it does, ids can
    /// repeat.
    #[serde(deserialize_with = "yes")]
    #[schema(schema_with = schema::yes)]
    pub dead: bool,
}

fn yes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        return Ok(true);
    }
    let wanted = "true, to state that its process no longer runs";
    Err(D::Error::invalid_value(Unexpected::Bool(false), &wanted))
}
