//! `LeaseStore`: who holds which worker id, and up to when. The contract; what is done with it is
//! decided in `registry/`.
//!
//! A lease is a range of time that ids of a worker id may carry. A server issues only below the
//! `until` that the store acknowledged, and whoever takes the worker id next starts at that
//! `until` or above. So it does not matter whether the former holder is dead, paused or cut off:
//! it owns only what nobody else can get.

#[cfg(feature = "conformance")]
pub mod conformance;

use super::{StoreReport, StoreResult};
use crate::worker_id::WorkerId;

/// A durable place where worker ids are leased. **Thread-safe**; many processes share one.
///
/// The contract, checked by the suite in `store/lease/conformance.rs`:
///
/// - [`swap`](Self::swap) is a compare-and-set: of many calls that expect the same, exactly one
///   answers `true`, and it answers only once the change is **durable**.
/// - A row is never removed by anybody but an operator.
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
    /// Ties this registry to one layout: keeps `layout` if none was kept before, and answers the
    /// one that is kept. Servers with different layouts must not share worker ids, because their
    /// ids could be equal. Of many first calls at once one wins, and all answer that one.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String>;

    /// The name of this registry, up to [`IDENTITY_LEN_MAX`] ASCII characters without spaces: what
    /// was made at random at the first call and is kept beside the rows, so that it survives a
    /// fail-over, and another registry, another pool or one that was emptied has another. Of many
    /// first calls at once one wins, and all answer that one. To be called after
    /// [`bind`](Self::bind).
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn identity(&self) -> StoreResult<'_, String>;

    /// Where it is looked for: what its settings say of the server and of the pool in it, without
    /// a password. No call is made. Two handles with the same text look in the same place, of
    /// which only [`identity`](Self::identity) tells whether it is still the same registry.
    fn location(&self) -> String;

    /// All rows, in any order. A number that belongs to somebody who follows other rules, such as
    /// a server of Java Leaf, is a row with `until_ms` at [`LeaseRecord::FOREVER`].
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>>;

    /// The row of one worker id, as [`leases`](Self::leases) would show it now; `None` if it has
    /// none. Each holder asks for its own row every few seconds, so this should cost little however
    /// many rows there are.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>>;

    /// Writes a row if it still is as the caller saw it; `false` if it is not, and then nothing
    /// was written.
    ///
    /// A registry that shares its numbers with others, such as servers of Java Leaf, may be unable
    /// to create just this number now. It answers `false` too, and rows that nobody holds may have
    /// come into being: epoch 0, no holder, `until_ms` 0. The caller lists again, and swaps one of
    /// those or creates the smallest number without a row, which is to be had.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError); the outcome is unknown then.
    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool>;

    /// Tells others who read this registry by rules of their own that the holder of this row
    /// lives, and the time its clock shows. Where nobody does, nothing is done. No row changes,
    /// and no swap is refused because of it.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()>;

    /// What the store's own clock shows, in milliseconds since 1970-01-01T00:00:00Z; `None` where
    /// it has none, or only that of this process.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError).
    fn clock_ms(&self) -> StoreResult<'_, Option<u64>>;

    /// Says what the store is and which of its settings could lose an acknowledged change.
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
    /// Which worker id. One row each.
    pub worker: WorkerId,
    /// How often the worker id was claimed; the first claim makes it 1. At most 2^63 - 1.
    pub epoch: u64,
    /// Who claimed it last: the name in its journal, up to 128 ASCII characters without spaces. A
    /// holder that follows other rules may be called anything.
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

/// A name for a registry that was just found without one: 128 random bits.
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
    /// The `until_ms` of a worker id that is not to be had.
    pub const FOREVER: u64 = i64::MAX as u64;

    /// What a change expects of this row.
    #[must_use]
    pub const fn key(&self) -> LeaseKey {
        LeaseKey {
            epoch: self.epoch,
            until_ms: self.until_ms,
        }
    }
}

/// What tells one state of a row from every other.
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
    /// How the row must be; `None`: there must be none.
    pub expected: Option<LeaseKey>,
    /// How it shall be.
    pub record: LeaseRecord,
}
