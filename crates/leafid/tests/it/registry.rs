//! Worker ids and clocks: what one server does when its registry, its journal or its clock fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leafid::store::{
    Journal, JournalRecord, LeaseStore as _, MemoryJournal, StoreError, StoreResult,
};
use leafid::{
    Clock as _, ClockPolicy, Layout, ManualClock, SnowflakeError, SnowflakeOptions, WorkerChoice,
    WorkerId,
};

use crate::cluster::{Mood, Registry, Server, Setup, millis};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

fn store() -> Arc<Registry> {
    Arc::default()
}

/// Checks that a server issues at the true time, within a second.
fn is_true(server: &Server, true_ms: u64) {
    let issued_ms = server.next().unix_ms.unsigned_abs();
    let off = issued_ms.abs_diff(true_ms);
    assert!(off <= 1000, "issues at {issued_ms}, and it is {true_ms}");
}

/// Guards that a step of the wall clock, of any size and direction, refuses nothing and reaches no
/// id, and that somebody is told.
#[test]
fn steps_of_the_clock_do_no_harm() {
    for seconds in [-3600.0, -10.0, -2.0, -0.5, 0.5, 2.0, 10.0, 3600.0] {
        let mut server = Setup::new(&store()).start();
        let mut true_ms = millis(server.clock.wall());
        let mut last = server.try_next().unwrap();
        server.step(seconds);
        for _ in 0..200 {
            server.advance(SECOND / 10);
            true_ms += 100;
            let id = server.try_next().unwrap();
            assert!(id > last, "after a step of {seconds} s");
            last = id;
            is_true(&server, true_ms);
        }
        let is_told = server.log.count("ClockStepped") == 1;
        assert_eq!(is_told, f64::abs(seconds) > 1.0, "{seconds} s");
        server.step(-seconds);
        server.advance(SECOND * 2);
        assert_eq!(server.log.count("ClockAgrees") == 1, is_told, "{seconds} s");
        is_true(&server, true_ms + 2000);
    }
}

/// Guards that a clock which was wrong from the start, and is put right, takes the worker id out
/// of use once somebody else confirms it.
#[test]
fn ids_from_the_future_put_their_worker_id_in_quarantine() {
    let store = store();
    let mut server = {
        let setup = Setup::new(&store);
        setup.clock.set_wall(setup.clock.wall() + HOUR);
        setup.start()
    };
    let poisoned = server.worker();
    server.next();
    server.step(-3600.0);
    server.advance(SECOND * 5);
    assert_eq!(server.worker(), poisoned, "nobody has confirmed the clock");
    // The registry's clock is right.
    let right = ManualClock::new();
    right.set_wall(server.clock.wall());
    store.set_clock(&right);
    for _ in 0..60 {
        server.advance(SECOND);
        right.advance(SECOND);
    }
    assert_ne!(server.worker(), poisoned);
    assert_eq!(server.log.count("Quarantined"), 1);
    is_true(&server, millis(right.wall()));
}

#[test]
fn an_operator_may_confirm_the_clock() {
    let mut server = Setup::new(&store()).start();
    server.step(3600.0);
    server.advance(SECOND * 2);
    server.registry.accept_clock();
    server.advance(SECOND);
    is_true(&server, millis(server.clock.wall()));
    assert_eq!(
        server.worker(),
        WorkerId::new(0),
        "no id lies ahead: it is kept"
    );
}

/// Guards Leaf's policy: a little behind is waited out, more is refused, with the reason.
#[test]
fn other_policies_refuse_a_clock_that_goes_back() {
    for policy in [ClockPolicy::Wait, ClockPolicy::Refuse] {
        let mut setup = Setup::new(&store());
        setup.options.snowflake.policy = policy;
        let mut server = setup.start();
        server.advance(SECOND * 5);
        server.next();
        server.step(-10.0);
        server.advance(SECOND * 2);
        let error = server.try_next().unwrap_err();
        assert!(
            matches!(error, SnowflakeError::ClockBehind { .. }),
            "{error}"
        );
        server.advance(SECOND * 9);
        server.next();
    }
}

/// Guards the start-up checks: the text names both times and the setting.
#[test]
fn a_server_whose_clock_is_wrong_does_not_start() {
    let store = store();
    let right = ManualClock::new();
    store.set_clock(&right);
    for seconds in [-60.0, 60.0] {
        let setup = Setup::new(&store);
        let mut server = {
            let wall = setup.clock.wall() + Duration::from_secs(3600);
            setup.clock.set_wall(wall);
            right.set_wall(wall);
            let clock = setup.clock.clone();
            clock.set_wall(if seconds < 0.0 {
                wall - SECOND * 60
            } else {
                wall + SECOND * 60
            });
            setup.start()
        };
        let text = server.try_next().unwrap_err().to_string();
        for part in ["2026-06-01T01:00:00Z", "clock-offset-max", "60.000 s apart"] {
            assert!(text.contains(part), "{text}");
        }
        server.step(-seconds);
        right.set_wall(server.clock.wall() + SECOND * 10);
        server.advance(SECOND * 10);
        server.next();
        server.stop();
    }
}

/// Guards a restart with the clock set back: no id twice, whoever is right.
#[test]
fn a_clock_set_back_across_a_restart() {
    let (store, journal) = (store(), MemoryJournal::new());
    let clock = ManualClock::new();
    let start = || Setup {
        journal: Arc::new(journal.clone()),
        clock: clock.clone(),
        ..Setup::new(&store)
    };
    let server = start().start();
    let (worker, last) = (server.worker(), server.next());
    drop(server);
    // A little: it goes on above.
    clock.set_wall(clock.wall() - SECOND * 5);
    let server = start().start();
    let next = server.next();
    assert_eq!(next.worker, worker);
    assert!(next.unix_ms > last.unix_ms);
    drop(server);
    // A lot, and nobody to ask: it refuses, and says both times.
    clock.set_wall(clock.wall() - HOUR);
    let mut server = start().start();
    let text = server.try_next().unwrap_err().to_string();
    assert!(text.contains("its own last report"), "{text}");
    // The registry confirms the clock: the earlier one was wrong, and its worker id is left alone.
    store.set_clock(&clock);
    server.advance(SECOND * 10);
    assert_ne!(server.worker(), worker);
    is_true(&server, millis(clock.wall()));
}

/// Guards the weak dependence on the registry: down for most of a reservation, with a restart in
/// between, and then for too long.
#[test]
fn a_registry_may_be_down_for_long() {
    let (store, journal) = (store(), MemoryJournal::new());
    let clock = ManualClock::new();
    let start = || Setup {
        journal: Arc::new(journal.clone()),
        clock: clock.clone(),
        ..Setup::new(&store)
    };
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
    // Longer than the reservation: it stops, and comes back by itself.
    store.set(Mood::Down);
    server.advance(HOUR + SECOND);
    assert!(server.try_next().unwrap_err().is_retryable());
    store.set(Mood::Well);
    server.advance(SECOND * 10);
    server.next();
}

/// Guards that a graceful stop gives nothing away that a restart without the registry would use,
/// and takes nothing from such a restart either.
#[test]
fn a_graceful_stop_and_a_registry_that_is_down() {
    let (store, journal) = (store(), MemoryJournal::new());
    let clock = ManualClock::new();
    let start = || Setup {
        journal: Arc::new(journal.clone()),
        clock: clock.clone(),
        ..Setup::new(&store)
    };
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
fn a_dead_server_is_released() {
    let store = store();
    let mut server = Setup::new(&store).start();
    let row = leafid::blocking::block_on(server.registry.leases())
        .unwrap()
        .remove(0);
    let last_ms = server.next().unix_ms.unsigned_abs();
    let released = leafid::blocking::block_on(server.registry.release_dead(&row)).unwrap();
    assert!(released);
    let row = leafid::blocking::block_on(server.registry.leases())
        .unwrap()
        .remove(0);
    assert!(
        row.until_ms > last_ms + 4000 && row.until_ms < last_ms + 20_000,
        "{row:?}"
    );
    // It was alive after all: it finds out when it extends.
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

/// Guards that an extension whose outcome stays unknown is found out, not taken for a loss.
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

/// Guards that a server without its journal issues what it has allowed already, and no more.
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

/// Guards that bursts are served ahead of the clock, and no further than allowed.
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

/// Guards a worker id that was chosen by hand: the journal alone keeps ids apart.
#[test]
fn a_given_worker_id_needs_no_registry() {
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
    clock.set_wall(clock.wall() - SECOND * 5);
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

/// Guards a layout that is changed and changed back, with the clock set back in between.
#[test]
fn a_layout_may_be_changed_back() {
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
    let last = start(Layout::LEAF).next();
    let text = start(Layout::WIDE).try_next().unwrap_err().to_string();
    assert!(text.contains("wait some seconds"), "{text}");
    clock.advance(SECOND * 10);
    start(Layout::WIDE).next();
    clock.set_wall(clock.wall() - SECOND * 10);
    let mut back = start(Layout::LEAF);
    back.advance(SECOND * 30);
    let next = back.next();
    assert!(next.unix_ms > last.unix_ms, "{next:?} after {last:?}");
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
        setup.options.snowflake = SnowflakeOptions {
            layout,
            ..SnowflakeOptions::default()
        };
        setup
            .clock
            .set_wall(setup.clock.wall() + Duration::from_millis(123));
        let mut server = setup.start();
        server.advance(SECOND * 2);
        let first = server.next();
        let lease = server.status().lease.unwrap();
        assert!(first.unix_ms.unsigned_abs() >= lease.start_ms, "{layout}");
        server.stop();
        let row = leafid::blocking::block_on(store.memory.leases())
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
