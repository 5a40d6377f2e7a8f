//! Worker ids: what one server does when its registry or its journal fails, and how it issues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leafid::store::{
    Journal, JournalRecord, LeaseStore as _, MemoryJournal, StoreError, StoreResult,
};
use leafid::{
    Clock as _, Layout, ManualClock, SnowflakeError, SnowflakeOptions, WorkerChoice, WorkerId,
};

use crate::cluster::{Mood, Setup, millis, restarts, store};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Guards that the registry is rarely needed: it is down for most of a lease, with a restart in
/// between, and then for too long.
#[test]
fn a_registry_may_be_down_for_long() {
    let (store, clock) = (store(), ManualClock::new());
    let start = restarts(&store, &clock);
    let mut server = start().start();
    let first = server.next();
    store.set(Mood::Down);
    server.advance(HOUR / 4);
    let before = server.next();
    drop(server);
    let mut server = start().start();
    assert_eq!(server.log.count("WeakStart"), 1);
    let after = server.next();
    assert_eq!((before.worker, after.worker), (first.worker, first.worker));
    assert!(after.unix_ms > before.unix_ms);
    server.advance(HOUR / 2);
    server.next();
    store.set(Mood::Well);
    server.advance(SECOND * 10);
    assert!(
        server.status().left_ms > millis(HOUR) * 9 / 10,
        "{:?}",
        server.status()
    );
    // Longer than the lease: it stops, and recovers by itself.
    store.set(Mood::Down);
    server.advance(HOUR + SECOND);
    assert!(server.try_next().unwrap_err().is_retryable());
    store.set(Mood::Well);
    server.advance(SECOND * 10);
    server.next();
}

/// Guards that a graceful stop gives back nothing that a restart without the registry would use,
/// and takes nothing from such a restart either.
#[test]
fn a_graceful_stop_and_a_registry_that_is_down() {
    let (store, clock) = (store(), ManualClock::new());
    let start = restarts(&store, &clock);
    let mut server = start().start();
    let worker = server.worker();
    store.set(Mood::Down);
    server.stop();
    let mut server = start().start();
    assert_eq!(server.next().worker, worker, "nothing could be given back");
    store.set(Mood::Well);
    server.advance(SECOND * 10);
    server.stop();
    let mut other = Setup::new(&store);
    other.options.choice = WorkerChoice::Exactly(worker);
    other.clock = clock.clone();
    let other = other.start();
    assert_eq!(other.next().worker, worker, "it was given back");
    store.set(Mood::Down);
    let error = start().start().try_next().unwrap_err();
    assert!(matches!(error, SnowflakeError::NoWorker { .. }), "{error}");
}

/// Guards that an operator who frees a worker id leaves room for its last ids.
#[test]
fn a_dead_server_is_force_released() {
    let store = store();
    let mut server = Setup::new(&store).start();
    let row = leafid::blocking::block_on(server.registry.leases())
        .unwrap()
        .remove(0);
    let last_ms = server.next().unix_ms.unsigned_abs();
    let released = leafid::blocking::block_on(server.registry.force_release(&row)).unwrap();
    assert!(released);
    let row = leafid::blocking::block_on(server.registry.leases())
        .unwrap()
        .remove(0);
    assert!(
        row.until_ms > last_ms + 4000 && row.until_ms < last_ms + 20_000,
        "{row:?}"
    );
    // It was alive after all: it learns that when it extends.
    server.advance(HOUR / 2 + SECOND * 10);
    assert_eq!(server.log.count("WorkerLost"), 1);
}

/// Guards that a claim whose outcome stays unknown costs no worker id, and none is used twice.
#[test]
fn an_unknown_outcome_of_a_claim() {
    let store = store();
    let mut setup = Setup::new(&store);
    setup.options.choice = WorkerChoice::Exactly(WorkerId::new(5));
    store.set(Mood::AnswersLost);
    let mut server = setup.start();
    assert!(server.try_next().is_err());
    store.set(Mood::Well);
    server.advance(SECOND * 10);
    assert_eq!(server.next().worker, WorkerId::new(5));
}

/// Guards that an extension whose outcome stays unknown is resolved, and does not count as a loss.
#[test]
fn an_unknown_outcome_of_an_extension() {
    let store = store();
    let mut server = Setup::new(&store).start();
    store.set(Mood::AnswersLost);
    server.advance(HOUR / 2 + SECOND * 10);
    store.set(Mood::Well);
    server.advance(SECOND * 10);
    assert_eq!(server.log.count("WorkerLost"), 0);
    assert!(server.status().left_ms > millis(HOUR) * 9 / 10);
}

/// A journal whose disk can fail.
#[derive(Default)]
struct FailingJournal {
    memory: MemoryJournal,
    fails: AtomicBool,
}

impl Journal for FailingJournal {
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>> {
        self.memory.read()
    }

    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()> {
        if self.fails.load(Ordering::SeqCst) {
            let error = StoreError::unavailable("cannot write the journal", "no space left");
            return Box::pin(async { Err(error) });
        }
        self.memory.write(record)
    }
}

/// Guards that a server without its journal issues what is already allowed, and no more.
#[test]
fn a_journal_that_fails_stops_ids() {
    let journal = Arc::new(FailingJournal::default());
    let setup = Setup {
        journal: journal.clone(),
        ..Setup::new(&store())
    };
    let mut server = setup.start();
    server.next();
    journal.fails.store(true, Ordering::SeqCst);
    server.advance(SECOND);
    server.next();
    server.advance(SECOND * 3);
    let text = server.try_next().unwrap_err().to_string();
    assert!(text.contains("journal"), "{text}");
    assert_eq!(server.log.count("JournalFailed"), 1);
}

/// Guards that two layouts never share worker ids.
#[test]
fn another_layout_is_refused() {
    let store = store();
    let _leaf = Setup::new(&store).start();
    let mut setup = Setup::new(&store);
    setup.options.snowflake.layout = Layout::WIDE;
    let text = setup.start().try_next().unwrap_err().to_string();
    assert!(text.contains("leaf") && text.contains("wide"), "{text}");
}

/// Guards that bursts are served ahead of the clock, but no further than allowed.
#[test]
fn ids_run_ahead_as_far_as_allowed() {
    let mut server = Setup::new(&store()).start();
    let snowflake = server.registry.snowflake();
    let mut taken = 0;
    let error = loop {
        match snowflake.try_next_many(1000) {
            Ok(ids) => taken += ids.len(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SnowflakeError::Ahead { .. }), "{error}");
    assert!(
        (4_090_000..=4_101_000).contains(&taken),
        "{taken} ids in a burst"
    );
    assert!(
        (999..=1001).contains(&server.status().borrowed_ms),
        "{:?}",
        server.status()
    );
    server.advance(Duration::from_millis(10));
    let ids = snowflake.try_next_many(1000).unwrap();
    assert_eq!(ids.len(), 1000);
}

/// Guards that ids spread evenly over shards, at every speed: chi-square of id mod m.
#[test]
fn ids_are_even_in_their_low_bits() {
    fastrand::seed(11);
    // Ids a call, and milliseconds between calls.
    for (count, pause_ms) in [(1, 1), (1, 7), (3, 2), (40, 1), (1500, 1)] {
        let mut server = Setup::new(&store()).start();
        let mut ids = Vec::new();
        while ids.len() < 100_000 {
            server.advance(Duration::from_millis(pause_ms));
            let taken = server.registry.snowflake().try_next_many(count).unwrap();
            ids.extend(taken.map(leafid::Id::get));
        }
        for shards in [2_usize, 4, 16, 100, 1024] {
            let chi_square = chi_square(&ids, shards);
            let freedom = (shards - 1) as f64;
            // Five standard deviations above the mean.
            let most = freedom + 5.0 * (2.0 * freedom).sqrt();
            assert!(
                chi_square <= most,
                "{count} ids every {pause_ms} ms: chi-square mod {shards} is {chi_square:.1}, at most {most:.1}"
            );
        }
    }
}

fn chi_square(ids: &[u64], shards: usize) -> f64 {
    let mut counts = vec![0_u64; shards];
    for id in ids {
        counts[usize::try_from(id % shards as u64).unwrap()] += 1;
    }
    let expected = ids.len() as f64 / shards as f64;
    counts
        .iter()
        .map(|count| (*count as f64 - expected).powi(2) / expected)
        .sum()
}

/// Guards a fixed worker id without a registry: the journal alone prevents repeats.
#[test]
fn a_configured_worker_id_needs_no_registry() {
    let journal = MemoryJournal::new();
    let clock = ManualClock::new();
    let start = |worker: u32| {
        let mut setup = Setup::new(&store());
        setup.store = None;
        setup.journal = Arc::new(journal.clone());
        setup.clock = clock.clone();
        setup.options.choice = WorkerChoice::Exactly(WorkerId::new(worker));
        setup.start()
    };
    let mut server = start(1023);
    let last = server.next();
    server.advance(SECOND * 10);
    let last = server.next().unix_ms.max(last.unix_ms);
    drop(server);
    clock.set_wall(clock.wall().saturating_sub(SECOND * 5));
    let server = start(1023);
    let next = server.next();
    assert!(next.unix_ms > last && next.worker == WorkerId::new(1023));
    let text = start(1024).try_next().unwrap_err().to_string();
    assert!(text.contains("1024") && text.contains("1023"), "{text}");
    let mut setup = Setup::new(&store());
    setup.store = None;
    let text = setup.start().try_next().unwrap_err().to_string();
    assert!(text.contains("worker-id"), "{text}");
}

/// Guards that no id of a new layout is the number of one that the server made by its former
/// layout: a later epoch gives later times smaller numbers.
#[test]
fn a_layout_follows_another_only_above_its_ids() {
    let journal = MemoryJournal::new();
    let clock = ManualClock::new();
    let start = |layout: Layout| {
        let mut setup = Setup::new(&store());
        setup.store = None;
        setup.journal = Arc::new(journal.clone());
        setup.clock = clock.clone();
        setup.options.choice = WorkerChoice::Exactly(WorkerId::new(5));
        setup.options.snowflake.layout = layout;
        setup.start()
    };
    let with_epoch = |epoch: &str| Layout::LEAF.with_epoch(epoch.parse().unwrap());
    let (earlier, later) = (
        with_epoch("2010-11-04T01:42:49.657Z"),
        with_epoch("2010-11-04T01:43:04.657Z"),
    );
    let refused = |layout: Layout| {
        let text = start(layout).try_next().unwrap_err().to_string();
        assert!(text.contains("set the former layout"), "{text}");
        assert!(text.contains(&layout.to_string()), "{text}");
    };
    let mut last = start(Layout::LEAF).try_next().unwrap();
    for _ in 0..2 {
        // The refused layout has left no trace: the former one continues.
        refused(later);
        refused(Layout::WIDE);
        let next = start(Layout::LEAF).try_next().unwrap();
        assert!(next > last, "{next} after {last}");
        last = next;
        clock.advance(SECOND * 10);
    }
    clock.set_wall(clock.wall().saturating_sub(SECOND * 5));
    let above = start(earlier).try_next().unwrap();
    assert!(above > last, "{above} after {last}");
    refused(Layout::LEAF);
    clock.advance(SECOND * 60);
    // By now its ids are above those of the earlier epoch.
    let back = start(Layout::LEAF).try_next().unwrap();
    assert!(back > above, "{back} after {above}");
}

/// Guards that the shard counts among the bits below the time: ids of a layout with shards are not
/// taken for smaller ones.
#[test]
fn no_layout_follows_one_with_shards_below_its_ids() {
    let journal = MemoryJournal::new();
    let clock = ManualClock::new();
    let start = |layout: &str| {
        let mut setup = Setup::new(&store());
        setup.store = None;
        setup.journal = Arc::new(journal.clone());
        setup.clock = clock.clone();
        setup.options.choice = WorkerChoice::Exactly(WorkerId::new(5));
        setup.options.snowflake.layout = layout.parse().unwrap();
        setup.start()
    };
    let sharded = "time41x1ms/worker10/sequence8/shard4@2010-11-04T01:42:54.657Z";
    let last = start(sharded).try_next().unwrap();
    let refused = start("leaf@2010-11-04T01:43:04.657Z").try_next();
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("set the former layout"), "{text}");
    assert!(start(sharded).try_next().unwrap() > last);
}

/// Guards that ids of all units stay inside their lease, whose ends lie between ticks.
#[test]
fn leases_are_kept_in_every_unit() {
    for layout in [
        Layout::JS53,
        Layout::JS53_SECONDS,
        Layout::SONYFLAKE_V2,
        Layout::WIDE,
    ] {
        let store = store();
        let mut setup = Setup::new(&store);
        setup.options.snowflake = SnowflakeOptions::default().with_layout(layout);
        setup
            .clock
            .set_wall(setup.clock.wall() + Duration::from_millis(123));
        let mut server = setup.start();
        server.advance(SECOND * 2);
        let first = server.next();
        let lease = server.status().lease.unwrap();
        assert!(first.unix_ms.unsigned_abs() >= lease.start_ms, "{layout}");
        server.stop();
        let row = leafid::blocking::block_on(store.memory.get().leases())
            .unwrap()
            .remove(0);
        let unit_ms = layout.unit().ms();
        let after_ms = first.unix_ms.unsigned_abs() + unit_ms;
        assert_eq!(
            row.until_ms, after_ms,
            "{layout}: free right after its last id"
        );
    }
}

/// Guards that a call to the registry which lost against other transactions is retried at once, and
/// does not count as an outage: neither at the start, nor when the lease is extended.
#[test]
fn a_conflict_is_no_outage_of_the_registry() {
    let store = store();
    *store.conflicts.lock().unwrap() = 9;
    let mut server = Setup::new(&store).start();
    server.advance(SECOND);
    server.next();
    for _ in 0..20 {
        *store.conflicts.lock().unwrap() = 9;
        server.advance(HOUR / 10);
        server.next();
    }
    let told = ["Conflict {", "RegistryFailed", "RegistryDown"].map(|text| server.log.count(text));
    assert_eq!(told, [9 * 21, 0, 0]);
    assert_eq!(server.status().failures, 0);
    // A row that is locked for good is not waited for forever.
    *store.conflicts.lock().unwrap() = u32::MAX;
    server.advance(SECOND * 60);
    assert!(server.status().failures > 0);
    let tries = u32::MAX - *store.conflicts.lock().unwrap();
    assert!(tries < 2000, "{tries} in a minute");
}
