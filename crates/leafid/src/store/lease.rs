//! `LeaseStore`: what a registry of worker ids must promise: the leases and their holders. The
//! contract; `registry/` decides how it is used.
//!
//! A lease is a range of time that ids of a worker id may carry. A server issues only below the
//! `until` that the store acknowledged, and the next holder of the worker id starts at that `until`
//! or above. So it does not matter whether the former holder is dead, paused or cut off: it owns
//! only what no other server can get.

#[cfg(feature = "conformance")]
pub mod conformance;

use super::{StoreReport, StoreResult};
use crate::worker_id::WorkerId;

/// A durable place where worker ids are leased. **Thread-safe**; many processes share one.
///
/// The contract, checked by the suite in `store/lease/conformance.rs`:
///
/// - [`swap`](Self::swap) is a compare-and-set: of many calls that expect the same row, exactly one
///   returns `true`, and it returns only once the change is **durable**.
/// - Only an operator ever removes a row.
/// - A store translates. It does not retry, cache or log; the registry's driver does.
/// - Every call ends in bounded time, with an error if need be. After an error of `swap` the
///   outcome is unknown.
///
/// # Example
///
/// ```
/// use leafid::WorkerId;
/// use leafid::blocking::block_on;
/// use leafid::store::{LeaseRecord, LeaseStore, LeaseSwap, MemoryLeaseStore};
///
/// let store = MemoryLeaseStore::new();
/// let record = LeaseRecord {
///     worker: WorkerId::new(0),
///     epoch: 1,
///     holder: "6f1c".into(),
///     address: "10.0.0.5:8080".into(),
///     until_ms: 1_900_000_000_000,
/// };
/// let claim = LeaseSwap { expected: None, record: record.clone() };
/// assert!(block_on(store.swap(&claim))?);
/// assert!(!block_on(store.swap(&claim))?);
/// assert_eq!(block_on(store.lease(record.worker))?, Some(record.clone()));
/// assert_eq!(block_on(store.leases())?, [record]);
/// # Ok::<(), leafid::store::StoreError>(())
/// ```
pub trait LeaseStore: Send + Sync + 'static {
    /// Ties this registry to one layout: stores `layout` if there was none before, and returns the
    /// stored one. Servers with different layouts must not share worker ids, because their ids
    /// could be equal. Of many first calls at once one wins, and all return that one.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String>;

    /// The name of this registry, up to [`IDENTITY_LEN_MAX`] ASCII characters without spaces: it is
    /// random, created by the first call and stored beside the rows, so that it survives a
    /// fail-over, and another registry, another pool or one that was emptied has another name. Of
    /// many first calls at once one wins, and all return that one. To be called after
    /// [`bind`](Self::bind).
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn identity(&self) -> StoreResult<'_, String>;

    /// Its location: the server and the pool in its settings, without a password. No call is made.
    /// Two handles with the same text use the same place; only [`identity`](Self::identity) shows
    /// whether it is still the same registry.
    fn location(&self) -> String;

    /// All rows, in any order. A number whose holder follows other rules, such as a server of Java
    /// Leaf, is a row with `until_ms` at [`LeaseRecord::FOREVER`].
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>>;

    /// The row of one worker id, as [`leases`](Self::leases) would return it now; `None` if it has
    /// none. Each holder reads its own row every few seconds, so this should cost little however
    /// many rows there are.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>>;

    /// Writes a row if it still is as expected; `false` if it is not, and then nothing was written.
    ///
    /// A registry that shares its numbers with others, such as servers of Java Leaf, may be unable
    /// to create just this number now. It returns `false` too, and may have created rows without a
    /// holder: epoch 0, no holder, `until_ms` 0. The caller lists again, and swaps one of those or
    /// creates the smallest number without a row, which is always possible.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError); the outcome is unknown then.
    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool>;

    /// Reports to readers with other rules that the holder of this row is alive, and its clock. If
    /// there are none, it does nothing. No row changes, and no swap is refused because of it.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()>;

    /// The store's own clock, in milliseconds since 1970-01-01T00:00:00Z; `None` if it has none, or
    /// only that of this process.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn clock_ms(&self) -> StoreResult<'_, Option<u64>>;

    /// Reports what the store is, and which of its settings could lose an acknowledged change.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn inspect(&self) -> StoreResult<'_, StoreReport>;
}

/// The row of a worker id.
///
/// # Example
///
/// See [`LeaseStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The worker id. There is one row for each.
    pub worker: WorkerId,
    /// How often the worker id was claimed; the first claim makes it 1. At most 2^63 - 1.
    pub epoch: u64,
    /// The last claimant: the name in its journal, up to 128 ASCII characters without spaces. A
    /// holder that follows other rules may have any name.
    pub holder: String,
    /// Where the holder serves HTTP, for people and for peers, up to 255 characters; may be
    /// empty.
    pub address: String,
    /// Ids of this worker id carry times below this one, in milliseconds since
    /// 1970-01-01T00:00:00Z, at most 2^63 - 1. The next holder starts here or above.
    pub until_ms: u64,
}

/// The longest [`LeaseStore::identity`], in characters.
///
/// # Example
///
/// ```
/// assert_eq!(leafid::store::IDENTITY_LEN_MAX, 128);
/// ```
pub const IDENTITY_LEN_MAX: usize = 128;

/// The identity of a registry that has none yet: 128 random bits.
///
/// # Example
///
/// ```
/// assert_ne!(leafid::store::new_identity(), leafid::store::new_identity());
/// ```
#[must_use]
pub fn new_identity() -> String {
    format!("{:032x}", fastrand::u128(..))
}

impl LeaseRecord {
    /// The `until_ms` of a worker id that can never be claimed.
    pub const FOREVER: u64 = i64::MAX as u64;

    /// The row as a compare-and-set expects it.
    #[must_use]
    pub const fn key(&self) -> LeaseKey {
        LeaseKey {
            epoch: self.epoch,
            until_ms: self.until_ms,
        }
    }
}

/// The fields that distinguish one state of a row from every other.
///
/// # Example
///
/// ```
/// use leafid::store::LeaseKey;
///
/// let seen = LeaseKey { epoch: 3, until_ms: 1_900_000_000_000 };
/// assert_ne!(seen, LeaseKey { epoch: 4, ..seen });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseKey {
    /// How often the worker id was claimed.
    pub epoch: u64,
    /// Where its range ends.
    pub until_ms: u64,
}

/// A change of one row, carried out only if the row is as expected.
///
/// # Example
///
/// See [`LeaseStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSwap {
    /// The expected row; `None`: there must be none.
    pub expected: Option<LeaseKey>,
    /// The new row.
    pub record: LeaseRecord,
}
