//! Clocks: what one server does when its wall clock jumps, was wrong before, or is wrong at the start.

use std::time::Duration;

use leafid::{Clock as _, ClockPolicy, ManualClock, SnowflakeError, WorkerChoice, WorkerId};

use crate::cluster::{Server, Setup, millis, restarts, store};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Checks that a server issues at the true time, within a second.
fn is_true(server: &Server, true_ms: u64) {
    let issued_ms = server.next().unix_ms.unsigned_abs();
    let off = issued_ms.abs_diff(true_ms);
    assert!(off <= 1000, "issues at {issued_ms}, and it is {true_ms}");
}

/// Guards that a step of the wall clock, of any size and direction, refuses nothing and affects no
/// id, and that it is reported.
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

/// Guards that a clock which was wrong from the start, and is corrected, retires the worker id once
/// a second source confirms it.
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
    server.registry.accept_clock().unwrap();
    server.advance(SECOND);
    is_true(&server, millis(server.clock.wall()));
    assert_eq!(
        server.worker(),
        WorkerId::new(0),
        "no id lies ahead: it is kept"
    );
}

/// Guards Leaf's policy: a short step back is waited out, a longer one refused, with the reason.
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
                wall.saturating_sub(SECOND * 60)
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
    let (store, clock) = (store(), ManualClock::new());
    let start = restarts(&store, &clock);
    let server = start().start();
    let (worker, last) = (server.worker(), server.next());
    drop(server);
    // A little: it continues above.
    clock.set_wall(clock.wall().saturating_sub(SECOND * 5));
    let server = start().start();
    let next = server.next();
    assert_eq!(next.worker, worker);
    assert!(next.unix_ms > last.unix_ms);
    drop(server);
    // A lot, and no second source: it refuses, and names both times.
    clock.set_wall(clock.wall().saturating_sub(HOUR));
    let mut server = start().start();
    let text = server.try_next().unwrap_err().to_string();
    assert!(text.contains("its own last report"), "{text}");
    // The registry confirms the clock: the earlier one was wrong, and its worker id is left unused.
    store.set_clock(&clock);
    server.advance(SECOND * 10);
    assert_ne!(server.worker(), worker);
    is_true(&server, millis(clock.wall()));
}

/// Guards that a server with a fixed worker id does not accept its clock if that would leave it
/// without one: ids continue as they are, and a restart says until when it waits.
#[test]
fn a_worker_id_that_was_set_is_kept_until_its_time_has_come() {
    let (store, clock) = (store(), ManualClock::new());
    for has_registry in [false, true] {
        let restart = restarts(&store, &clock);
        let start = || {
            let mut setup = restart();
            setup.options.choice = WorkerChoice::Exactly(WorkerId::new(7));
            setup.store = setup.store.filter(|_| has_registry);
            setup
        };
        clock.set_wall(clock.wall() + HOUR);
        let mut server = start().start();
        server.advance(SECOND * 5);
        let ahead = server.next();
        clock.set_wall(clock.wall().saturating_sub(HOUR));
        server.advance(SECOND * 2);
        let error = server.registry.accept_clock().unwrap_err();
        assert_eq!(error.worker, WorkerId::new(7));
        assert!(error.until_ms > ahead.unix_ms.unsigned_abs());
        server.advance(SECOND * 5);
        let last = server.next();
        assert!(last.unix_ms > ahead.unix_ms, "ids go on as they are");
        drop(server);
        let mut server = start().start();
        let text = server.try_next().unwrap_err().to_string();
        assert!(text.contains("worker id 7 is the only one"), "{text}");
        let error = server.registry.accept_clock().unwrap_err();
        assert!(error.until_ms > last.unix_ms.unsigned_abs());
        server.advance(HOUR + SECOND * 30);
        assert!(server.next().unix_ms > last.unix_ms);
        server.registry.accept_clock().unwrap();
        server.advance(SECOND * 5);
        server.next();
        server.stop();
        clock.advance(HOUR);
    }
}
