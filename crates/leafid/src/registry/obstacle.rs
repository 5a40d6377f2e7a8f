//! `Obstacle`: why there is no worker id, and how it is reported.

use std::sync::Arc;
use std::time::Duration;

use super::RegistryStage;
use super::claim::{self, ClaimError};
use super::driver::DriverState;
use crate::error_kind::ErrorKind;
use crate::event::Event;
use crate::store::{LeaseRecord, StoreError};

/// Why there is no worker id.
pub(super) enum Obstacle {
    /// Something has to be changed; the text says what.
    Refused(String),
    /// The registry or the journal failed.
    Failed(Arc<StoreError>),
    /// The registry says no until somebody changes something.
    Denied(Arc<StoreError>),
    /// All worker ids are held.
    Exhausted(Vec<LeaseRecord>),
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        // A registry that could lose a claim answers, and the server cannot do without one.
        if error.may_recover() && error.weak_store().is_none() {
            Self::Failed(Arc::new(error))
        } else {
            Self::Denied(Arc::new(error))
        }
    }
}

/// How many holders the text of a refusal names.
const HOLDERS_SHOWN: usize = 20;

impl DriverState {
    pub(super) fn refuse(&mut self, obstacle: &Obstacle, retry_after: Duration) {
        let reason = match obstacle {
            Obstacle::Refused(reason) => reason.clone(),
            Obstacle::Failed(error) | Obstacle::Denied(error) => error.to_string(),
            Obstacle::Exhausted(rows) => exhausted(rows),
        };
        let shared = &self.shared;
        let (kind, source) = match obstacle {
            Obstacle::Refused(_) => (ErrorKind::Misconfigured, None),
            Obstacle::Failed(error) => (error.kind(), Some(Arc::clone(error))),
            Obstacle::Denied(error) => (ErrorKind::Misconfigured, Some(Arc::clone(error))),
            Obstacle::Exhausted(_) => (ErrorKind::Exhausted, None),
        };
        shared.core.close(reason.as_str(), kind, source);
        shared.lock().stage = RegistryStage::Refused {
            reason: reason.clone(),
        };
        if self.last_refusal == reason {
            return;
        }
        match obstacle {
            Obstacle::Refused(_) | Obstacle::Denied(_) => {
                shared.emit(&Event::WorkerRefused { reason: &reason });
            }
            Obstacle::Failed(error) => shared.emit(&Event::RegistryFailed { error, retry_after }),
            Obstacle::Exhausted(rows) => shared.emit(&Event::WorkersExhausted { holders: rows }),
        }
        self.last_refusal = reason;
    }
}

/// A registry that fails is not the same as one in which we hold nothing.
pub(super) async fn found_or_store_error(
    found: impl Future<Output = Result<claim::Claim, ClaimError>>,
) -> Result<Result<claim::Claim, ClaimError>, StoreError> {
    match found.await {
        Err(ClaimError::Store(error)) => Err(error),
        found => Ok(found),
    }
}

pub(super) fn obstacle(error: ClaimError) -> Obstacle {
    match error {
        ClaimError::Exhausted(rows) => Obstacle::Exhausted(rows),
        ClaimError::Store(error) => error.into(),
        ClaimError::Held(row) => Obstacle::Refused(format!(
            "worker id {} is held by {} until {}",
            row.worker,
            holder_shown(&row),
            crate::layout::Instant {
                unix_ms: row.until_ms.cast_signed()
            }
        )),
    }
}

/// The report when no worker id is left.
fn exhausted(rows: &[LeaseRecord]) -> String {
    let shown: Vec<String> = rows
        .iter()
        .take(HOLDERS_SHOWN)
        .map(|row| format!("{} {}", row.worker, holder_shown(row)))
        .collect();
    let more = match rows.len().saturating_sub(HOLDERS_SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(
        "all {} worker ids are held ({}{more}): stop servers, or release those of dead ones",
        rows.len(),
        shown.join(", ")
    )
}

fn holder_shown(row: &LeaseRecord) -> &str {
    if row.address.is_empty() {
        &row.holder
    } else {
        &row.address
    }
}
