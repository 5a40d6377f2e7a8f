//! Guards the worker id's promise on the real binary and real registries: a server that was paused
//! beyond its lease issues nothing in the range of the next holder, and an outage of the registry
//! stops no ids while the lease lasts, even if the server is killed by `kill -9` meanwhile.
//!
//! Leases are seconds instead of an hour, so that the half hour of an outage is seconds too.

use std::thread;

use leafid::SystemClock;
use leafid_testbed::{Etcd, Redis, shared_etcd, shared_mariadb, shared_redis};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, run, until};
use crate::snowflake_load::{Callers, Given, Told, check_unique, now_ms};

fn spawn(folder: &TempDir, arguments: &[&[&str]]) -> Server {
    let arguments = [&["--segment=false"][..], &arguments.concat()].concat();
    Server::start_unready(folder.path(), &arguments)
}

fn worker(server: &Server) -> Value {
    server.json("/v1/worker")
}

/// Waits until a server holds a worker id, and returns it.
fn held(server: &Server) -> u64 {
    until("worker id", || {
        let worker = worker(server);
        let holds = worker["stage"] == "holding";
        holds.then(|| worker["worker"].as_u64()).flatten()
    })
}

/// Where the lease ends, in milliseconds since 1970-01-01T00:00:00Z.
fn until_ms(server: &Server) -> u64 {
    let text = worker(server)["until"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let time: jiff::Timestamp = text.parse().unwrap();
    time.as_millisecond().try_into().unwrap()
}

/// The earliest and the latest time in the ids of one worker id.
fn span(given: &[Given], worker: u64) -> (u64, u64) {
    let of_worker = given
        .iter()
        .filter(|given| u64::from(given.worker()) == worker);
    let times: Vec<u64> = of_worker.map(Given::unix_ms).collect();
    (*times.iter().min().unwrap(), *times.iter().max().unwrap())
}

/// One server is paused until another one, which wants that very worker id, has it.
fn check_pause(registry: &str) {
    let (folder, other_folder) = (tempdir().unwrap(), tempdir().unwrap());
    let settings = ["--registry", registry, "--worker-lease", "10s"];
    let paused = spawn(&folder, &[&settings]);
    let shared_id = held(&paused);
    let paused_callers = Callers::start(&paused);
    let id = shared_id.to_string();
    let other = spawn(&other_folder, &[&settings, &["--worker-id", &id]]);
    let other_callers = Callers::start(&other);
    paused_callers.wait_for_ids(5000);
    assert!(
        other_callers.told().given.is_empty(),
        "the worker id was held"
    );
    paused.signal("STOP");
    assert_eq!(held(&other), shared_id);
    other_callers.wait_for_ids(5000);
    paused.signal("CONT");
    let next_id = until("other worker id", || {
        let worker = worker(&paused)["worker"].as_u64();
        worker.filter(|worker| *worker != shared_id)
    });
    paused_callers.wait_for_ids(5000);
    let (of_paused, of_other) = (paused_callers.stop(), other_callers.stop());
    let other_until_ms = until_ms(&other);
    assert!(
        paused.log().contains("alarm: the worker id is lost"),
        "{}",
        paused.log()
    );

    let count = check_unique(of_paused.given.iter().chain(&of_other.given));
    let (_, paused_end) = span(&of_paused.given, shared_id);
    let (other_start, other_end) = span(&of_other.given, shared_id);
    let kind = registry.split(':').next().unwrap();
    println!(
        "{kind}: {count} ids; the first until {paused_end}, the other {other_start} to {other_end}"
    );
    assert!(paused_end < other_start, "issued in the other's range");
    assert!(other_end < other_until_ms, "issued beyond its own range");
    let is_of = |told: &Told, ids: &[u64]| {
        let workers = told.given.iter().map(|given| u64::from(given.worker()));
        workers.into_iter().all(|worker| ids.contains(&worker))
    };
    assert!(is_of(&of_paused, &[shared_id, next_id]) && is_of(&of_other, &[shared_id]));
    paused.stop();
    other.stop();
}

/// Guards against `SIGSTOP` beyond the lease, a claim of the worker id by another server, and
/// `SIGCONT`; the callers of both never stop asking.
#[test]
fn a_paused_server_issues_nothing_in_the_range_of_the_next_holder() {
    let database = shared_mariadb().create_database().url;
    run(
        tempdir().unwrap().path(),
        &["store", "init", "--store", &database],
    )
    .ok();
    let registries = [
        shared_redis().create_database().url,
        database,
        shared_etcd().url(),
    ];
    thread::scope(|scope| {
        for registry in &registries {
            scope.spawn(|| check_pause(registry));
        }
    });
}

/// How much of a lease is left when the registry comes back: less than half of it, and enough for
/// the registry to start.
const LEFT_S: f64 = 6.5;
const OUTAGE: [&str; 6] = [
    "--worker-lease",
    "15s",
    "--worker-step",
    "300ms",
    "--journal-ahead",
    "1s",
];

/// The registry is down for more than half of a lease, and for more than all of it.
fn check_outages(registry: &str, stop: impl Fn(), start_again: impl Fn()) {
    let folder = tempdir().unwrap();
    let settings = [&["--registry", registry][..], &OUTAGE].concat();
    let server = spawn(&folder, &[&settings]);
    let id = held(&server);
    let callers = Callers::start(&server);
    callers.wait_for_ids(2000);

    // Down, and the server is killed and started again: it continues within its lease.
    stop();
    let leased_until_ms = until_ms(&server);
    callers.wait_for_ids(2000);
    server.kill();
    let server = spawn(&folder, &[&settings]);
    assert_eq!((held(&server), until_ms(&server)), (id, leased_until_ms));
    callers.turn_to(&server);
    until("end", || {
        (worker(&server)["left_seconds"].as_f64()? < LEFT_S).then_some(())
    });
    start_again();
    let leased_until_ms = until("longer lease", || {
        Some(until_ms(&server)).filter(|until_ms| *until_ms > leased_until_ms)
    });
    callers.told().check_nothing_refused();
    assert_eq!(held(&server), id);
    callers.told().given.iter().for_each(|given| {
        assert!(given.unix_ms() < leased_until_ms, "{given:?}");
    });

    // Down for longer: no id is issued beyond the lease, which ends by itself.
    stop();
    let leased_until_ms = until_ms(&server);
    // Each waits for a second before it is refused.
    let refused = callers.wait_for_refusals(3);
    assert!(
        refused.body.contains("no worker id to issue with"),
        "{refused:?}"
    );
    let (_, end_ms) = span(&callers.told().given, id);
    assert!(
        end_ms < leased_until_ms,
        "{end_ms} is beyond {leased_until_ms}"
    );
    let clock = SystemClock::new();
    let down_ms = now_ms(&clock);
    assert!(
        down_ms >= leased_until_ms,
        "refused {} ms too early",
        leased_until_ms - down_ms
    );
    start_again();
    callers.wait_for_ids(5000);
    let told = callers.stop();
    let back = told
        .given
        .iter()
        .find(|given| given.told_ms > down_ms)
        .unwrap();
    println!(
        "{}: {} ids, {} refused, back {} ms after it was started",
        registry.split(':').next().unwrap(),
        check_unique(&told.given),
        told.refused.len(),
        back.told_ms - down_ms
    );
    server.stop();
}

/// Guards that the registry is rarely needed: one that is down for more than half of the lease,
/// with a `kill -9` of the server in between, stops no ids; one that is down for longer than the
/// lease stops them at its very end, and no sooner.
#[test]
fn a_registry_that_is_down_is_missed_only_beyond_the_lease() {
    let (redis, etcd) = (Redis::start(), Etcd::start());
    thread::scope(|scope| {
        scope.spawn(|| check_outages(&redis.url(), || redis.kill(), || redis.start_again()));
        scope.spawn(|| check_outages(&etcd.url(), || etcd.stop(), || etcd.start_again()));
    });
}
