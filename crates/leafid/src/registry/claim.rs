//! Claims, extends and gives back a worker id: what is written to the registry, and what an answer
//! means. `registry/driver.rs` decides when.
//!
//! Each change is a compare-and-set on (epoch, until). That, and starting at or above the previous
//! `until`, is all that separates two servers: no clock is trusted, and no holder has to be dead.

use fastrand::Rng;

use super::WorkerChoice;
use super::candidate::{self, Candidate};
use super::driver::WorkerUntil;
use crate::lease::Lease;
use crate::store::{JournalRecord, LeaseRecord, LeaseStore, LeaseSwap, StoreError};
use crate::worker_id::WorkerId;

/// How often a claim reads all rows again because another server was faster.
pub(crate) const ROUNDS_MAX: u32 = 64;

/// The identity of the claimant and its choice of worker ids.
#[derive(Debug, Clone)]
pub(crate) struct Claimant<'a> {
    pub(crate) choice: WorkerChoice,
    /// A hint from elsewhere, followed while the journal has no lease: until a claim has succeeded.
    pub(crate) preferred: Option<WorkerId>,
    pub(crate) worker_max: u32,
    pub(crate) address: &'a str,
    /// What is known of this registry, and of the times of earlier ids.
    pub(crate) journal: &'a JournalRecord,
    /// The number of this process.
    pub(crate) nonce: u64,
    /// Worker ids that must not be claimed again before their leases end.
    pub(crate) avoided: &'a [WorkerId],
    /// Where our ids of lost worker ids end, the last one at the end.
    pub(crate) lost: &'a [WorkerUntil],
    pub(crate) now_ms: u64,
    pub(crate) lease_ms: u64,
}

/// Why there is no lease.
#[derive(Debug)]
pub(crate) enum ClaimError {
    /// All worker ids are held; the rows.
    Exhausted(Vec<LeaseRecord>),
    /// The configured worker id is held; its row.
    Held(LeaseRecord),
    Store(StoreError),
}

impl From<StoreError> for ClaimError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A claim that may succeed.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) lease: Lease,
    pub(crate) swap: LeaseSwap,
}

/// Finds a worker id to claim. The claim is written to the journal, and then to the registry; if
/// another server was faster there, this is called again with the next `round`.
pub(crate) async fn find(
    store: &dyn LeaseStore,
    claimant: &Claimant<'_>,
    round: u32,
    rng: &mut Rng,
) -> Result<Claim, ClaimError> {
    let rows = store.leases().await?;
    match candidate::choose(claimant, &rows, round, rng) {
        Some(candidate) => Ok(claim_of(claimant, &candidate)),
        None => Err(match held(claimant, &rows) {
            Some(row) => ClaimError::Held(row),
            None => ClaimError::Exhausted(rows),
        }),
    }
}

fn held(claimant: &Claimant<'_>, rows: &[LeaseRecord]) -> Option<LeaseRecord> {
    let WorkerChoice::Exactly(worker) = claimant.choice else {
        return None;
    };
    rows.iter().find(|row| row.worker == worker).cloned()
}

fn claim_of(claimant: &Claimant<'_>, candidate: &Candidate) -> Claim {
    let journal = claimant.journal;
    let seen = candidate.seen.as_ref();
    let last = journal.lease.filter(|last| last.worker == candidate.worker);
    // Whatever the registry says about it, none of our ids may repeat. If it is not the last one
    // that was held, it may be an earlier one.
    let issued_ms = last.map_or(journal.former_ms, |last| last.below_ms);
    let issued_ms = issued_ms.max(journal.floor_ms);
    let lost = claimant.lost.iter();
    let lost = lost.filter(|lost| lost.worker == candidate.worker);
    let ended_ms = lost.map(|lost| lost.until_ms).max().unwrap_or(0);
    let start_ms = candidate.start_ms.max(claimant.now_ms);
    let start_ms = start_ms.max(issued_ms).max(ended_ms);
    let lease = Lease {
        worker: candidate.worker,
        epoch: seen.map_or(0, |row| row.epoch) + 1,
        start_ms,
        // Never lower: another server would start there.
        until_ms: (start_ms + claimant.lease_ms).max(seen.map_or(0, |row| row.until_ms)),
    };
    let holder = journal.row_holder(claimant.nonce);
    let swap = LeaseSwap {
        expected: seen.map(LeaseRecord::key),
        record: lease.record(&holder, claimant.address),
    };
    Claim { lease, swap }
}

/// The result of a request to extend.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Extended {
    Until(Lease),
    /// Another server has claimed the worker id; the row, unless it is gone.
    Lost(Option<LeaseRecord>),
    /// The registry is not the one that the lease comes from.
    Elsewhere,
}

/// Extends a lease of the registry with this identity, at least to `until_ms`.
pub(crate) async fn extend(
    store: &dyn LeaseStore,
    lease: Lease,
    until_ms: u64,
    (identity, holder): (&str, &str),
    address: &str,
) -> Result<Extended, StoreError> {
    // In a registry that was created anew, another server's row may look just like ours.
    if store.identity().await? != identity {
        return Ok(Extended::Elsewhere);
    }
    let longer = Lease {
        until_ms: until_ms.max(lease.until_ms),
        ..lease
    };
    let swap = LeaseSwap {
        expected: Some(lease.key()),
        record: longer.record(holder, address),
    };
    if store.swap(&swap).await? {
        return Ok(Extended::Until(longer));
    }
    // An earlier call whose outcome was unknown may have succeeded: the row shows it, and no copy of
    // this server can have written it, because its process has another number.
    let rows = store.leases().await?;
    let row = rows.into_iter().find(|row| row.worker == lease.worker);
    Ok(match row {
        Some(row)
            if row.holder == holder
                && row.epoch == lease.epoch
                && row.until_ms >= lease.until_ms =>
        {
            Extended::Until(Lease {
                until_ms: row.until_ms,
                ..lease
            })
        }
        row => Extended::Lost(row),
    })
}

/// How often giving back is retried because a call of our own changed the row meanwhile.
const RELEASES_MAX: usize = 3;

/// Whether a row is that of the lease, or that of a claim of it whose outcome is unknown.
pub(crate) fn is_ours(row: &LeaseRecord, lease: &Lease, journal: &JournalRecord) -> bool {
    let holder = journal.row_holder(journal.lease.map_or(0, |lease| lease.nonce));
    let is_of_lease = row.holder == holder && row.epoch == lease.epoch;
    row.worker == lease.worker && (is_of_lease || journal.is_of_claim(row))
}

/// Gives a worker id back, down to the first unused time. Only for a process that has stopped
/// issuing. `seen` is the row as it was read just before. Returns whether the row was ours.
pub(crate) async fn release(
    store: &dyn LeaseStore,
    lease: Lease,
    used_until_ms: u64,
    journal: &JournalRecord,
    address: &str,
    seen: LeaseRecord,
) -> Result<bool, StoreError> {
    let mut seen = Some(seen);
    for _ in 0..RELEASES_MAX {
        // A claim or an extension whose outcome was unknown may have succeeded or not, or arrive
        // only now: the row shows it.
        let row = match seen.take() {
            Some(row) => Some(row),
            None => store.lease(lease.worker).await?,
        };
        let Some(row) = row.filter(|row| is_ours(row, &lease, journal)) else {
            return Ok(false);
        };
        let swap = LeaseSwap {
            expected: Some(row.key()),
            record: LeaseRecord {
                until_ms: used_until_ms.min(row.until_ms),
                address: address.to_owned(),
                ..row
            },
        };
        if store.swap(&swap).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
