//! Guards how many servers get a worker id: fifty that start at once on an empty registry get
//! fifty, on each kind of registry; and an unlimited number of starts, with twenty servers running
//! at a time, never exhausts the worker ids.
//!
//! All servers here are processes. The same with 2,000 starts in one process, and the fifty in one
//! process on each kind of registry, is in the tests of the crate leafid-stores.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use leafid::{Clock, SystemClock};
use leafid_testbed::{
    shared_etcd, shared_mariadb, shared_postgres, shared_redis, shared_zookeeper,
};
use tempfile::tempdir;

use crate::server_process::{Server, run, until};

const SERVERS: usize = 50;

fn start(folder: &Path, number: usize, arguments: &[&str]) -> Server {
    // Each has a journal, and so an identity, of its own.
    let journal = format!("server-{number}");
    let own = ["--data-dir", &journal, "--segment=false", "--threads", "1"];
    Server::start_unready(folder, &[&own, arguments].concat())
}

/// Waits until a server holds a worker id, and returns it.
fn held(server: &Server) -> u64 {
    until("worker id", || {
        let worker = server.json("/v1/worker");
        let holds = worker["stage"] == "holding";
        holds.then(|| worker["worker"].as_u64()).flatten()
    })
}

/// Starts fifty servers at once.
fn check_fifty(registry: &str) {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let clock = SystemClock::new();
    let started = clock.now();
    let pool = ["--registry", registry, "--worker-pool", "fifty"];
    let servers: Vec<Server> = thread::scope(|scope| {
        let start = |number| scope.spawn(move || start(folder, number, &pool));
        let starts: Vec<_> = (0..SERVERS).map(start).collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    let held: Vec<u64> = servers.iter().map(held).collect();
    let kind = registry.split(':').next().unwrap();
    println!(
        "{kind}: {:?}: {held:?}",
        clock.now().saturating_sub(started)
    );
    let distinct: BTreeSet<u64> = held.iter().copied().collect();
    assert_eq!(distinct.len(), SERVERS, "{held:?}");
}

#[test]
fn fifty_servers_at_once_on_redis() {
    check_fifty(&shared_redis().create_database().url);
}

#[test]
fn fifty_servers_at_once_on_etcd() {
    check_fifty(&shared_etcd().url());
}

#[test]
fn fifty_servers_at_once_on_zookeeper() {
    check_fifty(&shared_zookeeper().url());
}

#[test]
fn fifty_servers_at_once_on_mariadb() {
    check_fifty(&initialised(shared_mariadb().create_database().url));
}

#[test]
fn fifty_servers_at_once_on_postgres() {
    check_fifty(&initialised(shared_postgres().create_database().url));
}

fn initialised(url: String) -> String {
    run(
        tempdir().unwrap().path(),
        &["store", "init", "--store", &url],
    )
    .ok();
    url
}

const STARTS: usize = 200;
/// Servers that run at a time.
const LIVE: usize = 20;
const LEASE: Duration = Duration::from_secs(10);
/// 64 worker ids.
const LAYOUT: &str = "time45x1ms/worker6/sequence12@2020-01-01T00:00:00Z";
/// A server that is stopped gives its worker id back; one that is killed keeps it to the end of
/// its lease. So there is one left for each start as long as
/// `live + killed within a lease <= worker ids`: 20 + 40 <= 64.
const KILLED_MAX: usize = 40;

/// When servers were killed, within the last lease.
#[derive(Default)]
struct Killed {
    clock: SystemClock,
    times: Mutex<VecDeque<Duration>>,
    count: AtomicUsize,
}

impl Killed {
    /// Whether one more may be killed now; it counts as killed then.
    fn allows(&self) -> bool {
        let now = self.clock.now();
        let mut times = self.times.lock().unwrap();
        // A lease that was just extended ends `LEASE` from now; and one step more for the clock.
        while times
            .front()
            .is_some_and(|time| *time + LEASE + Duration::from_secs(4) < now)
        {
            times.pop_front();
        }
        let allows = times.len() < KILLED_MAX;
        if allows {
            times.push_back(now);
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        allows
    }
}

/// Starts servers one after the other, and ends each once it has issued some ids.
fn start_and_end(folder: &Path, url: &str, next: &AtomicUsize, killed: &Killed) -> Vec<u64> {
    let settings = [
        "--registry",
        url,
        "--worker-lease",
        "10s",
        "--layout",
        LAYOUT,
    ];
    let mut ids = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= STARTS {
            return ids;
        }
        let server = start(folder, number, &settings);
        held(&server);
        for _ in 0..10 {
            let (status, id) = server.get("/api/snowflake/get/order");
            assert_eq!(status, 200, "{id}");
            ids.push(id.parse().unwrap());
        }
        let log = server.log();
        assert!(!log.contains("all worker ids are held"), "{log}");
        if number.is_multiple_of(2) && killed.allows() {
            server.kill();
        } else {
            server.stop();
        }
    }
}

/// Guards that worker ids are the number of servers that live, and not of those that ever started:
/// each start is a new identity, and there are three starts for each worker id.
#[test]
fn starts_without_number_never_exhaust_the_worker_ids() {
    let url = shared_redis().create_database().url;
    let folder = tempdir().unwrap();
    let (next, killed) = (AtomicUsize::new(0), Killed::default());
    let clock = SystemClock::new();
    let started = clock.now();
    let ids: Vec<u64> = thread::scope(|scope| {
        let start = |_| scope.spawn(|| start_and_end(folder.path(), &url, &next, &killed));
        let threads: Vec<_> = (0..LIVE).map(start).collect();
        let ids = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        ids.collect()
    });
    let killed = killed.count.load(Ordering::Relaxed);
    println!(
        "{STARTS} starts, {killed} killed, in {:?}",
        clock.now().saturating_sub(started)
    );
    let distinct: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), STARTS * 10, "an id came twice");
    assert!(killed >= KILLED_MAX, "hardly any was killed: {killed}");
}
