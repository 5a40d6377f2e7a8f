//! Claiming, extending and giving back a worker id: what is written to the registry, and what an
//! answer means. When it is done is decided in `registry/driver.rs`.
//!
//! Each change is a compare-and-set on (epoch, until). That, and starting at or above the `until`
//! that was there, is all that keeps two servers apart: no clock is trusted, and nobody has to be
//! dead.

use fastrand::Rng;

use super::WorkerChoice;
use super::driver::WorkerUntil;
use crate::lease::Lease;
use crate::store::{JournalRecord, LeaseRecord, LeaseStore, LeaseSwap, StoreError};
use crate::worker_id::WorkerId;

/// How often a claim looks at all rows again because somebody was faster.
pub(crate) const ROUNDS_MAX: u32 = 64;
/// In the first round the best worker id is chosen, in the next one of the best two, then four,
/// and so on up to 2 to the power of this, so that many who start at once come apart.
const CHOICES_LOG_MAX: u32 = 8;

/// Who claims what.
#[derive(Debug, Clone)]
pub(crate) struct Claimant<'a> {
    pub(crate) choice: WorkerChoice,
    /// A hint from elsewhere, for who has no lease in its journal. So it is followed until a claim
    /// has gone through.
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

/// A worker id that may be had.
struct Candidate {
    worker: WorkerId,
    seen: Option<LeaseRecord>,
    start_ms: u64,
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
    match choose(claimant, &rows, 1 << round.min(CHOICES_LOG_MAX), rng) {
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

/// What to try next: our own worker id, also if its row is gone; else one that was held under our
/// address; else the hint; else one whose lease is over, the oldest first; else one that
/// nobody ever had.
fn choose(
    claimant: &Claimant<'_>,
    rows: &[LeaseRecord],
    choices: usize,
    rng: &mut Rng,
) -> Option<Candidate> {
    let wanted = |worker: WorkerId| match claimant.choice {
        WorkerChoice::Any => worker.get() <= claimant.worker_max,
        WorkerChoice::Exactly(exactly) => worker == exactly,
    };
    let own = rows
        .iter()
        .filter(|row| wanted(row.worker))
        .find_map(|row| own(claimant, row));
    if own.is_some() {
        return own;
    }
    let forgotten = forgotten(claimant, rows, choices);
    if let Some(candidate) = forgotten.filter(|candidate| wanted(candidate.worker)) {
        return Some(candidate);
    }
    let mut free: Vec<&LeaseRecord> = rows.iter().filter(|row| wanted(row.worker)).collect();
    free.retain(|row| row.until_ms <= claimant.now_ms);
    let is_other = |row: &LeaseRecord| row.address != claimant.address || row.address.is_empty();
    free.sort_by_key(|row| (is_other(row), row.until_ms));
    let ours_before = free.iter().take_while(|row| !is_other(row)).count();
    let hint = claimant.preferred.filter(|worker| wanted(*worker));
    let is_new = claimant.journal.lease.is_none() && claimant.journal.floor_ms == 0;
    if let (0, true, Some(worker)) = (ours_before, is_new, hint)
        && let Some(candidate) = unheld(claimant, rows, worker)
    {
        return Some(candidate);
    }
    let choices = if ours_before > 0 { 1 } else { choices };
    free.truncate(choices);
    if let Some(row) = (!free.is_empty()).then(|| free[rng.usize(..free.len())]) {
        return Some(ended(row));
    }
    let absent = absent(claimant, rows, choices);
    let worker = *absent.get(rng.usize(..absent.len().max(1)))?;
    Some(new(worker))
}

/// This worker id, if nobody holds it.
fn unheld(claimant: &Claimant<'_>, rows: &[LeaseRecord], worker: WorkerId) -> Option<Candidate> {
    match rows.iter().find(|row| row.worker == worker) {
        Some(row) if row.until_ms > claimant.now_ms => None,
        Some(row) => Some(ended(row)),
        None => Some(new(worker)),
    }
}

/// A worker id whose lease is over.
fn ended(row: &LeaseRecord) -> Candidate {
    Candidate {
        worker: row.worker,
        start_ms: row.until_ms,
        seen: Some(row.clone()),
    }
}

/// A worker id without a row.
const fn new(worker: WorkerId) -> Candidate {
    Candidate {
        worker,
        seen: None,
        start_ms: 0,
    }
}

/// The worker id that we had, if its row is gone. In a registry that was emptied every other one
/// may still be in use by a holder that has not noticed yet; ours is not. Only at the first try:
/// a registry that shares its numbers with others may be unable to create it.
fn forgotten(claimant: &Claimant<'_>, rows: &[LeaseRecord], choices: usize) -> Option<Candidate> {
    let lost = claimant.lost.last().map(|lost| lost.worker);
    let worker = lost.or_else(|| claimant.journal.lease.map(|lease| lease.worker))?;
    let is_there = rows.iter().any(|row| row.worker == worker);
    let is_ours = choices == 1 && !is_there && !claimant.avoided.contains(&worker);
    is_ours.then(|| new(worker))
}

/// Our own row, if nobody has claimed it since we wrote our journal: then all ids issued with it
/// lie below the journal's bound. The journal may be one claim ahead of the registry, because it
/// is written first.
fn own(claimant: &Claimant<'_>, row: &LeaseRecord) -> Option<Candidate> {
    let start_ms = claimant.journal.owned_from_ms(row)?;
    (!claimant.avoided.contains(&row.worker)).then(|| Candidate {
        worker: row.worker,
        start_ms,
        seen: Some(row.clone()),
    })
}

/// The smallest worker ids without a row.
fn absent(claimant: &Claimant<'_>, rows: &[LeaseRecord], count: usize) -> Vec<WorkerId> {
    if let WorkerChoice::Exactly(worker) = claimant.choice {
        let is_there = rows.iter().any(|row| row.worker == worker);
        return if is_there { Vec::new() } else { vec![worker] };
    }
    let taken: std::collections::BTreeSet<u32> = rows.iter().map(|row| row.worker.get()).collect();
    let mut absent = Vec::new();
    let mut number = 0;
    while absent.len() < count && number <= claimant.worker_max {
        let is_avoided = claimant.avoided.contains(&WorkerId::new(number));
        if !taken.contains(&number) && !is_avoided {
            absent.push(WorkerId::new(number));
        }
        let Some(next) = number.checked_add(1) else {
            break;
        };
        number = next;
    }
    absent
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
