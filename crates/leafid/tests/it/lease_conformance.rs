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
use leafid::{Clock, ManualClock};

use crate::odd_registry::Quirk::*;
use crate::odd_registry::{Quirk, odd};

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

/// Guards that the suite asks no more than the contract: the last rows of a table, say, may come
/// first, and a registry whose numbers are given in turn may refuse one out of turn.
#[test]
fn odd_registries_conform() {
    for is in [NumbersInTurn, RowsInDisorder, ReportRefused] {
        run(|| odd(is)).unwrap_or_else(|failures| panic!("{is:?}: {failures}"));
    }
}

fn check(is: Quirk, expected: &str) {
    let failures = run(|| odd(is)).expect_err("a broken registry must not pass");
    assert!(failures.names().contains(&expected), "{is:?}: {failures}");
}

/// Guards that the suite sees each of these faults, by the check meant for it.
#[test]
fn broken_registries_do_not_conform() {
    check(EpochIgnored, "a stale epoch");
    check(UntilIgnored, "a stale until_ms");
    check(KeyAsDouble, "a stale until_ms");
    check(KeyIn32Bits, "a stale epoch");
    check(ReadThenWrite, "fifty swaps at once");
    check(ReadThenWrite, "fifty creates at once");
    check(ReadThenWrite, "fifty first claims");
    check(ReadThenWrite, "no change is lost");
    check(CreateOverwrites, "a create on a row");
    check(CreateOfNoRow, "a swap of no row");
    check(AddressForgotten, "every field comes back");
    check(HolderKept, "every field is replaced");
    check(UntilOnlyUp, "a release");
    check(SameIsRefused, "the same again");
    check(AlwaysFalse, "fifty first claims");
    check(OneRowLocksAll, "worker ids do not disturb each other");
    check(BindLastWins, "the first layout stays");
    check(BindCreatesLate, "one layout wins");
    check(BindTrims, "a layout comes back exactly");
    check(BindIsRow, "a layout is no row");
    check(ReportMutates, "a late report changes no row");
    check(ReportMutates, "reports between swaps");
    check(ReportFences, "a report changes no row");
    check(SecondHandleBlind, "seen by the other handle");
    check(SecondHandleLate, "seen by the other handle");
    check(LeasesCut, "all rows are listed");
    check(LeasesTwice, "all rows are listed");
    check(ClockInSeconds, "a plausible clock");
    check(ClockGoesBack, "a plausible clock");
    check(Nameless, "it says what it is");
}

/// Guards that the check with threads sees what no check with futures on one thread can see.
#[test]
fn threads_collide() {
    let failures = run(|| odd(NotThreadSafe)).expect_err("threads must collide");
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

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        self.later(self.inner.leases())
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
