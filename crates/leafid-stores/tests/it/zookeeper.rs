//! Worker ids in ZooKeeper, alone and beside Java Leaf. `zookeeper/faults.rs` has the faults.

mod java_leaf;

mod faults;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fastrand::Rng;
use leafid::store::lease_conformance::LeaseHandles;
use leafid::store::{LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, StoreError};
use leafid::{Clock, SystemClock, WorkerId};
use leafid_stores::{LeaseOptions, StoreOptions, init, open, open_leases};
use leafid_testbed::{ZooKeeper, shared_zookeeper};
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions};

use crate::{check_leases_conform, url_of};

const FOLDER: CreateOptions<'static> = CreateMode::Persistent.with_acls(Acls::anyone_all());
const CHILD: CreateOptions<'static> =
    CreateMode::PersistentSequential.with_acls(Acls::anyone_all());

/// One pool on one server, with a view from outside.
struct Bed {
    servers: String,
    url: String,
    pool: String,
    client: Client,
}

impl Bed {
    async fn new() -> Self {
        Self::on(shared_zookeeper()).await
    }

    async fn on(server: &ZooKeeper) -> Self {
        static POOLS: AtomicU32 = AtomicU32::new(0);
        let pool = POOLS.fetch_add(1, Ordering::Relaxed);
        let servers = format!("127.0.0.1:{}", server.port());
        let client = Client::connect(&servers).await.unwrap();
        Self {
            servers,
            url: server.url(),
            pool: format!("com.example.leaf-{pool}"),
            client,
        }
    }

    async fn open(&self, address: Option<&str>) -> Arc<dyn LeaseStore> {
        let lease_options = LeaseOptions::new(&self.pool).with_address(address.map(str::to_owned));
        // A server with a clock of its own is slow.
        let options = StoreOptions::default()
            .with_connect_timeout(Duration::from_secs(15))
            .with_statement_timeout(Duration::from_secs(60));
        open_with(&self.url, &lease_options, options).await
    }

    fn forever(&self) -> String {
        format!("/snowflake/{}/forever", self.pool)
    }

    async fn children(&self) -> BTreeSet<String> {
        let children = self.client.list_children(&self.forever()).await.unwrap();
        children.into_iter().collect()
    }

    async fn child(&self, name: &str) -> String {
        let path = format!("{}/{name}", self.forever());
        let (content, _) = self.client.get_data(&path).await.unwrap();
        String::from_utf8(content).unwrap()
    }

    /// Assigns the first `count` numbers and frees them again, as after servers of Java Leaf that
    /// an operator removed.
    async fn give(&self, count: usize) {
        self.client.mkdir(&self.forever(), &FOLDER).await.unwrap();
        for _ in 0..count {
            let prefix = format!("{}/10.0.0.1:1-", self.forever());
            let (_, number) = self.client.create(&prefix, b"", &CHILD).await.unwrap();
            let path = format!("{prefix}{number}");
            self.client.delete(&path, None).await.unwrap();
        }
    }
}

async fn open_with(
    url: &str,
    lease_options: &LeaseOptions,
    options: StoreOptions,
) -> Arc<dyn LeaseStore> {
    let opened = open_leases(&url_of(url), lease_options, &options).await;
    opened.unwrap()
}

fn now_ms() -> u64 {
    let now = SystemClock::default().wall();
    now.as_millis().try_into().unwrap()
}

fn record(worker: u32, holder: &str, address: &str, until_ms: u64) -> LeaseRecord {
    LeaseRecord {
        worker: WorkerId::new(worker),
        epoch: 1,
        holder: holder.to_owned(),
        address: address.to_owned(),
        until_ms,
    }
}

const HOUR_MS: u64 = 3_600_000;

/// A server of ours, which claims as the core does.
struct Server {
    store: Arc<dyn LeaseStore>,
    held: LeaseRecord,
}

impl Server {
    /// The best expired row, or the smallest number without one; after each refusal among twice as
    /// many.
    async fn start(store: Arc<dyn LeaseStore>, address: &str, rng: &mut Rng) -> Self {
        for round in 0..64 {
            let rows = store.leases().await.unwrap();
            let (worker, seen) = choose(&rows, address, 1 << round.min(8), rng);
            let held = LeaseRecord {
                epoch: seen.map_or(0, |row| row.epoch) + 1,
                ..record(worker.get(), address, address, now_ms() + HOUR_MS)
            };
            let expected = seen.map(LeaseRecord::key);
            let swap = LeaseSwap {
                expected,
                record: held.clone(),
            };
            if store.swap(&swap).await.unwrap() {
                return Self { store, held };
            }
        }
        panic!("{address} finds no worker id in 64 rounds");
    }

    fn worker(&self) -> u32 {
        self.held.worker.get()
    }

    async fn extend(&mut self) -> bool {
        let until_ms = self.held.until_ms + HOUR_MS;
        self.write(until_ms).await
    }

    /// Stops normally.
    async fn stop(mut self) {
        assert!(self.write(now_ms()).await);
    }

    async fn write(&mut self, until_ms: u64) -> bool {
        let record = LeaseRecord {
            until_ms,
            ..self.held.clone()
        };
        let swap = LeaseSwap {
            expected: Some(self.held.key()),
            record: record.clone(),
        };
        let is_written = self.store.swap(&swap).await.unwrap();
        if is_written {
            self.held = record;
        }
        is_written
    }
}

fn choose<'a>(
    rows: &'a [LeaseRecord],
    address: &str,
    choices: usize,
    rng: &mut Rng,
) -> (WorkerId, Option<&'a LeaseRecord>) {
    let mut free: Vec<&LeaseRecord> = rows.iter().collect();
    free.retain(|row| row.until_ms <= now_ms());
    free.sort_by_key(|row| (row.address != address, row.until_ms));
    if let Some(first) = free.first() {
        let is_own = first.address == address;
        let choices = if is_own { 1 } else { choices.min(free.len()) };
        let row = free[rng.usize(..choices)];
        return (row.worker, Some(row));
    }
    let taken: BTreeSet<u32> = rows.iter().map(|row| row.worker.get()).collect();
    let absent: Vec<u32> = (0..).filter(|n| !taken.contains(n)).take(choices).collect();
    (WorkerId::new(absent[rng.usize(..choices)]), None)
}

/// Guards the contract, once with free numbers and once with Java Leaf's next ones. 0 was assigned
/// in both: one of our own would have to wait.
#[test]
fn zookeeper_conforms() {
    for given in [1, 64] {
        check_leases_conform(|| async {
            let bed = Bed::new().await;
            bed.give(given).await;
            LeaseHandles {
                first: bed.open(None).await,
                second: bed.open(None).await,
            }
        });
    }
}

/// Guards that the number of the next sequential child can be derived from what the server reports,
/// with children of any kind created and deleted before.
#[tokio::test]
async fn the_next_number_is_known() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let bed = Bed::new().await;
    bed.client.mkdir(&bed.forever(), &FOLDER).await.unwrap();
    let mut compared = 0;
    for step in 0..100 {
        let (names, stat) = bed.client.get_children(&bed.forever()).await.unwrap();
        let next = (stat.cversion + stat.num_children) / 2;
        match rng.u32(..4) {
            0 if !names.is_empty() => {
                let name = &names[rng.usize(..names.len())];
                let path = format!("{}/{name}", bed.forever());
                bed.client.delete(&path, None).await.unwrap();
            }
            1 => {
                let path = format!("{}/plain{step}", bed.forever());
                bed.client.create(&path, b"", &FOLDER).await.unwrap();
            }
            _ => {
                let path = format!("{}/x-", bed.forever());
                let (_, number) = bed.client.create(&path, b"", &CHILD).await.unwrap();
                assert_eq!(number.into_i64(), i64::from(next), "{stat:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 10);
}

/// Guards that a number is only taken out of Java Leaf's sequence when needed, and that the number
/// that comes instead is not lost.
#[tokio::test]
async fn a_number_is_taken_from_the_sequence_only_if_need_be() {
    let bed = Bed::new().await;
    bed.give(3).await;
    let store = bed.open(None).await;
    let claim = async |worker: u32| {
        let swap = LeaseSwap {
            expected: None,
            record: record(worker, "6f1c", "10.0.0.5:8080", 9),
        };
        store.swap(&swap).await.unwrap()
    };
    assert!(claim(2).await);
    assert!(bed.children().await.is_empty());
    assert!(claim(3).await);
    assert_eq!(
        bed.children().await,
        ["leafid-0000000003".to_owned()].into()
    );
    // 5 cannot be claimed before 4 is.
    assert!(!claim(5).await);
    let mut rows = store.leases().await.unwrap();
    rows.sort_by_key(|row| row.worker);
    let keys: Vec<(u32, LeaseKey)> = rows.iter().map(|r| (r.worker.get(), r.key())).collect();
    let key = |epoch, until_ms| LeaseKey { epoch, until_ms };
    assert_eq!(keys, [(2, key(1, 9)), (3, key(1, 9)), (4, key(0, 0))]);
    assert!(claim(5).await);
    assert_eq!(bed.children().await.len(), 3);
}

/// Guards that servers which come and go use the same numbers again.
#[tokio::test]
async fn the_tree_does_not_grow_with_restarts() {
    let bed = Bed::new().await;
    let mut rng = Rng::new();
    let mut sizes = Vec::new();
    for restart in 0..8 {
        let mut servers = Vec::new();
        for server in 0..3 {
            let address = format!("10.1.{restart}.{server}:80");
            let store = bed.open(None).await;
            servers.push(Server::start(store, &address, &mut rng).await);
        }
        let workers: BTreeSet<u32> = servers.iter().map(Server::worker).collect();
        assert_eq!(workers.len(), 3);
        for server in servers {
            server.stop().await;
        }
        sizes.push(bed.children().await.len());
    }
    // 0 waits at first, so there may be one more than three.
    assert!(sizes.iter().all(|size| *size <= 4), "{sizes:?}");
    assert_eq!(sizes[0], sizes[7]);
}

/// Guards that a registry is refused as a store of segments.
#[tokio::test]
async fn segments_are_refused() {
    let url = url_of("zookeeper://leaf:s3cret@127.0.0.1:1");
    let options = StoreOptions::default();
    let errors = [
        open(&url, &options).await.err().unwrap(),
        init(&url, &options).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, StoreError::Unsupported { .. }));
        let text = error.to_string();
        assert!(text.starts_with("zookeeper is known as a registry of worker ids only"));
    }
}
