//! Changes, as they were recorded.

use leafid_stores::AuditRecord;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::PAGE_LEN_MAX;
use super::number::Whole;
use crate::wall_clock::time;

/// How many changes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditRequest {
    /// How many changes.
    #[param(minimum = 1, maximum = 1000, default = 100, value_type = Option<u32>)]
    pub limit: Option<Whole<PAGE_LEN_MAX>>,
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// When, by the clock of the server or command that made it.
    #[schema(example = "2026-11-22T03:24:34.513Z")]
    pub time: String,
    /// The address of the server that made it; null for a command that worked on the store.
    #[schema(example = "10.1.2.3:8080")]
    pub server: Option<String>,
    /// The name of the caller's token; null without one.
    #[schema(example = "ops")]
    pub token: Option<String>,
    /// Where the connection came from, as IP address and port.
    #[schema(example = "10.1.2.9:51234")]
    pub address: Option<String>,
    /// What was done.
    #[schema(example = "tag deleted")]
    pub action: String,
    /// What was changed: a tag, a worker id, the scope of a quota.
    #[schema(example = "order")]
    pub subject: String,
    /// The state before; null if it did not exist.
    #[schema(example = "max_id=1001 step=1000 policy=default limit=int64")]
    pub before: Option<String>,
    /// The state after; null if it no longer exists. It begins with `unknown` if the call ended
    /// before the store answered.
    pub after: Option<String>,
}

impl From<&AuditRecord> for Change {
    fn from(record: &AuditRecord) -> Self {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            time: time(record.at_ms.cast_signed()),
            server: known(&record.server),
            token: known(&record.token),
            address: known(&record.address),
            action: record.action.clone(),
            subject: record.subject.clone(),
            before: known(&record.before),
            after: known(&record.after),
        }
    }
}

/// Changes of all servers on one store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangeList {
    /// The newest first.
    pub changes: Vec<Change>,
}
