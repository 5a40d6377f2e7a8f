//! `RowsSeen`: which worker ids had a row when the registry was last read, so that a decoded id can
//! be checked without a call.

use std::sync::{Mutex, PoisonError};

use super::WorkerRegistry;
use crate::store::LeaseRecord;
use crate::worker_id::WorkerId;

/// How far the times in ids of other servers may be ahead of ours.
const CLOCK_DIFFERENCE_MS: i64 = 60_000;

/// The worker ids of the last list of rows.
#[derive(Debug, Default)]
pub(super) struct RowsSeen(Mutex<Option<Seen>>);

#[derive(Debug)]
struct Seen {
    /// When reading began, in milliseconds since 1970.
    read_ms: u64,
    /// Ascending.
    workers: Vec<WorkerId>,
}

impl RowsSeen {
    /// Keeps a list of rows that was read from this time on.
    pub(super) fn keep(&self, read_ms: u64, rows: &[LeaseRecord]) {
        let mut workers: Vec<WorkerId> = rows.iter().map(|row| row.worker).collect();
        workers.sort_unstable();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref().is_none_or(|seen| seen.read_ms <= read_ms) {
            *seen = Some(Seen { read_ms, workers });
        }
    }

    /// Adds a row that this process wrote.
    pub(super) fn add(&self, worker: WorkerId) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = seen.as_mut()
            && let Err(place) = seen.workers.binary_search(&worker)
        {
            seen.workers.insert(place, worker);
        }
    }

    /// Whether a worker id had a row at a time; `None` if that is not known. A row comes before the
    /// first id of its worker id and only an operator removes it, so a list that was read after
    /// that time tells.
    fn had_row(&self, worker: WorkerId, unix_ms: i64) -> Option<bool> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.as_ref()?;
        if seen.workers.binary_search(&worker).is_ok() {
            return Some(true);
        }
        let latest_ms = unix_ms.saturating_add(CLOCK_DIFFERENCE_MS);
        let is_older = latest_ms < i64::try_from(seen.read_ms).unwrap_or(i64::MAX);
        is_older.then_some(false)
    }
}

impl WorkerRegistry {
    /// Whether the registry had a row for a worker id at a time, in milliseconds since
    /// 1970-01-01T00:00:00Z. Makes no call: it tells from the rows that this process read last, when
    /// it claimed its worker id or called [`leases`](Self::leases). `None` if they were read before
    /// that time, or up to a minute after it, as clocks may differ.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryJournal, MemoryLeaseStore};
    /// use leafid::{WorkerId, WorkerRegistry, blocking};
    ///
    /// let (registry, _driver) = WorkerRegistry::builder()
    ///     .store(MemoryLeaseStore::new())
    ///     .journal(MemoryJournal::new())
    ///     .build();
    /// let of_2026 = 1_767_225_600_000;
    /// assert_eq!(registry.had_row(WorkerId::new(7), of_2026), None);
    /// blocking::block_on(registry.leases())?;
    /// assert_eq!(registry.had_row(WorkerId::new(7), of_2026), Some(false));
    /// # Ok::<(), leafid::store::StoreError>(())
    /// ```
    #[must_use]
    pub fn had_row(&self, worker: WorkerId, unix_ms: i64) -> Option<bool> {
        let shared = &self.handle.shared;
        shared.rows_seen.had_row(worker, unix_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(worker: u32) -> LeaseRecord {
        LeaseRecord {
            worker: WorkerId::new(worker),
            epoch: 1,
            holder: String::new(),
            address: String::new(),
            until_ms: 0,
        }
    }

    /// Guards that a worker id is called unknown only for times that the list covers.
    #[test]
    fn only_a_later_list_tells_that_there_was_no_row() {
        let seen = RowsSeen::default();
        let had_row = |worker, unix_ms| seen.had_row(WorkerId::new(worker), unix_ms);
        assert_eq!(had_row(1, 0), None);
        seen.keep(1_000_000, &[row(7), row(1)]);
        assert_eq!(
            (had_row(1, 5), had_row(7, i64::MAX)),
            (Some(true), Some(true))
        );
        assert_eq!(had_row(2, 939_999), Some(false));
        assert_eq!((had_row(2, 940_000), had_row(2, i64::MAX)), (None, None));
        seen.add(WorkerId::new(2));
        assert_eq!(had_row(2, 939_999), Some(true));
        // An older list, which another call read meanwhile, changes nothing.
        seen.keep(999_999, &[]);
        assert_eq!(had_row(7, 0), Some(true));
        seen.keep(2_000_000, &[row(2)]);
        assert_eq!((had_row(2, 0), had_row(7, 0)), (Some(true), Some(false)));
    }
}
