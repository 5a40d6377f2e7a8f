//! Claiming, extending and giving back a worker id: what is written to the registry, and what an
//! answer means. When it is done is decided in `registry/driver.rs`.
//!
//! Each change is a compare-and-set on (epoch, until). That, and starting at or above the `until`
//! that was there, is all that keeps two servers apart: no clock is trusted, and nobody has to be
//! dead.

use fastrand::Rng;

use super::WorkerChoice;
use super::candidate::{self, Candidate};
use super::driver::WorkerUntil;
use crate::lease::Lease;
use crate::store::{JournalRecord, LeaseRecord, LeaseStore, LeaseSwap, StoreError};
use crate::worker_id::WorkerId;

/// How often a claim looks at all rows again because somebody was faster.
pub(crate) const ROUNDS_MAX: u32 = 64;

/// Who claims what.
#[derive(Debug, Clone)]
pub(crate) struct Claimant<'a> {
    pub(crate) choice: WorkerChoice,
    /// A hint from elsewhere, followed while the journal has no lease: until a claim has gone through.
    pub(crate) preferred: Option<WorkerId>,
    pub(crate) worker_max: u32,
    pub(crate) address: &'a str,
    /// What is known of this registry, and of the times that ids have already.
    pub(crate) journal: &'a JournalRecord,
    /// The number of this process.
    pub(crate) nonce: u64,
    /// Worker ids not to be taken back before their lease is over.
    pub(crate) avoided: &'a [WorkerId],
    /// Where our ids of worker ids end that this process had and lost, the last one at the end.
    pub(crate) lost: &'a [WorkerUntil],
    pub(crate) now_ms: u64,
    pub(crate) lease_ms: u64,
}

/// Why there is no lease.
#[derive(Debug)]
pub(crate) enum ClaimError {
    /// All worker ids are held; the rows.
    Exhausted(Vec<LeaseRecord>),
    /// The one that was asked for is held; its row.
    Held(LeaseRecord),
    Store(StoreError),
}

impl From<StoreError> for ClaimError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A claim that may go through.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) lease: Lease,
    pub(crate) swap: LeaseSwap,
}

/// Looks for a worker id to claim. The claim is written to the journal, and then to the registry;
/// if somebody was faster there, this is called again with the next `round`.
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
    // Whatever the registry says of it, or does not say any more: nothing of ours comes twice. If it
    // is not the last one that was held, it may be one of those before.
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
        // Never back: another server would start there.
        until_ms: (start_ms + claimant.lease_ms).max(seen.map_or(0, |row| row.until_ms)),
    };
    let holder = journal.row_holder(claimant.nonce);
    let swap = LeaseSwap {
        expected: seen.map(LeaseRecord::key),
        record: lease.record(&holder, claimant.address),
    };
    Claim { lease, swap }
}

/// What came of a wish to extend.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Extended {
    Until(Lease),
    /// Somebody else has claimed the worker id; the row, unless it is gone.
    Lost(Option<LeaseRecord>),
    /// The registry is not the one that the lease is from.
    Elsewhere,
}

/// Takes a lease of the registry with this identity further, to `until_ms` at least.
pub(crate) async fn extend(
    store: &dyn LeaseStore,
    lease: Lease,
    until_ms: u64,
    (identity, holder): (&str, &str),
    address: &str,
) -> Result<Extended, StoreError> {
    // In one that was made anew, somebody's row may be just as ours was.
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
    // An earlier call whose outcome was unknown may have gone through: the row tells, which no copy
    // of this server can have written, because its process has another number.
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

/// How often a row is given back anew because a call of our own changed it meanwhile.
const RELEASES_MAX: usize = 3;

/// Gives a worker id back, down to the first time that was not used. Only who has stopped issuing
/// may do this. Answers whether the row was ours: that of the lease, or that of a claim whose
/// outcome is unknown.
pub(crate) async fn release(
    store: &dyn LeaseStore,
    lease: Lease,
    used_until_ms: u64,
    journal: &JournalRecord,
    address: &str,
) -> Result<bool, StoreError> {
    let holder = journal.row_holder(journal.lease.map_or(0, |lease| lease.nonce));
    // A claim or an extension whose outcome was unknown may have gone through, or not: the row
    // tells.
    let is_ours = |row: &LeaseRecord| {
        let is_of_lease = row.holder == holder && row.epoch == lease.epoch;
        row.worker == lease.worker && (is_of_lease || journal.is_of_claim(row))
    };
    for _ in 0..RELEASES_MAX {
        let rows = store.leases().await?;
        let Some(row) = rows.into_iter().find(is_ours) else {
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
