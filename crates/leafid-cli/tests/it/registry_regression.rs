//! Guards the worker id's promise if the registry does not keep its own: it is emptied, or restored
//! from an older copy, under a server that issues, and a second server starts. Both make the same
//! ids at most until the first one reads its row again, and none after that.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use leafid::SystemClock;
use leafid_testbed::{Etcd, Proxy, Redis, ZooKeeper, shared_mariadb};
use serde_json::json;
use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, run, until};
use crate::snowflake_load::{Callers, Given, now_ms};

fn start(folder: &TempDir, registry: &str) -> Server {
    Server::start_unready(folder.path(), &["--segment=false", "--registry", registry])
}

/// Waits until a server holds a worker id, and returns it.
fn held(server: &Server) -> u64 {
    until("worker id", || {
        let worker = server.json("/v1/worker");
        let holds = worker["stage"] == "holding";
        holds.then(|| worker["worker"].as_u64()).flatten()
    })
}

/// When ids repeated, in milliseconds since 1970.
fn twice(given: &[Given]) -> Vec<u64> {
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    let again = given.iter().filter_map(|given| {
        let before = seen.insert(given.id, given.told_ms)?;
        Some(before.max(given.told_ms))
    });
    let mut again: Vec<u64> = again.collect();
    again.sort_unstable();
    again
}

const REGRESSIONS: &str = "leafid_registry_regressions_total";

/// `forget` makes the registry forget the holder of the first worker id.
fn check(kind: &str, registry: &str, folder: &TempDir, forget: impl FnOnce()) {
    let clock = SystemClock::new();
    let first = start(folder, registry);
    let worker = held(&first);
    let first_callers = Callers::start(&first);
    first_callers.wait_for_ids(5000);
    forget();
    let forgot_ms = now_ms(&clock);
    let other_folder = tempdir().unwrap();
    let second = start(&other_folder, registry);
    let second_callers = Callers::start(&second);
    // If the first server read its row before the second one started, it holds a worker id again.
    let is_free = held(&second) == worker;
    assert!(
        is_free || first.metric(REGRESSIONS) > 0.0,
        "{kind}: the registry has forgotten nothing"
    );
    second_callers.wait_for_ids(5000);
    let noticed = until("notice", || {
        let is_noticed = first.metric(REGRESSIONS) > 0.0;
        let is_late = now_ms(&clock) > forgot_ms + 30_000;
        (is_noticed || is_late).then_some(is_noticed)
    });
    let noticed_ms = now_ms(&clock);
    if noticed {
        assert_ne!(held(&first), held(&second));
        first_callers.wait_for_ids(5000);
        second_callers.wait_for_ids(5000);
    }
    let mut given = first_callers.stop().given;
    given.extend(second_callers.stop().given);
    let twice = twice(&given);
    let after_s = |ms: u64| (ms.saturating_sub(forgot_ms)) as f64 / 1000.0;
    println!(
        "{kind}: {} ids of both, {} of them twice, the last {:.1} s after the registry forgot",
        given.len(),
        twice.len(),
        twice.last().map_or(0.0, |ms| after_s(*ms)),
    );
    assert!(noticed, "{kind}: not noticed within 30 s");
    println!("{kind}: noticed after {:.1} s", after_s(noticed_ms));
    assert!(twice.iter().all(|ms| *ms <= noticed_ms), "{twice:?}");
    let log = first.log();
    let alarm = "alarm: the registry of worker ids has forgotten";
    assert_eq!(log.matches(alarm).count(), 1, "{log}");
    assert_eq!(second.metric(REGRESSIONS), 0.0);
    first.stop();
    second.stop();
}

/// Guards a registry that was emptied while it ran.
#[test]
fn a_registry_that_is_emptied_is_noticed() {
    let (etcd, redis) = (Etcd::start(), Redis::start());
    thread::scope(|scope| {
        scope.spawn(|| {
            check("etcd, emptied", &etcd.url(), &tempdir().unwrap(), || {
                // All keys.
                etcd.call(
                    "kv/deleterange",
                    &json!({ "key": "AA==", "range_end": "AA==" }),
                );
            });
        });
        scope.spawn(|| {
            check("redis, emptied", &redis.url(), &tempdir().unwrap(), || {
                redis.flush();
            });
        });
    });
}

/// Guards a registry that was stopped, and came back with older files: from before its first use,
/// or from when the server had given its worker id back.
#[test]
fn a_registry_restored_from_a_backup_is_noticed() {
    let (etcd, zookeeper, redis) = (Etcd::start(), ZooKeeper::start(), Redis::start());
    thread::scope(|scope| {
        scope.spawn(|| {
            let folder = tempdir().unwrap();
            let server = start(&folder, &etcd.url());
            held(&server);
            server.stop();
            etcd.stop();
            let backup = etcd.backup();
            etcd.start_again();
            check("etcd, put back", &etcd.url(), &folder, || {
                etcd.stop();
                etcd.put_back(&backup);
                etcd.start_again();
            });
        });
        scope.spawn(|| {
            zookeeper.stop();
            let backup = zookeeper.backup();
            zookeeper.start_again();
            check(
                "zookeeper, put back",
                &zookeeper.url(),
                &tempdir().unwrap(),
                || {
                    zookeeper.stop();
                    zookeeper.put_back(&backup);
                    zookeeper.start_again();
                },
            );
        });
        scope.spawn(|| {
            redis.stop();
            let backup = redis.backup();
            redis.start_again();
            check("redis, put back", &redis.url(), &tempdir().unwrap(), || {
                redis.stop();
                redis.put_back(&backup);
                redis.start_again();
            });
        });
    });
}

/// How long a registry that is slow takes for an answer: longer than half of `registry-check`.
const SLOW_MS: u64 = 1600;

/// `proxy` is on the way to the registry at `url`.
fn check_slow(kind: &str, url: &str, proxy: &Proxy, forget: impl Fn()) {
    let (clock, folder) = (SystemClock::new(), tempdir().unwrap());
    let words = [
        "--segment=false",
        "--registry",
        url,
        "--registry-check",
        "2s",
        "--store-statement-timeout",
        "2400ms",
    ];
    let server = Server::start(folder.path(), &words);
    held(&server);
    // After the first read of its row, which establishes the connection.
    let read_ms = now_ms(&clock) + 1500;
    until("first read", || (now_ms(&clock) > read_ms).then_some(()));
    proxy.delay(Duration::from_millis(SLOW_MS));
    until("outage", || {
        let is_missed = server.metric("leafid_registry_up").total_cmp(&0.0).is_eq();
        is_missed.then_some(())
    });
    forget();
    let forgot_ms = now_ms(&clock);
    until("notice", || {
        (server.metric(REGRESSIONS) > 0.0).then_some(())
    });
    let took_ms = now_ms(&clock) - forgot_ms;
    println!("{kind}: answers after {SLOW_MS} ms, noticed after {took_ms} ms");
    // Two answers; the rest is for a busy machine.
    assert!(took_ms < 3 * SLOW_MS, "{kind}: {took_ms} ms");
}

/// Guards a registry that answers, but always later than a read of our own row may take, and almost
/// as late as any call may: that it was emptied is noticed as soon as it says so. Most cannot
/// establish a new connection in that time.
#[test]
fn a_slow_registry_that_is_emptied_is_noticed() {
    let (etcd, redis, mariadb) = (Etcd::start(), Redis::start(), shared_mariadb());
    let database = mariadb.create_database();
    let init = ["store", "init", "--store", &database.url];
    run(tempdir().unwrap().path(), &init).ok();
    thread::scope(|scope| {
        scope.spawn(|| {
            let proxy = Proxy::new(etcd.port());
            check_slow("etcd", &etcd.url_at(proxy.port()), &proxy, || {
                let all = json!({ "key": "AA==", "range_end": "AA==" });
                etcd.call("kv/deleterange", &all);
            });
        });
        scope.spawn(|| {
            let proxy = Proxy::new(redis.port());
            check_slow("redis", &redis.url_at(proxy.port()), &proxy, || {
                redis.flush();
            });
        });
        scope.spawn(|| {
            let proxy = Proxy::new(mariadb.port());
            let url = mariadb.url_at(proxy.port(), &database.name);
            check_slow("mariadb", &url, &proxy, || {
                mariadb.sql(&database.name, "DELETE FROM leafid_worker");
            });
        });
    });
}
