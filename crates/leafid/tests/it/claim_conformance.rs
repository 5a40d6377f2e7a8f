//! The suite that runs servers on a registry: it passes on one that keeps the contract, and detects
//! the consequences of one that does not.

use std::sync::Arc;
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::lease_conformance::{Failures, LeaseHandles, run_claims};
use leafid::store::{
    LeaseRecord, LeaseStore, LeaseSwap, MemoryLeaseStore, StoreReport, StoreResult,
};
use leafid::{Clock, SystemClock, WorkerId};

/// The fault of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// It writes whatever the row is.
    Blind,
    /// It forgets the holder of a worker id.
    HolderLost,
    /// It keeps the larger end.
    UntilOnlyUp,
    /// Every worker id looks free, and can be claimed.
    Ended,
    /// It forgets where servers are.
    AddressLost,
}

use Fault::*;

struct Faulty {
    inner: MemoryLeaseStore,
    fault: Fault,
}

impl Faulty {
    async fn swap(&self, swap: &LeaseSwap) -> Result<bool, leafid::store::StoreError> {
        // Lets others run in between.
        SystemClock::new().sleep(Duration::from_millis(1)).await;
        let rows = self.inner.leases().await?;
        let row = rows.iter().find(|row| row.worker == swap.record.worker);
        let mut swap = swap.clone();
        match self.fault {
            Nothing => {}
            Blind | Ended => swap.expected = row.map(LeaseRecord::key),
            HolderLost => swap.record.holder = "somebody".into(),
            UntilOnlyUp => {
                let until_ms = row.map_or(0, |row| row.until_ms);
                swap.record.until_ms = swap.record.until_ms.max(until_ms);
            }
            AddressLost => swap.record.address = String::new(),
        }
        self.inner.swap(&swap).await
    }
}

impl LeaseStore for Faulty {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        self.inner.bind(layout)
    }

    fn identity(&self) -> StoreResult<'_, String> {
        self.inner.identity()
    }

    fn location(&self) -> String {
        self.inner.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(async {
            let mut rows = self.inner.leases().await?;
            if self.fault == Ended {
                rows.iter_mut().for_each(|row| row.until_ms = 0);
            }
            Ok(rows)
        })
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(async move {
            // Faults in changes must show in their effects.
            SystemClock::new().sleep(Duration::from_millis(5)).await;
            self.inner.lease(worker).await
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(Self::swap(self, swap))
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        self.inner.report(record, now_ms)
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        self.inner.clock_ms()
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.inner.inspect()
    }
}

fn run(fault: Fault) -> Result<usize, Failures> {
    run_claims(
        |future| block_on(future),
        || async move {
            let inner = MemoryLeaseStore::new();
            let store = Arc::new(Faulty { inner, fault });
            LeaseHandles {
                first: store.clone(),
                second: store,
            }
        },
    )
}

/// Each check, and a fault that it is meant for.
const FAULTS: &[(Fault, &str)] = &[
    (Blind, "fifty servers at once"),
    (Blind, "a lost worker id"),
    (HolderLost, "the same holder"),
    (UntilOnlyUp, "a released worker id"),
    (Ended, "an expired worker id"),
    (AddressLost, "no worker id left"),
];

#[test]
fn servers_keep_apart_on_a_registry_that_keeps_the_contract() {
    assert_eq!(run(Nothing).unwrap(), 6);
}

#[test]
fn servers_collide_on_a_registry_that_breaks_it() {
    for fault in [Blind, HolderLost, UntilOnlyUp, Ended, AddressLost] {
        let failures = run(fault).expect_err("a broken registry must not pass");
        for (_, expected) in FAULTS.iter().filter(|(of, _)| *of == fault) {
            assert!(failures.names().contains(expected), "{fault:?}: {failures}");
        }
    }
}
