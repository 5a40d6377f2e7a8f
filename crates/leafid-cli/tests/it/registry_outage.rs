//! Guards that an outage of the registry of worker ids is noticed within seconds, although no call
//! is due for half an hour: in the metrics, in `/readyz` and `/v1/worker`, and in the log, by one
//! line when it goes down and one when it is back.

use std::thread;

use leafid::SystemClock;
use leafid_testbed::{Etcd, MariaDb, Redis, ZooKeeper};
use tempfile::tempdir;

use crate::server_process::{Server, run, until};
use crate::snowflake_load::{Callers, check_unique, now_ms};

const UP: &str = "leafid_registry_up";
const GONE: &str = "the registry of worker ids does not answer";
const BACK: &str = "the registry of worker ids answers again";

/// Waits until the metric shows this; returns how long that took, in seconds.
fn wait_for(server: &Server, up: f64) -> f64 {
    let clock = SystemClock::new();
    let start_ms = now_ms(&clock);
    until("registry's state", || {
        (server.metric(UP).total_cmp(&up).is_eq()).then_some(())
    });
    (now_ms(&clock) - start_ms) as f64 / 1000.0
}

fn count(server: &Server, text: &str) -> usize {
    server.log().matches(text).count()
}

fn check(kind: &str, registry: &str, stop: impl Fn(), start_again: impl Fn()) {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--segment=false", "--registry", registry]);
    let callers = Callers::start(&server);
    wait_for(&server, 1.0);
    for outage in 1..=2 {
        stop();
        let gone_s = wait_for(&server, 0.0);
        let (_, ready) = server.get("/readyz?verbose");
        assert!(ready.contains("[-]registry: does not answer"), "{ready}");
        assert_eq!(server.json("/v1/worker")["registry_answers"], false);
        until("line", || (count(&server, GONE) == outage).then_some(()));
        callers.wait_for_ids(20_000);
        start_again();
        let back_s = wait_for(&server, 1.0);
        let (_, ready) = server.get("/readyz?verbose");
        assert!(ready.contains("[+]registry: answers"), "{ready}");
        println!("{kind}: gone after {gone_s:.1} s, back after {back_s:.1} s");
        until("line", || (count(&server, BACK) == outage).then_some(()));
        assert_eq!(count(&server, GONE), outage, "{}", server.log());
    }
    let told = callers.stop();
    told.check_nothing_refused();
    check_unique(&told.given);
    let log = server.log();
    let is_timed = |line: &str| line.contains(BACK) && line.contains("after=");
    assert_eq!(
        log.lines().filter(|line| is_timed(line)).count(),
        2,
        "{log}"
    );
    assert!(!log.contains("alarm:"), "{log}");
    server.stop();
}

/// Guards registries that are killed, and refuse connections.
#[test]
fn a_registry_that_is_killed_is_missed_at_once() {
    let (etcd, zookeeper, redis) = (Etcd::start(), ZooKeeper::start(), Redis::start());
    thread::scope(|scope| {
        scope.spawn(|| check("etcd", &etcd.url(), || etcd.kill(), || etcd.start_again()));
        scope.spawn(|| {
            check(
                "redis",
                &redis.url(),
                || redis.kill(),
                || redis.start_again(),
            );
        });
        scope.spawn(|| {
            let start_again = || zookeeper.start_again();
            check(
                "zookeeper",
                &zookeeper.url(),
                || zookeeper.kill(),
                start_again,
            );
        });
    });
}

/// Guards a registry that can be read, but not changed: it does not count as answering.
#[test]
fn a_registry_that_is_full_is_missed_until_it_is_not() {
    let redis = Redis::start();
    let folder = tempdir().unwrap();
    let url = redis.url();
    let lease = [
        "--segment=false",
        "--worker-lease",
        "40s",
        "--registry",
        &url,
    ];
    let server = Server::start(folder.path(), &lease);
    wait_for(&server, 1.0);
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let gone_s = wait_for(&server, 0.0);
    // Its row is read several times meanwhile.
    let clock = SystemClock::new();
    let end_ms = now_ms(&clock) + 6000;
    until("end of the look", || {
        assert!(server.metric(UP).total_cmp(&0.0).is_eq());
        (now_ms(&clock) > end_ms).then_some(())
    });
    redis.command(&["CONFIG", "SET", "maxmemory", "0"]);
    let back_s = wait_for(&server, 1.0);
    println!("full: gone after {gone_s:.1} s, back after {back_s:.1} s");
    until("line", || (count(&server, BACK) == 1).then_some(()));
    assert_eq!(count(&server, GONE), 1, "{}", server.log());
    server.stop();
}

/// Guards a registry that is set at run time to forget what it acknowledged: it is no longer used,
/// and the log says why.
#[test]
fn a_registry_that_turns_weak_is_not_written_any_more() {
    let redis = Redis::start();
    let folder = tempdir().unwrap();
    let url = redis.url();
    let lease = [
        "--segment=false",
        "--worker-lease",
        "20s",
        "--registry",
        &url,
    ];
    let server = Server::start(folder.path(), &lease);
    let callers = Callers::start(&server);
    callers.wait_for_ids(1000);
    redis.command(&["CONFIG", "SET", "appendonly", "no"]);
    // When the current lease has ended.
    callers.wait_for_refusals(1);
    let log = server.log();
    assert!(
        log.contains("could give a worker id twice: appendonly is no"),
        "{log}"
    );
    assert!(server.metric("leafid_weak_stores_refused_total") >= 1.0);
    redis.command(&["CONFIG", "SET", "appendonly", "yes"]);
    let given = callers.told().given.len();
    callers.wait_for_ids(given + 1000);
    check_unique(&callers.stop().given);
    server.stop();
}

/// Guards registries that accept connections and answer nothing.
#[test]
fn a_registry_that_hangs_is_missed_at_once() {
    let (database, zookeeper, redis) = (MariaDb::start(), ZooKeeper::start(), Redis::start());
    let url = database.create_database().url;
    run(
        tempdir().unwrap().path(),
        &["store", "init", "--store", &url],
    )
    .ok();
    thread::scope(|scope| {
        scope.spawn(|| check("mariadb", &url, || database.pause(), || database.resume()));
        scope.spawn(|| check("redis", &redis.url(), || redis.pause(), || redis.resume()));
        scope.spawn(|| {
            let resume = || zookeeper.resume();
            check("zookeeper", &zookeeper.url(), || zookeeper.pause(), resume);
        });
    });
}
