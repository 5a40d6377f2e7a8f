//! The suite that every registry must pass: one check per sentence of the [`LeaseStore`] contract.
//!
//! It needs no particular async runtime: the caller says how to wait for a future.
//!
//! ```
//! use std::sync::Arc;
//! use leafid::blocking::block_on;
//! use leafid::store::MemoryLeaseStore;
//! use leafid::store::lease_conformance::{LeaseHandles, run_all};
//!
//! let passed = run_all(
//!     |future| block_on(future),
//!     || async {
//!         let store = Arc::new(MemoryLeaseStore::new());
//!         LeaseHandles { first: store.clone(), second: store }
//!     },
//! );
//! assert!(passed.unwrap() >= 25);
//! ```

mod bind;
mod claims;
mod concurrency;
mod counting_store;
mod identity;
mod reporting;
mod rows;
mod swap;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

pub use crate::store::check::Failures;

use super::{LeaseKey, LeaseRecord, LeaseStore, LeaseSwap};
use crate::store::BoxFuture;
use crate::store::check::{BlockOn, Outcome, chain, check, run_checks, same, wait};
use crate::worker_id::WorkerId;

/// Two handles on one fresh and empty registry, as two processes would have them.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::{MemoryLeaseStore, lease_conformance::LeaseHandles};
///
/// let store = Arc::new(MemoryLeaseStore::new());
/// let handles = LeaseHandles { first: store.clone(), second: store };
/// # drop(handles);
/// ```
#[derive(Clone)]
pub struct LeaseHandles {
    /// One process.
    pub first: Arc<dyn LeaseStore>,
    /// Another process on the same rows. For a store that cannot be opened twice, the same handle.
    pub second: Arc<dyn LeaseStore>,
}

impl fmt::Debug for LeaseHandles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseHandles")
    }
}

/// Runs every check, each on a registry of its own, and returns how many there were.
///
/// `block_on` waits for a future; it is called from several threads at once. `make` gives a
/// fresh and empty registry.
///
/// # Errors
///
/// [`Failures`] names every check that the store did not pass.
pub fn run_all<B, M, F>(block_on: B, make: M) -> Result<usize, Failures>
where
    B: Fn(BoxFuture<'_, ()>) + Sync,
    M: Fn() -> F,
    F: Future<Output = LeaseHandles> + Send,
{
    let checks = [
        bind::CHECKS,
        identity::CHECKS,
        rows::CHECKS,
        swap::CHECKS,
        reporting::CHECKS,
        concurrency::CHECKS,
    ];
    run_checks(checks.into_iter().flatten(), &block_on, make)
}

/// Runs servers on the store, each check on a registry of its own: they claim, lose, give back and
/// take over worker ids. For a store that passes [`run_all`]. Returns how many checks there were.
///
/// # Errors
///
/// [`Failures`] names every check that did not pass.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::blocking::block_on;
/// use leafid::store::MemoryLeaseStore;
/// use leafid::store::lease_conformance::{LeaseHandles, run_claims};
///
/// let passed = run_claims(
///     |future| block_on(future),
///     || async {
///         let store = Arc::new(MemoryLeaseStore::new());
///         LeaseHandles { first: store.clone(), second: store }
///     },
/// );
/// assert_eq!(passed.unwrap(), 6);
/// ```
pub fn run_claims<B, M, F>(block_on: B, make: M) -> Result<usize, Failures>
where
    B: Fn(BoxFuture<'_, ()>) + Sync,
    M: Fn() -> F,
    F: Future<Output = LeaseHandles> + Send,
{
    run_checks(claims::CHECKS, &block_on, make)
}

type Check = crate::store::check::Check<LeaseHandles>;

/// A time to lease up to, in milliseconds since 1970-01-01T00:00:00Z.
const UNTIL_MS: u64 = 1_900_000_000_000;

/// The largest epoch.
const EPOCH_MAX: u64 = i64::MAX as u64;

/// How often a claim is tried before the store counts as one that refuses claims.
const CLAIM_TRIES: usize = 200;

/// A first claim of this holder; its worker id is set by [`claim`].
fn first_claim(holder: impl fmt::Display) -> LeaseRecord {
    LeaseRecord {
        worker: WorkerId::new(0),
        epoch: 1,
        holder: holder.to_string(),
        address: "10.0.0.5:8080".into(),
        until_ms: UNTIL_MS,
    }
}

fn store_of(handles: &LeaseHandles, caller: u64) -> &dyn LeaseStore {
    if caller.is_multiple_of(2) {
        &*handles.first
    } else {
        &*handles.second
    }
}

/// All rows by ascending worker id, after checking that none has two.
async fn rows(store: &dyn LeaseStore) -> Result<Vec<LeaseRecord>, String> {
    let rows = store.leases().await;
    let mut rows = rows.map_err(|error| format!("leases: {}", chain(&error)))?;
    rows.sort_by_key(|row| row.worker);
    match rows
        .windows(2)
        .find(|pair| pair[0].worker == pair[1].worker)
    {
        Some(pair) => Err(format!("one worker id has two rows: {pair:?}")),
        None => Ok(rows),
    }
}

/// The row of a worker id, if it has one.
async fn row(store: &dyn LeaseStore, worker: WorkerId) -> Result<Option<LeaseRecord>, String> {
    let rows = rows(store).await?;
    Ok(rows.into_iter().find(|row| row.worker == worker))
}

async fn swap(
    store: &dyn LeaseStore,
    expected: Option<LeaseKey>,
    record: &LeaseRecord,
) -> Result<bool, String> {
    let swap = LeaseSwap {
        expected,
        record: record.clone(),
    };
    let swapped = store.swap(&swap).await;
    swapped.map_err(|error| format!("{swap:?}: {}", chain(&error)))
}

/// Writes a row with the smallest available worker id, and returns it. A registry that shares its
/// numbers with others may refuse one and offer another, so it is listed again each time.
async fn claim(store: &dyn LeaseStore, content: &LeaseRecord) -> Result<LeaseRecord, String> {
    for _ in 0..CLAIM_TRIES {
        let (worker, expected) = smallest_free(&rows(store).await?);
        let record = LeaseRecord {
            worker,
            ..content.clone()
        };
        if swap(store, expected, &record).await? {
            return Ok(record);
        }
    }
    Err(format!(
        "{CLAIM_TRIES} claims in a row, each of the smallest free worker id, are refused"
    ))
}

/// The smallest worker id without a holder, and the key of its row if it has one. The rows are in
/// ascending order.
fn smallest_free(rows: &[LeaseRecord]) -> (WorkerId, Option<LeaseKey>) {
    (0..)
        .map(WorkerId::new)
        .find_map(|worker| {
            let at = rows.binary_search_by_key(&worker, |row| row.worker);
            match at.ok().map(|at| &rows[at]) {
                None => Some((worker, None)),
                Some(row) => is_free(row).then(|| (worker, Some(row.key()))),
            }
        })
        .expect("there are more worker ids than rows")
}

/// Whether a row exists that was never claimed.
fn is_free(row: &LeaseRecord) -> bool {
    row.epoch == 0 && row.holder.is_empty() && row.until_ms == 0
}

/// Checks that both handles return this row.
async fn shows(handles: &LeaseHandles, wanted: &LeaseRecord) -> Outcome {
    for (handle, store) in [("first", &handles.first), ("second", &handles.second)] {
        let what = format!("the row through the {handle} handle");
        let seen = row(&**store, wanted.worker).await?;
        same(&what, &seen.as_ref(), &Some(wanted))?;
    }
    Ok(())
}

/// Checks that both handles return exactly these rows.
async fn unchanged(handles: &LeaseHandles, wanted: &Vec<LeaseRecord>) -> Outcome {
    same("the rows", &rows(&*handles.first).await?, wanted)?;
    same("the rows elsewhere", &rows(&*handles.second).await?, wanted)
}
