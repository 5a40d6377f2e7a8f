//! `Journal`: what a server writes down for itself about its worker id. The contract; a file of
//! this kind is in `leafid-stores`.

use std::sync::{Arc, Mutex, PoisonError};

use super::StoreResult;
use crate::worker_id::WorkerId;

/// A durable memory of one process, that outlives it. **Thread-safe.**
///
/// With it a server that starts again takes its own worker id back, goes on issuing inside its
/// reservation while the registry is down, and never issues at a time that it may have used
/// before.
///
/// - [`write`](Self::write) answers only once the record is **durable** (fsynced), and replaces
///   the former one whole or not at all.
/// - No second process may open the journal while one has it open.
///
/// # Example
///
/// ```
/// use leafid::blocking::block_on;
/// use leafid::store::{Journal, JournalRecord, MemoryJournal};
///
/// let journal = MemoryJournal::new();
/// let record = JournalRecord { holder: "6f1c".into(), layout: "leaf".into(), lease: None };
/// block_on(journal.write(&record))?;
/// assert_eq!(block_on(journal.read())?, Some(record));
/// # Ok::<(), leafid::store::StoreError>(())
/// ```
pub trait Journal: Send + Sync + 'static {
    /// The record that was written last; `None` if none ever was.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError), also when the record is damaged: it must not be taken
    /// for missing.
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>>;

    /// Replaces the record, durably.
    ///
    /// # Errors
    ///
    /// [`StoreError`](super::StoreError); which record is there is unknown then, and no further
    /// write may claim to be durable.
    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()>;
}

/// What a journal remembers.
///
/// # Example
///
/// See [`Journal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// The name under which this server claims worker ids; random, made once.
    pub holder: String,
    /// The layout of its ids, as text.
    pub layout: String,
    /// The worker id it held last.
    pub lease: Option<JournalLease>,
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
///     until_ms: 1_900_003_600_000,
///     acknowledged: true,
///     below_ms: 1_900_000_003_000,
///     written_ms: 1_900_000_000_000,
/// };
/// assert!(lease.below_ms <= lease.until_ms);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLease {
    /// Which worker id.
    pub worker: WorkerId,
    /// The epoch of its row when it was claimed.
    pub epoch: u64,
    /// Where the reservation ends. In milliseconds since 1970-01-01T00:00:00Z, as the next two.
    pub until_ms: u64,
    /// Whether the registry has acknowledged that end. A claim is written down before it is made;
    /// until then nothing may be issued on the strength of it.
    pub acknowledged: bool,
    /// All ids issued so far carry times below this one.
    pub below_ms: u64,
    /// What this server took for the time when it wrote this.
    pub written_ms: u64,
}

/// A journal in memory, for tests and for programs that take a fresh worker id at each start.
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
