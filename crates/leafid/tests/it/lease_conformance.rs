//! The suite for registries: those that keep the contract pass it, deliberately broken ones do not.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::lease_conformance::{Failures, LeaseHandles, run_all};
use leafid::store::{
    BoxFuture, LeaseRecord, LeaseStore, LeaseSwap, MemoryLeaseStore, StoreReport, StoreResult,
};
use leafid::{Clock, ManualClock, WorkerId};

use crate::registry_quirks::Quirk::*;
use crate::registry_quirks::{Quirk, with_quirk};

fn run(make: impl Fn() -> LeaseHandles) -> Result<usize, Failures> {
    run_all(
        |future| block_on(future),
        || {
            let handles = make();
            async move { handles }
        },
    )
}

fn twice(store: impl LeaseStore) -> LeaseHandles {
    let first = Arc::new(store);
    let second = first.clone();
    LeaseHandles { first, second }
}

/// Guards that the registry in memory keeps the contract.
#[test]
fn memory_leases_conform() {
    run(|| twice(MemoryLeaseStore::new())).unwrap();
}

/// Guards that the suite requires no more than the contract: for example the last rows of a table
/// may come first, and a registry that assigns numbers in turn may refuse one out of turn.
#[test]
fn quirks_that_the_contract_allows_conform() {
    for is in [NumbersInTurn, RowsInDisorder, ReportRefused] {
        run(|| with_quirk(is)).unwrap_or_else(|failures| panic!("{is:?}: {failures}"));
    }
}

/// Faults, and the check meant for each.
const FAULTS: &[(Quirk, &str)] = &[
    (EpochIgnored, "a stale epoch"),
    (UntilIgnored, "a stale until_ms"),
    (KeyAsDouble, "a stale until_ms"),
    (KeyIn32Bits, "a stale epoch"),
    (ReadThenWrite, "fifty swaps at once"),
    (ReadThenWrite, "fifty creates at once"),
    (ReadThenWrite, "fifty first claims"),
    (ReadThenWrite, "no change is lost"),
    (CreateOverwrites, "a create on a row"),
    (CreateOfNoRow, "a swap of no row"),
    (AddressForgotten, "every field comes back"),
    (HolderKept, "every field is replaced"),
    (UntilOnlyUp, "a release"),
    (SameIsRefused, "the same again"),
    (AlwaysFalse, "fifty first claims"),
    (OneRowLocksAll, "worker ids do not disturb each other"),
    (BindLastWins, "the first layout stays"),
    (BindCreatesLate, "one layout wins"),
    (BindTrims, "a layout comes back exactly"),
    (BindIsRow, "a layout is no row"),
    (IdentityOfHandle, "an identity stays"),
    (IdentityOfHolder, "an identity stays"),
    (IdentityCreatesLate, "one identity wins"),
    (IdentityIsRow, "an identity is no row"),
    (IdentityInWords, "an identity is a name"),
    (ReportMutates, "a late report changes no row"),
    (ReportMutates, "reports between swaps"),
    (ReportFences, "a report changes no row"),
    (SecondHandleBlind, "seen by the other handle"),
    (SecondHandleLate, "seen by the other handle"),
    (LeasesCut, "all rows are listed"),
    (LeasesTwice, "all rows are listed"),
    (LeaseLate, "one row is read"),
    (LeaseOfAny, "one row is read"),
    (ClockInSeconds, "a plausible clock"),
    (ClockGoesBack, "a plausible clock"),
    (Nameless, "it says what it is"),
    (KeyOfAnyRow, "a stale key"),
    (HolderInLowerCase, "odd texts come back"),
    (WorkerIn8Bits, "worker ids are kept apart"),
    (ReplayIsTrue, "a key is used up"),
    (LeasesOfOthers, "an empty registry"),
    (NotThreadSafe, "sixteen threads swap"),
];

/// Guards that the suite detects each of these faults, by the check meant for it.
#[test]
fn broken_registries_do_not_conform() {
    for (is, expected) in FAULTS {
        let failures = run(|| with_quirk(*is)).expect_err("a broken registry must not pass");
        assert!(failures.names().contains(expected), "{is:?}: {failures}");
    }
}

/// Guards that every check can fail: each is meant for a fault, and none passes if no call to the
/// store succeeds.
#[test]
fn every_check_can_fail() {
    let count = run(|| twice(MemoryLeaseStore::new())).unwrap();
    let failures = run(|| with_quirk(Down)).expect_err("a registry that is down must not pass");
    assert_eq!(failures.names().len(), count, "{failures}");
    for name in failures.names() {
        let is_meant = FAULTS.iter().any(|(_, expected)| *expected == name);
        assert!(is_meant, "no fault shows that {name:?} can fail");
    }
}

/// Guards that the check with threads detects what no check with futures on one thread can.
#[test]
fn threads_collide() {
    let failures = run(|| with_quirk(NotThreadSafe)).expect_err("threads must collide");
    assert_eq!(failures.names(), ["sixteen threads swap"], "{failures}");
}

/// A registry that answers after a millisecond of this clock.
struct Slow {
    inner: MemoryLeaseStore,
    clock: ManualClock,
}

impl Slow {
    fn later<'a, T: Send + 'a>(&'a self, answer: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        Box::pin(async move {
            self.clock.sleep(Duration::from_millis(1)).await;
            answer.await
        })
    }
}

impl LeaseStore for Slow {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        self.later(self.inner.bind(layout))
    }

    fn identity(&self) -> StoreResult<'_, String> {
        self.later(self.inner.identity())
    }

    fn location(&self) -> String {
        self.inner.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        self.later(self.inner.leases())
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        self.later(self.inner.lease(worker))
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        self.later(self.inner.swap(swap))
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        self.later(self.inner.report(record, now_ms))
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        self.later(self.inner.clock_ms())
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.later(self.inner.inspect())
    }
}

/// Waits for a future by letting the time pass that it waits for.
fn pass_time(clock: &ManualClock, future: BoxFuture<'_, ()>) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut context).is_pending() {
        if let Some(wake) = clock.next_wake() {
            clock.advance(wake.saturating_sub(clock.now()));
        }
    }
}

/// Guards that the suite stays quick on a real store: it waits for less than five seconds where
/// every answer takes a millisecond.
#[test]
fn the_suite_is_quick() {
    let clock = ManualClock::new();
    let slow = || {
        let inner = MemoryLeaseStore::new();
        let clock = clock.clone();
        let handles = twice(Slow { inner, clock });
        async move { handles }
    };
    run_all(|future| pass_time(&clock, future), slow).unwrap();
    let taken = clock.now();
    assert!(taken < Duration::from_secs(5), "the suite takes {taken:?}");
    assert!(
        taken > Duration::from_millis(100),
        "no time passed: {taken:?}"
    );
}
