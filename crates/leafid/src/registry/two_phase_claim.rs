//! `TwoPhaseClaim`: a claim of a worker id in the journal, written before and after the call to the
//! registry, so that whatever fails in between, a row that it may have changed is known as ours.
//!
//! ```text
//! prepare ─► the registry swaps its row ─┬─► commit      the lease is in the journal
//!                                        ├─► roll_back   another server was faster: the journal as before
//!                                        └─► (dropped)   outcome unknown: the journal keeps the claim
//! ```
//!
//! Invariant: the journal holds a lease only once the registry has acknowledged it.

use super::driver::DriverState;
use crate::lease::Lease;
use crate::store::{JournalClaim, JournalLease, JournalRecord, StoreError};

/// A claim that is in the journal, and perhaps in the registry.
#[must_use]
pub(super) struct TwoPhaseClaim {
    /// The journal before the claim.
    former: JournalRecord,
    lease: Lease,
    nonce: u64,
}

impl TwoPhaseClaim {
    /// Writes to the journal that this lease is about to be claimed.
    pub(super) async fn prepare(
        driver: &mut DriverState,
        former: JournalRecord,
        lease: Lease,
    ) -> Result<Self, StoreError> {
        let claim = Self {
            former,
            lease,
            nonce: driver.nonce,
        };
        driver.write_record(claim.prepared()).await?;
        Ok(claim)
    }

    /// The registry has acknowledged the claim: writes the lease to the journal.
    pub(super) async fn commit(
        self,
        driver: &mut DriverState,
        now_ms: u64,
    ) -> Result<Lease, StoreError> {
        let layout = driver.shared.core.options.layout.to_string();
        driver.write_record(self.committed(layout, now_ms)).await?;
        Ok(self.lease)
    }

    /// Another server was faster: a row of that epoch is not ours, even if it has our name, because
    /// a copy of this server may have claimed it.
    pub(super) async fn roll_back(self, driver: &mut DriverState) -> Result<(), StoreError> {
        driver.write_record(self.former).await
    }

    fn prepared(&self) -> JournalRecord {
        JournalRecord {
            claim: Some(JournalClaim {
                worker: self.lease.worker,
                epoch: self.lease.epoch,
                nonce: self.nonce,
                from_ms: self.lease.start_ms,
            }),
            ..self.former.clone()
        }
    }

    fn committed(&self, layout: String, now_ms: u64) -> JournalRecord {
        let lease = JournalLease {
            worker: self.lease.worker,
            epoch: self.lease.epoch,
            nonce: self.nonce,
            until_ms: self.lease.until_ms,
            acknowledged: true,
            below_ms: self.lease.start_ms,
            written_ms: now_ms,
        };
        JournalRecord {
            claim: None,
            layout,
            ..self.former.with_lease(lease)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LeaseRecord;
    use crate::worker_id::WorkerId;

    const LEASE: Lease = Lease {
        worker: WorkerId::new(3),
        epoch: 5,
        start_ms: 1_000,
        until_ms: 4_000,
    };

    fn claim(former: JournalRecord) -> TwoPhaseClaim {
        TwoPhaseClaim {
            former,
            lease: LEASE,
            nonce: 77,
        }
    }

    /// The row in the registry once the claim succeeded.
    fn row(record: &JournalRecord, nonce: u64) -> LeaseRecord {
        LEASE.record(&record.row_holder(nonce), "")
    }

    /// Guards which rows a journal knows as its own in each phase.
    #[test]
    fn a_row_is_ours_from_the_claim_on() {
        let former = JournalRecord::new("me", "leaf");
        let claim = claim(former.clone());
        let ours = row(&former, 77);
        assert_eq!(former.owned_from_ms(&ours), None, "rolled back");
        assert_eq!(claim.prepared().owned_from_ms(&ours), Some(1_000));
        let committed = claim.committed("leaf".into(), 1_500);
        assert_eq!(committed.owned_from_ms(&ours), Some(1_000));
        for record in [claim.prepared(), committed] {
            let of_copy = row(&record, 78);
            assert_eq!(record.owned_from_ms(&of_copy), None, "a copy's");
        }
    }

    /// Guards that a claim gives a right to issue only once it is committed, and that the bounds of
    /// the previous worker id are kept.
    #[test]
    fn a_lease_is_noted_once_it_is_acknowledged() {
        let before = JournalLease {
            worker: WorkerId::new(2),
            epoch: 9,
            nonce: 70,
            until_ms: 3_000,
            acknowledged: true,
            below_ms: 2_500,
            written_ms: 900,
        };
        let former = JournalRecord::new("me", "leaf").with_lease(before);
        let claim = claim(former);
        assert_eq!(claim.prepared().lease, Some(before));
        let committed = claim.committed("wide".into(), 1_500);
        assert_eq!(committed.claim, None);
        assert_eq!(committed.layout, "wide");
        assert_eq!(committed.above_ms(), 2_500);
        let lease = committed.lease.expect("the lease");
        assert_eq!((lease.worker, lease.epoch), (LEASE.worker, LEASE.epoch));
        assert_eq!((lease.below_ms, lease.until_ms), (1_000, 4_000));
        assert!(lease.acknowledged);
    }
}
