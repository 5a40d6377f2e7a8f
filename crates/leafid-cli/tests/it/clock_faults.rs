//! Guards snowflake ids against clock faults on the real binary: a wall clock that is set back or
//! ahead, while the server runs at 10,000 ids a second or between two runs, repeats no id; by
//! default no request is refused for it, and the time in ids stays true. libfaketime makes the
//! steps.
//!
//! The registry is Redis, whose clock is true, or the embedded SQLite, which has none: then no
//! second source can confirm a clock.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use leafid::{Clock, SystemClock};
use leafid_testbed::{FakeClock, Proxy, Redis, shared_redis};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, until};
use crate::snowflake_load::{Callers, Given, Told, check_true_time, check_unique, now_ms};

const HOUR_S: f64 = 3600.0;
/// How soon a step must be reported.
const ALARM_MAX: Duration = Duration::from_secs(2);
const STEPS: &str = "leafid_clock_steps_total";
const STEPPED: &str = "alarm: the wall clock was set to another time";

/// A folder and a clock for one server after the other.
struct Bed {
    folder: TempDir,
    clock: FakeClock,
    arguments: Vec<String>,
}

impl Bed {
    fn new(arguments: &[&str]) -> Self {
        let arguments = [&["--segment=false"], arguments].concat();
        Self {
            folder: tempdir().unwrap(),
            clock: FakeClock::new(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
        }
    }

    fn spawn(&self) -> Server {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        Server::spawn(self.path(), &arguments, |command| self.clock.apply(command))
    }

    fn start(&self) -> Server {
        let server = self.spawn();
        wait_until_it_holds(&server);
        server
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn worker(server: &Server) -> Value {
    server.json("/v1/worker")
}

fn wait_until_it_holds(server: &Server) {
    until("worker id", || {
        (worker(server)["stage"] == "holding").then_some(())
    });
}

/// Sets the clock, and waits until the server has noticed, which must be soon.
fn step(bed: &Bed, server: &Server, seconds: f64) {
    let (steps, alarms) = (server.metric(STEPS), server.log().matches(STEPPED).count());
    let clock = SystemClock::new();
    let before = clock.now();
    bed.clock.offset(seconds);
    until("alarm", || (server.metric(STEPS) > steps).then_some(()));
    until("line", || {
        (server.log().matches(STEPPED).count() > alarms).then_some(())
    });
    let taken = clock.now().saturating_sub(before);
    assert!(taken <= ALARM_MAX, "told after {taken:?}");
    println!("a step by {seconds} s was told after {taken:?}");
}

/// Corrects the clock, and waits until the server agrees with it.
fn correct(bed: &Bed, server: &Server) {
    bed.clock.offset(0.0);
    until("agreement", || {
        let offset = worker(server)["clock_offset_seconds"].as_f64().unwrap();
        (offset.abs() < 1.0).then_some(())
    });
}

fn check_steps_while_running(arguments: &[&str]) {
    let bed = Bed::new(arguments);
    let server = bed.start();
    let clock = SystemClock::new();
    let (callers, started) = (Callers::start(&server), clock.now());
    callers.wait_for_ids(2000);
    for seconds in [-10.0, -HOUR_S, HOUR_S] {
        step(&bed, &server, seconds);
        callers.wait_for_ids(5000);
        correct(&bed, &server);
        callers.wait_for_ids(2000);
    }
    let taken = clock.now().saturating_sub(started);
    let told = callers.stop();
    told.check_nothing_refused();
    told.check_true_times();
    let count = check_unique(&told.given);
    println!("{count} ids in {taken:?}");
    let rate = count as f64 / taken.as_secs_f64();
    assert!(
        rate > 1000.0,
        "there was hardly any load: {rate} ids a second"
    );
    server.stop();
}

/// Guards: 10 s back, 1 h back, 1 h ahead and corrected, without a second source: no refusal, no
/// duplicate, an alarm within 2 s, true times.
#[test]
fn a_clock_that_steps_while_running_reaches_no_id() {
    check_steps_while_running(&[]);
}

/// Guards the same with a registry whose clock stays right.
#[test]
fn a_clock_that_steps_while_running_is_not_believed_against_the_registry() {
    check_steps_while_running(&["--registry", &shared_redis().create_database().url]);
}

/// The result of a start: ids, or a refusal.
fn started(server: &Server) -> Option<String> {
    until("worker id or refusal", || {
        let worker = worker(server);
        match worker["stage"].as_str() {
            Some("holding") => Some(None),
            Some("refused") => Some(worker["reason"].as_str().map(str::to_owned)),
            _ => None,
        }
    })
}

/// The refusal must name the server's time, the true one, and the setting.
fn check_names_both_times(reason: &str, seconds: f64) {
    assert!(reason.contains("raise clock-offset-max"), "{reason}");
    let words = reason.split(' ');
    let times = words.filter_map(|word| word.trim_end_matches([',', ':', ';']).parse().ok());
    let times: Vec<Timestamp> = times.collect();
    let now_ms = now_ms(&SystemClock::new()).cast_signed();
    let away = |time: &Timestamp| (time.as_millisecond() - now_ms) as f64 / 1000.0;
    let [shown, other] = &times[..] else {
        panic!("not two times: {reason}");
    };
    assert!((away(shown) - seconds).abs() < 20.0, "{reason}");
    assert!(away(other).abs() < 20.0, "{reason}");
}

fn check_step_across_a_restart(seconds: f64, refuses: Option<bool>, arguments: &[&str]) {
    let bed = Bed::new(arguments);
    let server = bed.start();
    let callers = Callers::start(&server);
    callers.wait_for_ids(5000);
    server.kill();
    bed.clock.offset(seconds);
    let server = bed.spawn();
    callers.turn_to(&server);
    let refused = started(&server);
    if let Some(reason) = &refused {
        check_names_both_times(reason, seconds);
    } else {
        callers.wait_for_ids(5000);
    }
    assert!(refuses.is_none_or(|refuses| refuses == refused.is_some()));
    bed.clock.offset(0.0);
    wait_until_it_holds(&server);
    callers.wait_for_ids(5000);
    let count = check_unique(&callers.stop().given);
    println!("{seconds} s across a restart: {count} ids, refused: {refused:?}");
    server.stop();
}

/// Guards a clock that goes back while the server is down after `kill -9`. No duplicate; if it is
/// far back, the server issues nothing until the clock is right, and then does so automatically.
#[test]
fn a_clock_set_back_across_a_restart_repeats_nothing() {
    // Ten seconds is the bound itself: it may go either way.
    for (seconds, refuses) in [(-5.0, Some(false)), (-10.0, None), (-HOUR_S, Some(true))] {
        check_step_across_a_restart(seconds, refuses, &[]);
        let url = shared_redis().create_database().url;
        check_step_across_a_restart(seconds, refuses, &["--registry", &url]);
    }
}

/// Waits for another worker id than this one.
fn wait_for_another(server: &Server, worker_id: &Value) {
    until("other worker id", || {
        let worker = worker(server);
        let is_other = worker["worker"].is_u64() && worker["worker"] != *worker_id;
        (is_other && worker["stage"] == "holding").then_some(())
    });
}

/// The ids made an hour ahead have one worker id, those after the correction another one.
fn check_quarantine(told: &Told, server: &Server, left_alone: &Value) {
    let is_ahead = |given: &&Given| given.unix_ms() > given.told_ms + 3_000_000;
    let (ahead, after): (Vec<&Given>, Vec<&Given>) = {
        let first = told
            .given
            .iter()
            .position(|given| is_ahead(&given))
            .unwrap();
        told.given[first..].iter().partition(is_ahead)
    };
    assert!(ahead.len() > 1000 && after.len() > 1000);
    let left_alone = left_alone.as_u64().unwrap();
    assert!(
        ahead
            .iter()
            .all(|given| u64::from(given.worker()) == left_alone)
    );
    assert!(
        after
            .iter()
            .all(|given| u64::from(given.worker()) != left_alone)
    );
    after.into_iter().for_each(check_true_time);
    let log = server.log();
    let alarm = "alarm: ids were issued far ahead of the true time";
    assert_eq!(log.matches(alarm).count(), 1, "{log}");
    println!(
        "{} ids, {} of them an hour ahead; {} refused",
        check_unique(&told.given),
        ahead.len(),
        told.refused.len()
    );
}

fn redis_behind(server: &Redis, proxy: &Proxy) -> String {
    let name = server.create_database().name;
    let url = server.url_at(proxy.port());
    let (place, _) = url.rsplit_once('/').unwrap();
    format!("{place}/{name}")
}

/// Guards a clock that goes an hour ahead while the server and the registry are down: ids are
/// issued an hour ahead. When the registry is back and the clock corrected, that worker id is left
/// unused, and another one claimed.
#[test]
fn a_clock_ahead_across_a_restart_puts_the_worker_id_in_quarantine() {
    let proxy = Proxy::new(shared_redis().port());
    let url = redis_behind(shared_redis(), &proxy);
    // Longer than the step: the server starts inside the lease that its journal remembers.
    let bed = Bed::new(&["--registry", &url, "--worker-lease", "3h"]);
    let server = bed.start();
    let callers = Callers::start(&server);
    callers.wait_for_ids(2000);
    proxy.refuse();
    server.kill();
    bed.clock.offset(HOUR_S);
    let server = bed.start();
    callers.turn_to(&server);
    callers.wait_for_ids(5000);
    let held = worker(&server)["worker"].clone();
    proxy.pass();
    until("registry", || {
        (worker(&server)["registry_answers"] == true).then_some(())
    });
    bed.clock.offset(0.0);
    wait_for_another(&server, &held);
    callers.wait_for_ids(5000);
    check_quarantine(&callers.stop(), &server, &held);
    server.stop();
}

/// Guards the same if only an operator confirms the corrected clock.
#[test]
fn an_operator_confirms_the_corrected_clock() {
    let bed = Bed::new(&[]);
    bed.clock.offset(HOUR_S);
    let server = bed.start();
    let callers = Callers::start(&server);
    callers.wait_for_ids(2000);
    let held = worker(&server)["worker"].clone();
    step(&bed, &server, 0.0);
    callers.wait_for_ids(2000);
    assert_eq!(server.post("/v1/clock/accept").0, 202);
    wait_for_another(&server, &held);
    callers.wait_for_ids(5000);
    check_quarantine(&callers.stop(), &server, &held);
    server.stop();
}

/// Guards that a server with a fixed worker id refuses to accept the clock if that would leave it
/// without one, says until when, and continues automatically at that time.
#[test]
fn a_worker_id_that_was_set_is_kept_until_its_time_has_come() {
    let bed = Bed::new(&["--registry", "none", "--worker-id", "7"]);
    bed.clock.offset(HOUR_S);
    let server = bed.start();
    let callers = Callers::start(&server);
    callers.wait_for_ids(2000);
    step(&bed, &server, 0.0);
    let check_refused = |server: &Server| {
        let (status, body) = server.post("/v1/clock/accept");
        assert_eq!(status, 409, "{body}");
        let says = |part| assert!(body.contains(part), "no {part:?} in {body}");
        says("clock_ahead");
        says("worker id 7 is the only one");
        says("set worker-id to one that no server had");
    };
    check_refused(&server);
    callers.wait_for_ids(2000);
    callers.told().check_nothing_refused();
    server.kill();
    let server = bed.spawn();
    callers.turn_to(&server);
    let reason = started(&server).unwrap();
    assert!(reason.contains("worker id 7 is the only one"), "{reason}");
    check_refused(&server);
    // The time has come.
    bed.clock.offset(HOUR_S + 10.0);
    wait_until_it_holds(&server);
    callers.wait_for_ids(2000);
    check_unique(&callers.stop().given);
    server.stop();
}

/// Guards Leaf's policies: a step back refuses with an error that says so; the refusal ends
/// automatically, and no id repeats.
#[test]
fn policies_that_refuse_say_so_and_recover() {
    let url = shared_redis().create_database().url;
    for policy in ["wait", "refuse"] {
        let pool = ["--worker-pool", policy];
        let bed = Bed::new(&[&["--registry", &url, "--clock-policy", policy], &pool[..]].concat());
        let server = bed.start();
        let callers = Callers::start(&server);
        callers.wait_for_ids(2000);
        bed.clock.offset(-3.0);
        let refused = callers.wait_for_refusals(1);
        assert_eq!(refused.status, 500, "{refused:?}");
        assert!(refused.body.contains("behind the last id"), "{refused:?}");
        callers.wait_for_ids(5000);
        // Now the clock is ahead of the time in ids, which the registry's clock confirms.
        bed.clock.offset(0.0);
        let corrected = until("true time", || {
            let told = callers.told();
            let (count, last) = (told.given.len(), told.given.last()?);
            (last.unix_ms().abs_diff(last.told_ms) < 1000).then_some(count)
        });
        callers.wait_for_ids(5000);
        let told = callers.stop();
        told.given[corrected..].iter().for_each(check_true_time);
        println!(
            "{policy}: {} ids, {} refused",
            check_unique(&told.given),
            told.refused.len()
        );
        server.stop();
    }
}

/// Guards that no clock ends a server, however wrong it is: a battery that failed, a register that
/// overflowed. HTTP has no dates then and is not served, until the clock is set right.
#[test]
fn a_clock_beyond_all_dates_ends_no_server() {
    const YEAR_S: f64 = 31_556_952.0;
    for (offset_s, has_dates) in [
        (8_100.0 * YEAR_S, false),
        (290.0 * YEAR_S, true),
        (-66.0 * YEAR_S, false),
    ] {
        let mut bed = Bed::new(&[]);
        bed.arguments = vec!["--snowflake=false".to_owned()];
        let server = bed.spawn();
        server.wait_until_ready();
        bed.clock.offset(offset_s);
        // Longer than what is kept of a date.
        std::thread::sleep(Duration::from_millis(1500));
        for path in ["/api/segment/get/order", "/livez", "/metrics", "/cache"] {
            let answer = server.try_get(path);
            assert_eq!(answer.is_ok(), has_dates, "{path} with {offset_s} s");
        }
        let is_told = server.log().contains("for which HTTP has no dates");
        assert_eq!(is_told, !has_dates, "{}", server.log());
        bed.clock.offset(0.0);
        std::thread::sleep(Duration::from_millis(200));
        let (status, _) = server.get("/api/segment/get/order");
        assert_eq!(status, 200, "{offset_s}");
        server.stop();
    }
}
