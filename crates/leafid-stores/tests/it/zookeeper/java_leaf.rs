//! Java Leaf and Leafid on one tree.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use leafid_testbed::{FakeClock, JavaLeafStart, JavaLeafWorker};

use super::*;

async fn java(bed: &Bed, address: &str) -> JavaLeafWorker {
    let started = JavaLeafWorker::start(&bed.servers, &bed.pool, address, now_ms()).await;
    started.unwrap()
}

async fn row(store: &dyn LeaseStore, worker: u32) -> Option<LeaseRecord> {
    let rows = store.leases().await.unwrap();
    rows.into_iter().find(|row| row.worker.get() == worker)
}

/// Guards that servers which start at once get different numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_at_once_get_different_numbers() {
    let bed = Bed::new().await;
    // A tree on which Java Leaf already runs; without one its own servers share 0.
    let first = java(&bed, "10.0.0.1:8080").await;
    let servers = join_all((0..50_u64).map(async |number| {
        let address = format!("10.1.0.{number}:8080");
        let mut rng = Rng::with_seed(number);
        Server::start(bed.open(None).await, &address, &mut rng).await
    }));
    let addresses: Vec<String> = (2..12).map(|n| format!("10.0.0.{n}:8080")).collect();
    let javas = join_all(addresses.iter().map(|address| java(&bed, address)));
    let (servers, mut javas) = tokio::join!(servers, javas);
    javas.push(first);
    let ours = servers.iter().map(Server::worker);
    let workers: BTreeSet<u32> = ours
        .chain(javas.iter().map(JavaLeafWorker::worker))
        .collect();
    assert_eq!(workers.len(), 61, "{workers:?}");
    for mut server in servers {
        assert!(server.extend().await);
    }
    let size = bed.children().await.len();
    println!("{size} children for 61 servers");
    assert!(size < 61 + 50);
}

/// Guards the same for servers of both kinds that start, stop and start again in any order.
#[tokio::test]
async fn any_order_of_starts_keeps_numbers_apart() {
    for _ in 0..4 {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        check_order(seed).await;
    }
}

async fn check_order(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let bed = Bed::new().await;
    // Whether Java Leaf or Leafid is first.
    if rng.bool() {
        bed.open(None).await.bind("leaf").await.unwrap();
    }
    let mut ours: BTreeMap<u32, Server> = BTreeMap::new();
    // A Java server keeps its number while it is stopped.
    let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
    for _ in 0..60 {
        let number = rng.u32(..8);
        match rng.u32(..3) {
            0 => {
                let worker = java(&bed, &format!("10.0.0.{number}:8080")).await.worker();
                let kept = *numbers.entry(number).or_insert(worker);
                assert_eq!(kept, worker, "seed {seed}");
            }
            1 if !ours.contains_key(&number) => {
                let address = format!("10.1.0.{number}:8080");
                let store = bed.open(Some(&address)).await;
                let server = Server::start(store, &address, &mut rng).await;
                ours.insert(number, server);
            }
            _ => {
                if let Some(server) = ours.remove(&number) {
                    server.stop().await;
                }
            }
        }
        let live = ours.values().map(Server::worker);
        let all: BTreeSet<u32> = live.chain(numbers.values().copied()).collect();
        assert_eq!(all.len(), ours.len() + numbers.len(), "seed {seed}");
    }
    let children = bed.children().await.len();
    assert!(children <= 8 + 8 + 1, "seed {seed}: {children} children");
}

/// Guards that a number of Java Leaf is shown as taken for good, and cannot be claimed by any key.
#[tokio::test]
async fn a_number_of_java_is_never_taken() {
    let bed = Bed::new().await;
    let worker = java(&bed, "10.0.0.5:8080").await.worker();
    let store = bed.open(Some("10.0.0.6:8080")).await;
    let shown = row(&*store, worker).await.unwrap();
    let java_row = LeaseRecord {
        epoch: 0,
        ..record(
            worker,
            "leaf 10.0.0.5:8080",
            "10.0.0.5:8080",
            LeaseRecord::FOREVER,
        )
    };
    assert_eq!(shown, java_row);
    let free = LeaseKey {
        epoch: 0,
        until_ms: 0,
    };
    for expected in [None, Some(free), Some(shown.key())] {
        let swap = LeaseSwap {
            expected,
            record: record(worker, "6f1c", "10.0.0.6:8080", now_ms()),
        };
        assert!(!store.swap(&swap).await.unwrap());
    }
    assert_eq!(bed.children().await.len(), 1);
}

/// Guards against Java Leaf's first start: a server that found no tree uses 0, whatever the number
/// of its child.
#[tokio::test]
async fn a_java_server_that_saw_no_tree_has_0() {
    let bed = Bed::new().await;
    let start = JavaLeafStart::look(&bed.servers, &bed.pool, "10.0.0.5:8080");
    let start = start.await.unwrap();
    let mut rng = Rng::new();
    let ours = Server::start(bed.open(None).await, "10.1.0.1:8080", &mut rng).await;
    assert_ne!(ours.worker(), 0);
    let zero = row(&*ours.store, 0).await.unwrap();
    assert!(zero.until_ms > now_ms(), "{zero:?}");
    let java = start.go_on(now_ms()).await.unwrap();
    assert_eq!(java.worker(), 0);
    let claim = LeaseSwap {
        expected: Some(zero.key()),
        record: record(0, "6f1c", "10.1.0.2:8080", now_ms() + HOUR_MS),
    };
    assert!(!ours.store.swap(&claim).await.unwrap());
    let zero = row(&*ours.store, 0).await.unwrap();
    assert_eq!(
        (&*zero.holder, zero.until_ms),
        ("leaf 10.0.0.5:8080", LeaseRecord::FOREVER)
    );
}

/// Guards that the same start without a Java server only makes 0 wait.
#[tokio::test]
async fn an_unused_0_can_be_claimed_later() {
    let clock = FakeClock::new();
    // A tree of a minute ago. The clock only goes forward: Java waits for the time to come again.
    clock.offset(-60.0);
    let server = ZooKeeper::start_at(&clock);
    let bed = Bed::on(&server).await;
    let mut rng = Rng::new();
    let first = Server::start(bed.open(None).await, "10.1.0.1:8080", &mut rng).await;
    clock.offset(0.0);
    assert_eq!(first.worker(), 0);
    let java = java(&bed, "10.0.0.5:8080").await;
    assert_ne!(java.worker(), 0);
    first.stop().await;
    let again = Server::start(bed.open(None).await, "10.1.0.2:8080", &mut rng).await;
    assert_eq!(again.worker(), 0);
}

/// Guards the move: a server that replaces a Java server takes over its number, once that one is
/// silent, and leaves a tree to which the Java server can return.
#[tokio::test]
async fn a_server_in_the_place_of_java_takes_over_its_number() {
    const ADDRESS: &str = "10.0.0.5:8080";
    let clock = FakeClock::new();
    clock.offset(-60.0);
    let server = ZooKeeper::start_at(&clock);
    let bed = Bed::on(&server).await;
    for other in 1..4 {
        java(&bed, &format!("10.0.0.{other}:8080")).await;
    }
    let mut old = java(&bed, ADDRESS).await;
    let reported_ms = now_ms() - 60_000;
    old.report(reported_ms).await.unwrap();
    let number = old.worker();
    let mut rng = Rng::new();

    // It still reports: its number cannot be claimed.
    let store = bed.open(Some(ADDRESS)).await;
    assert_eq!(
        row(&*store, number).await.unwrap().until_ms,
        LeaseRecord::FOREVER
    );
    clock.offset(0.0);
    let shown = row(&*store, number).await.unwrap();
    let java_row = LeaseRecord {
        epoch: 0,
        ..record(number, "leaf 10.0.0.5:8080", ADDRESS, reported_ms + 3_000)
    };
    assert_eq!(shown, java_row);
    // Others see it as taken, now and while we hold it.
    let stranger = bed.open(Some("10.0.0.9:8080")).await;
    assert_eq!(
        row(&*stranger, number).await.unwrap().until_ms,
        LeaseRecord::FOREVER
    );
    let ours = Server::start(store, ADDRESS, &mut rng).await;
    assert_eq!(ours.worker(), number);
    assert_eq!(
        row(&*stranger, number).await.unwrap().until_ms,
        LeaseRecord::FOREVER
    );

    // Our report is in Java's child, and does not lock us out after a restart.
    ours.store.report(&ours.held, now_ms()).await.unwrap();
    ours.stop().await;
    let other = Server::start(stranger, "10.0.0.9:8080", &mut rng).await;
    assert_ne!(other.worker(), number);
    let mut again = Server::start(bed.open(Some(ADDRESS)).await, ADDRESS, &mut rng).await;
    assert_eq!(again.worker(), number);

    // A Java server that returns reads our report, and uses its number. We lose it.
    let back = java(&bed, ADDRESS).await;
    assert_eq!(back.worker(), number);
    let mut back = back;
    back.report(now_ms()).await.unwrap();
    assert!(!again.extend().await);
    let shown = row(&*again.store, number).await.unwrap();
    assert_ne!(shown.holder, again.held.holder);
}

/// Guards that Java servers and operators see the holder of a number of ours, in Java's own format.
#[tokio::test]
async fn reports_are_there_to_be_read() {
    let bed = Bed::new().await;
    bed.give(1).await;
    let store = bed.open(Some("10.1.0.1:8080")).await;
    let held = record(1, "6f1c", "10.1.0.1:8080", now_ms());
    let swap = LeaseSwap {
        expected: None,
        record: held.clone(),
    };
    assert!(store.swap(&swap).await.unwrap());
    store.report(&held, 1_567_733_700_834).await.unwrap();
    assert_eq!(
        bed.child("leafid-0000000001").await,
        "{\"ip\":\"10.1.0.1\",\"port\":\"8080\",\"timestamp\":1567733700834}\n"
    );
    // Not into the child of another server, and not if there is none.
    let java = java(&bed, "10.0.0.5:8080").await;
    let before = bed.child("10.0.0.5:8080-0000000002").await;
    for worker in [0, java.worker()] {
        let other = record(worker, "6f1c", "10.1.0.1:8080", 0);
        store.report(&other, 1).await.unwrap();
    }
    assert_eq!(bed.child("10.0.0.5:8080-0000000002").await, before);
    assert_eq!(bed.children().await.len(), 2);
}
