//! Worker ids: a journal that is about another registry, or is a copy of one, gives no right to issue.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::{
    Journal as _, JournalLease, JournalRecord, LeaseRecord, LeaseStore as _, LeaseSwap,
    MemoryJournal, MemoryLeaseStore,
};
use leafid::{Clock as _, ManualClock, SnowflakeError, WorkerChoice, WorkerId};

use crate::cluster::{Mood, Registry, Server, Setup, millis, restarts, store};

const SECOND: Duration = Duration::from_secs(1);
const ZERO: WorkerId = WorkerId::new(0);

/// A registry that is looked for at this place.
fn store_at(location: &str) -> Arc<Registry> {
    let store = store();
    store.set_location(location);
    store
}

fn setup(store: &Arc<Registry>, journal: &MemoryJournal, clock: &ManualClock) -> Setup {
    Setup {
        journal: Arc::new(journal.clone()),
        clock: clock.clone(),
        ..Setup::new(store)
    }
}

fn check_refused(server: &Server) {
    let error = server.try_next().unwrap_err();
    assert!(matches!(error, SnowflakeError::NoWorker { .. }), "{error}");
    assert_eq!(server.log.count("WeakStart"), 0);
}

/// Guards that a fixed worker id, which has no end, gives no right if a registry is configured and
/// does not answer; and that its ids lie below those with the number that this assigns.
#[test]
fn a_lease_without_a_registry_is_none_in_one() {
    let (journal, clock) = (MemoryJournal::new(), ManualClock::new());
    let mut given = setup(&store(), &journal, &clock);
    given.store = None;
    given.options.choice = WorkerChoice::Exactly(ZERO);
    let server = given.start();
    let last = server.next();
    drop(server);
    let store = store_at("redis://db");
    store.set(Mood::Down);
    for choice in [WorkerChoice::Any, WorkerChoice::Exactly(ZERO)] {
        let mut leased = setup(&store, &journal, &clock);
        leased.options.choice = choice;
        let mut server = leased.start();
        server.advance(SECOND * 10);
        check_refused(&server);
    }
    store.set(Mood::Well);
    clock.set_wall(clock.wall().saturating_sub(SECOND * 9));
    let next = setup(&store, &journal, &clock).start().next();
    assert_eq!((last.worker, next.worker), (ZERO, ZERO));
    assert!(next.unix_ms > last.unix_ms, "{next:?} after {last:?}");
}

/// Guards that two servers, each with a lease of its own registry, do not both issue with it when
/// both are configured with one that does not answer.
#[test]
fn leases_of_two_registries_are_none_in_a_third() {
    let third = store_at("redis://db");
    third.set(Mood::Down);
    let clock = ManualClock::new();
    let mut servers: Vec<Server> = ["sqlite:/a", "sqlite:/b"]
        .into_iter()
        .map(|location| {
            let journal = MemoryJournal::new();
            let server = setup(&store_at(location), &journal, &clock).start();
            assert_eq!(server.next().worker, ZERO);
            drop(server);
            setup(&third, &journal, &clock).start()
        })
        .collect();
    servers[0].advance(SECOND * 10);
    servers.iter().for_each(check_refused);
    third.set(Mood::Well);
    let workers: BTreeSet<WorkerId> = servers
        .iter_mut()
        .map(|server| {
            server.advance(SECOND * 10);
            server.next().worker
        })
        .collect();
    assert_eq!(workers.len(), 2, "{workers:?}");
}

/// Guards a registry that was created anew while it did not answer: the row is read as soon as it
/// does, and a lease that it does not know gives no right from then on, nor after a restart.
#[test]
fn a_registry_that_was_made_anew_is_noticed_when_it_answers() {
    let (store, clock) = (store_at("redis://db"), ManualClock::new());
    let start = restarts(&store, &clock);
    let worker = start().start().next().worker;
    store.set(Mood::Down);
    let mut server = start().start();
    assert_eq!(server.next().worker, worker);
    assert_eq!(server.log.count("WeakStart"), 1);
    store.memory.set(MemoryLeaseStore::new());
    store.set(Mood::Well);
    // Another server is faster.
    let other = setup(&store, &MemoryJournal::new(), &ManualClock::new()).start();
    assert_eq!(other.next().worker, worker);
    server.advance(SECOND * 6);
    assert_eq!(server.log.count("WorkerLost"), 1);
    let next = server.next();
    assert_ne!(next.worker, worker);
    store.set(Mood::Down);
    drop(server);
    assert_eq!(start().start().next().worker, next.worker);
}

/// Guards that a start without the registry is confirmed silently when it answers.
#[test]
fn a_start_without_the_registry_is_confirmed() {
    let (store, clock) = (store_at("redis://db"), ManualClock::new());
    let start = restarts(&store, &clock);
    let worker = start().start().next().worker;
    store.set(Mood::Down);
    let mut server = start().start();
    let row = block_on(store.memory.get().leases()).unwrap().remove(0);
    store.set(Mood::Well);
    server.advance(SECOND * 6);
    let rows = block_on(store.memory.get().leases()).unwrap();
    assert!(
        rows.len() == 1 && rows[0].until_ms > row.until_ms,
        "{rows:?}"
    );
    assert_eq!(rows[0].epoch, row.epoch);
    assert_eq!(server.log.count("WorkerLost"), 0);
    assert_eq!(server.next().worker, worker);
    // The same when a claim has gone through and its answer was lost.
    drop(server);
    store.set(Mood::AnswersLost);
    let mut server = start().start();
    store.set(Mood::Down);
    server.advance(SECOND);
    store.set(Mood::Well);
    server.advance(SECOND * 6);
    assert_eq!(server.log.count("WorkerLost"), 0);
    assert_eq!(server.next().worker, worker);
}

/// Guards a journal of the first version, which does not name its registry: it gives no right until
/// the registry shows its row, and then one to the row and to times above its own.
#[test]
fn a_journal_that_names_no_registry_waits_for_its_row() {
    let clock = ManualClock::new();
    let now_ms = millis(clock.wall());
    let five = WorkerId::new(5);
    let row = LeaseRecord {
        worker: five,
        epoch: 3,
        holder: "6f1c".into(),
        address: String::new(),
        until_ms: now_ms + 3_600_000,
    };
    let lease = JournalLease {
        worker: five,
        epoch: 3,
        nonce: 0,
        until_ms: row.until_ms,
        acknowledged: true,
        below_ms: now_ms + 3_000,
        written_ms: now_ms,
    };
    let record = JournalRecord {
        lease: Some(lease),
        ..JournalRecord::new("6f1c", "leaf")
    };
    for is_its_registry in [true, false] {
        let (store, journal) = (store_at("redis://db"), MemoryJournal::new());
        block_on(journal.write(&record)).unwrap();
        if is_its_registry {
            let record = row.clone();
            let swap = LeaseSwap {
                expected: None,
                record,
            };
            assert!(block_on(store.swap(&swap)).unwrap());
        }
        store.set(Mood::Down);
        let mut server = setup(&store, &journal, &clock).start();
        check_refused(&server);
        store.set(Mood::Well);
        server.advance(SECOND / 2);
        let next = server.next();
        assert_eq!(next.worker, if is_its_registry { five } else { ZERO });
        assert!(next.unix_ms.unsigned_abs() >= lease.below_ms, "{next:?}");
    }
}

/// Guards that without a registry a number that is changed, and changed back, repeats nothing when
/// the clock is set back in between.
#[test]
fn a_configured_worker_id_may_be_changed_back() {
    let (journal, clock) = (MemoryJournal::new(), ManualClock::new());
    let start = |worker| {
        let mut given = setup(&store(), &journal, &clock);
        given.store = None;
        given.options.choice = WorkerChoice::Exactly(WorkerId::new(worker));
        given.start()
    };
    let last = start(1).next();
    clock.set_wall(clock.wall().saturating_sub(SECOND * 2));
    start(2).next();
    clock.set_wall(clock.wall().saturating_sub(SECOND * 2));
    let next = start(1).next();
    assert!(next.unix_ms > last.unix_ms, "{next:?} after {last:?}");
}
