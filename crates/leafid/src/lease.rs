//! `Lease`: the right to issue with a worker id, from one time in ids to another.

use crate::store::{LeaseKey, LeaseRecord};
use crate::worker_id::WorkerId;

/// The right to issue ids of a worker id whose times lie in `start_ms..until_ms`.
///
/// It is a range, not a time-out: it stays ours whatever the clocks do, and no other server gets
/// any of it later. The next claim of the worker id starts at `until_ms` or above.
///
/// # Example
///
/// ```
/// use leafid::{Lease, WorkerId};
///
/// let lease = Lease { worker: WorkerId::new(3), epoch: 1, start_ms: 1000, until_ms: 4000 };
/// assert_eq!(lease.left_ms(1500), 2500);
/// assert_eq!(lease.left_ms(9000), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The worker id.
    pub worker: WorkerId,
    /// How often the worker id was claimed, this claim included; 0 without a registry.
    pub epoch: u64,
    /// The first time that ids may carry, in milliseconds since 1970-01-01T00:00:00Z.
    pub start_ms: u64,
    /// The first time that they may not, in the same unit.
    pub until_ms: u64,
}

impl Lease {
    /// How much of it is left at a time, in milliseconds.
    #[must_use]
    pub const fn left_ms(&self, now_ms: u64) -> u64 {
        self.until_ms.saturating_sub(now_ms)
    }

    /// The row of this lease, as far as a compare-and-set needs it.
    pub(crate) const fn key(&self) -> LeaseKey {
        LeaseKey {
            epoch: self.epoch,
            until_ms: self.until_ms,
        }
    }

    pub(crate) fn record(&self, holder: &str, address: &str) -> LeaseRecord {
        LeaseRecord {
            worker: self.worker,
            epoch: self.epoch,
            holder: holder.to_owned(),
            address: address.to_owned(),
            until_ms: self.until_ms,
        }
    }
}
