//! Gives a worker id back, so that others need not wait for the end of its lease.

use std::sync::Arc;

use super::calls::Access;
use super::driver::DriverState;
use super::{Shared, claim};
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{JournalLease, StoreError};

impl DriverState {
    /// Stops issuing, and gives back the unused rest of the lease.
    pub(super) async fn release(&mut self, lease: Lease) {
        let used_tick = self.shared.core.state.halt();
        let layout = self.shared.core.options.layout;
        // A lease that was never granted is unused from its start.
        let used_ms = used_tick.map_or(0, |tick| layout.unix_ms_of(tick).unsigned_abs());
        self.shared.lock().lease = None;
        let given_back = self.give_back(lease, used_ms.max(lease.start_ms)).await;
        self.shared.lock().on_release(lease, &given_back);
        match given_back {
            Ok(true) => {
                let worker = lease.worker;
                self.shared.emit(&Event::WorkerReleased { worker });
            }
            Ok(false) => {}
            Err(error) => self.shared.emit(&Event::WorkerKept {
                lease,
                error: &error,
            }),
        }
    }

    /// Returns whether there was something to give back.
    async fn give_back(&mut self, lease: Lease, used_ms: u64) -> Result<bool, StoreError> {
        // The journal first, so that a restart begins right after the last id.
        self.note_end(lease, used_ms, true).await?;
        let shared = Arc::clone(&self.shared);
        let Some(store) = shared.store.as_deref() else {
            return Ok(false);
        };
        // While the registry is down nothing is given back, so that a restart can continue without
        // it.
        // Asked twice, because the first call may use a connection that died while idle.
        let mut is_there = read_own_row(&shared, lease).await;
        if is_there.as_ref().is_err_and(StoreError::may_recover) {
            is_there = read_own_row(&shared, lease).await;
        }
        is_there?;
        // From here on another server may get the rest of it.
        self.note_end(lease, used_ms, false).await?;
        let Some(journal) = &self.journal else {
            return Ok(false);
        };
        let address = &shared.options.address;
        let given_back = claim::release(store, lease, used_ms, journal, address);
        shared.changing(given_back).await
    }

    /// Writes to the journal where the ids of its lease end, and whether the rest is still ours.
    async fn note_end(
        &mut self,
        lease: Lease,
        used_ms: u64,
        is_ours: bool,
    ) -> Result<(), StoreError> {
        let last = self.journal.as_ref().and_then(|journal| journal.lease);
        // A lease that was never granted may not be in the journal, which then has another one.
        let is_noted =
            |last: &JournalLease| (last.worker, last.epoch) == (lease.worker, lease.epoch);
        let Some(last) = last.filter(is_noted) else {
            return Ok(());
        };
        let noted = JournalLease {
            below_ms: used_ms,
            written_ms: self.shared.core.timeline.now_ms(),
            acknowledged: is_ours && last.acknowledged,
            ..last
        };
        self.write_journal(noted).await
    }
}

/// Reads our own row, to see whether the registry answers.
async fn read_own_row(shared: &Shared, lease: Lease) -> Result<(), StoreError> {
    let row = shared.store()?.lease(lease.worker);
    let row = shared.within(shared.options.row_read_interval(), row).await;
    shared.note(Access::Read, row.as_ref().err());
    row.map(drop)
}
