//! Gives a worker id back, so that others need not wait for the end of its lease.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};

use super::calls::Access;
use super::driver::DriverState;
use super::{Shared, claim};
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{JournalLease, LeaseRecord, StoreError};

impl DriverState {
    /// Stops issuing, and gives back the unused rest of the lease.
    pub(super) async fn release(&mut self, lease: Lease) {
        let used_tick = self.shared.core.state.halt();
        let layout = self.shared.core.options.layout;
        // A lease that was never granted is unused from its start.
        let used_ms = used_tick.map_or(0, |tick| layout.unix_ms_of(tick).unsigned_abs());
        self.shared.lock().lease = None;
        let given_back = self.give_back(lease, used_ms.max(lease.start_ms)).await;
        let now_ms = self.shared.core.timeline.now_ms();
        self.shared.lock().on_release(lease, &given_back, now_ms);
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
        let seen = read_twice(&shared, lease).await?;
        // From here on another server may get the rest of it.
        let noted = self.note_end(lease, used_ms, false).await;
        let Some(journal) = &self.journal else {
            return Ok(false);
        };
        // Another server has it, or the row is gone: nothing is leased to this one any more.
        let Some(seen) = seen.filter(|row| claim::is_ours(row, &lease, journal)) else {
            return Ok(false);
        };
        noted?;
        let address = &shared.options.address;
        let given_back = claim::release(store, lease, used_ms, journal, address, seen);
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

/// Reads our own row, to see whether the registry answers. If the first read fails or is late, a
/// second one begins: the first may use a connection that died while idle. A registry that is only
/// slow answers either.
async fn read_twice(shared: &Shared, lease: Lease) -> Result<Option<LeaseRecord>, StoreError> {
    let late = shared.sleep(shared.options.row_read_interval());
    let first = Box::pin(read_own_row(shared, lease));
    match select(first, pin!(late)).await {
        Either::Left((Err(error), _)) if error.may_recover() => read_own_row(shared, lease).await,
        Either::Left((row, _)) => row,
        Either::Right(((), first)) => {
            let second = Box::pin(read_own_row(shared, lease));
            match select(first, second).await {
                Either::Left((Err(_), other)) | Either::Right((Err(_), other)) => other.await,
                Either::Left((row, _)) | Either::Right((row, _)) => row,
            }
        }
    }
}

async fn read_own_row(shared: &Shared, lease: Lease) -> Result<Option<LeaseRecord>, StoreError> {
    let row = shared.store()?.lease(lease.worker);
    let row = shared.within(shared.options.call_max, row).await;
    shared.note(Access::Read, row.as_ref().err());
    row
}
