//! `Journal`: a server's durable record of its worker id. The contract; `leafid-stores` has an
//! implementation in a file.

use std::sync::{Arc, Mutex, PoisonError};

use super::{LeaseRecord, StoreResult};
use crate::worker_id::WorkerId;

/// The durable memory of one process, which outlives it. **Thread-safe.**
///
/// With it a restarted server claims its own worker id again, continues to issue within its lease
/// while the registry is down, and never issues at a time that it may have used before.
///
/// - [`write`](Self::write) returns only once the record is **durable** (fsynced), and replaces the
///   former one completely or not at all.
/// - No second process may open the journal while one has it open.
/// - A copy of a journal, if it can be distinguished from the original, is read as
///   [`JournalRecord::of_copy`].
///
/// # Example
///
/// ```
/// use leafid::blocking::block_on;
/// use leafid::store::{Journal, JournalRecord, MemoryJournal};
///
/// let journal = MemoryJournal::new();
/// let record = JournalRecord::new("6f1c", "leaf");
/// block_on(journal.write(&record))?;
/// assert_eq!(block_on(journal.read())?, Some(record));
/// # Ok::<(), leafid::store::StoreError>(())
/// ```
pub trait Journal: Send + Sync + 'static {
    /// The record that was written last; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError), for example if the record is damaged: it must not count
    /// as missing.
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>>;

    /// Replaces the record, durably.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError); which of the two records is stored is unknown then. After
    /// a retryable error another write may succeed. Any other error is final: after a flush that
    /// failed, no further write may claim to be durable.
    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()>;
}

/// The content of a journal.
///
/// # Example
///
/// See [`Journal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// The name under which this server claims worker ids; random, created once. Empty: one is to
    /// be created.
    pub holder: String,
    /// The layout of its ids, as text.
    pub layout: String,
    /// The registry of the lease and the claim; `None` if it was not recorded.
    pub registry: Option<JournalRegistry>,
    /// All ids issued with worker ids of other registries carry times below this one. In
    /// milliseconds since 1970-01-01T00:00:00Z, as the next field.
    pub floor_ms: u64,
    /// The same for this registry, for worker ids held before the present one.
    pub former_ms: u64,
    /// The worker id it held last.
    pub lease: Option<JournalLease>,
    /// The claim whose outcome it does not know.
    pub claim: Option<JournalClaim>,
}

/// The registry that a journal's lease comes from. A lease from another one gives no right to
/// issue.
///
/// # Example
///
/// ```
/// use leafid::store::JournalRegistry;
///
/// let registry = JournalRegistry { identity: "6f1c".into(), location: "redis://db pool a".into() };
/// assert_ne!(registry.identity, registry.location);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRegistry {
    /// Its [`identity`](super::LeaseStore::identity).
    pub identity: String,
    /// Where it was found: its [`location`](super::LeaseStore::location).
    pub location: String,
}

/// The lease in a journal.
///
/// # Example
///
/// ```
/// use leafid::WorkerId;
/// use leafid::store::JournalLease;
///
/// let lease = JournalLease {
///     worker: WorkerId::new(3),
///     epoch: 7,
///     nonce: 0x6f1c,
///     until_ms: 1_900_003_600_000,
///     acknowledged: true,
///     below_ms: 1_900_000_003_000,
///     written_ms: 1_900_000_000_000,
/// };
/// assert!(lease.below_ms <= lease.until_ms);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLease {
    /// The worker id.
    pub worker: WorkerId,
    /// The epoch of its row since it was claimed.
    pub epoch: u64,
    /// The process that claimed it, as a random number; 0 if none is in the row.
    pub nonce: u64,
    /// When the lease ends. In milliseconds since 1970-01-01T00:00:00Z, as the next two fields.
    pub until_ms: u64,
    /// Whether all of it up to that end is ours: the registry has acknowledged it, and none of it
    /// was given back.
    pub acknowledged: bool,
    /// All ids issued so far carry times below this one.
    pub below_ms: u64,
    /// This server's time when it wrote this.
    pub written_ms: u64,
}

/// A claim in a journal: written before it is made, so that a row that it may have changed is known
/// as ours. It gives no right to issue.
///
/// # Example
///
/// ```
/// use leafid::WorkerId;
/// use leafid::store::JournalClaim;
///
/// let worker = WorkerId::new(3);
/// let claim = JournalClaim { worker, epoch: 8, nonce: 0x6f1d, from_ms: 1_900_000_003_000 };
/// assert_eq!(claim.worker, worker);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalClaim {
    /// The worker id.
    pub worker: WorkerId,
    /// The epoch of the row if the claim succeeded.
    pub epoch: u64,
    /// The process that made it, as a random number.
    pub nonce: u64,
    /// When its lease starts, in milliseconds since 1970-01-01T00:00:00Z.
    pub from_ms: u64,
}

impl JournalRecord {
    /// The record of a server that never held a worker id.
    ///
    /// # Example
    ///
    /// See [`Journal`].
    #[must_use]
    pub fn new(holder: impl Into<String>, layout: impl Into<String>) -> Self {
        Self {
            holder: holder.into(),
            layout: layout.into(),
            registry: None,
            floor_ms: 0,
            former_ms: 0,
            lease: None,
            claim: None,
        }
    }

    /// What a copy of a journal is good for: its server issues above what the original has
    /// recorded, and is otherwise another server, because the original may be in use.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::JournalRecord;
    ///
    /// let copy = JournalRecord::new("6f1c", "leaf").of_copy();
    /// assert_eq!(copy, JournalRecord::new("", "leaf"));
    /// ```
    #[must_use]
    pub fn of_copy(self) -> Self {
        Self {
            holder: String::new(),
            ..self.of_another(None)
        }
    }

    /// The record of a server that moves to this registry: a lease from elsewhere gives no right
    /// here.
    pub(crate) fn of_another(self, registry: Option<JournalRegistry>) -> Self {
        Self {
            registry,
            floor_ms: self.floor_ms.max(self.above_ms()),
            former_ms: 0,
            lease: None,
            claim: None,
            ..self
        }
    }

    /// All ids issued with worker ids of this registry carry times below this one.
    pub(crate) fn above_ms(&self) -> u64 {
        let below_ms = self.lease.map_or(0, |lease| lease.below_ms);
        self.former_ms.max(below_ms)
    }

    /// The same with another lease.
    pub(crate) fn with_lease(&self, lease: JournalLease) -> Self {
        let is_former = |former: &JournalLease| former.worker != lease.worker;
        let former_ms = self
            .lease
            .filter(is_former)
            .map_or(0, |former| former.below_ms);
        Self {
            former_ms: self.former_ms.max(former_ms),
            lease: Some(lease),
            ..self.clone()
        }
    }

    /// The holder in a row that this process of the server claimed.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::JournalRecord;
    ///
    /// let record = JournalRecord::new("6f1c", "leaf");
    /// assert_eq!(record.row_holder(0x1f), "6f1c.000000000000001f");
    /// ```
    #[must_use]
    pub fn row_holder(&self, nonce: u64) -> String {
        match nonce {
            0 => self.holder.clone(),
            nonce => format!("{}.{nonce:016x}", self.holder),
        }
    }

    /// Whether this is the row of our lease, not claimed by another server since.
    fn is_of_lease(&self, row: &LeaseRecord, lease: JournalLease) -> bool {
        // A journal without nonces may be one claim ahead of the registry.
        let is_epoch = row.epoch == lease.epoch || lease.nonce == 0 && row.epoch + 1 == lease.epoch;
        row.worker == lease.worker && is_epoch && row.holder == self.row_holder(lease.nonce)
    }

    /// Whether our claim of unknown outcome succeeded, and made this row.
    pub(crate) fn is_of_claim(&self, row: &LeaseRecord) -> bool {
        self.claim.is_some_and(|claim| {
            (row.worker, row.epoch) == (claim.worker, claim.epoch)
                && row.holder == self.row_holder(claim.nonce)
        })
    }

    /// From when on ids of this row are ours, if it is. Name and epoch are not enough: a copy of
    /// this journal has them too, but not the number of the process that claimed it.
    pub(crate) fn owned_from_ms(&self, row: &LeaseRecord) -> Option<u64> {
        let lease = self.lease.filter(|lease| lease.worker == row.worker);
        let claimed_ms = self
            .claim
            .filter(|_| self.is_of_claim(row))
            .map(|claim| claim.from_ms);
        let is_lease = lease.is_some_and(|lease| self.is_of_lease(row, lease));
        let below_ms = lease.map_or(0, |lease| lease.below_ms);
        (is_lease || claimed_ms.is_some()).then(|| below_ms.max(claimed_ms.unwrap_or(0)))
    }
}

/// A journal in memory, for tests and for programs that claim a fresh worker id at each start.
/// **Thread-safe**; a clone is another handle on the same record.
///
/// # Example
///
/// See [`Journal`].
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    record: Arc<Mutex<Option<JournalRecord>>>,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Journal for MemoryJournal {
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>> {
        Box::pin(async {
            let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(record.clone())
        })
    }

    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let mut kept = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(record.clone());
            Ok(())
        })
    }
}
