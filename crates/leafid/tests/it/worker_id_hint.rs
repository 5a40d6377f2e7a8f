//! Worker ids: a hint which one a server had before is followed if that costs no other server
//! anything.

use std::sync::Arc;
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::{
    Journal, JournalRecord, LeaseRecord, LeaseStore as _, LeaseSwap, MemoryJournal,
};
use leafid::{Clock as _, WorkerId};

use crate::cluster::{Registry, Server, Setup, millis};

const HINT: WorkerId = WorkerId::new(7);
const SECOND: Duration = Duration::from_secs(1);

/// A server with the hint.
fn hinted(store: &Arc<Registry>) -> Setup {
    let mut setup = Setup::new(store);
    setup.options.preferred = Some(HINT);
    setup
}

/// Writes a row that another server left behind, or holds.
fn put(store: &Arc<Registry>, worker: WorkerId, address: &str, until_ms: u64) {
    let record = LeaseRecord {
        worker,
        epoch: 4,
        holder: "somebody".into(),
        address: address.into(),
        until_ms,
    };
    let swap = LeaseSwap {
        expected: None,
        record,
    };
    assert!(block_on(store.swap(&swap)).unwrap());
}

fn check_worker(server: &Server, wanted: u32) {
    assert_eq!(server.worker(), WorkerId::new(wanted));
    assert_eq!(server.next().worker, WorkerId::new(wanted));
}

#[test]
fn a_number_that_was_never_held_is_claimed() {
    let store = Arc::default();
    check_worker(&hinted(&store).start(), 7);
    // Once it is held, the next one with the same hint does without, and at once.
    check_worker(&hinted(&store).start(), 0);
}

/// Guards that the former holder's ids stay below ours, and that a free number which was free for
/// longer does not come first.
#[test]
fn a_worker_id_whose_lease_is_over_is_taken() {
    let store = Arc::default();
    let setup = hinted(&store);
    let now_ms = millis(setup.clock.wall());
    put(&store, WorkerId::new(3), "", now_ms - 9000);
    put(&store, HINT, "", now_ms);
    let server = setup.start();
    check_worker(&server, 7);
    let lease = server.status().lease.unwrap();
    assert_eq!((lease.epoch, lease.start_ms), (5, now_ms));
}

/// Guards that a hint is never waited for, and never taken from somebody.
#[test]
fn a_number_that_is_held_is_left_alone() {
    let store = Arc::default();
    let setup = hinted(&store);
    let until_ms = millis(setup.clock.wall()) + 1;
    put(&store, HINT, "", until_ms);
    let mut server = setup.start();
    check_worker(&server, 0);
    server.advance(SECOND * 60);
    check_worker(&server, 0);
    let rows = block_on(store.leases()).unwrap();
    let row = rows.iter().find(|row| row.worker == HINT).unwrap();
    assert_eq!((row.epoch, row.until_ms), (4, until_ms));
}

#[test]
fn a_number_that_the_layout_does_not_have_is_passed_over() {
    let mut setup = Setup::new(&Arc::default());
    setup.options.preferred = Some(WorkerId::new(1024));
    check_worker(&setup.start(), 0);
}

/// Guards that what the registry knows of this server's address counts more than a hint.
#[test]
fn the_number_held_under_the_address_comes_first() {
    let store = Arc::default();
    let mut setup = hinted(&store);
    setup.options.address = "10.0.0.5:8080".into();
    let now_ms = millis(setup.clock.wall());
    put(&store, WorkerId::new(3), "10.0.0.5:8080", now_ms);
    put(&store, HINT, "", now_ms - 9000);
    check_worker(&setup.start(), 3);
}

/// Guards that a server with a journal follows its journal, also where its own row is lost.
#[test]
fn a_journal_counts_more() {
    let store = Arc::default();
    let journal = Arc::new(MemoryJournal::new());
    let mut first = Setup::new(&store);
    first.journal = Arc::clone(&journal) as Arc<dyn Journal>;
    let mut server = first.start();
    check_worker(&server, 0);
    server.stop();
    let written: Option<JournalRecord> = block_on(journal.read()).unwrap();
    assert!(written.is_some_and(|record| record.lease.is_some()));
    for store in [store, Arc::default()] {
        let mut again = hinted(&store);
        again.clock.set_wall(server.clock.wall() + SECOND * 10);
        again.journal = Arc::clone(&journal) as Arc<dyn Journal>;
        check_worker(&again.start(), 0);
    }
}
