//! Guards that worker ids are the number of servers that live, and not of those that ever started:
//! 2,000 starts with new identities, 20 servers living at a time, on 64 worker ids.
//!
//! The servers are registries in one process, on a real Redis; 200 starts of the real binary are
//! in the tests of the crate leafid-cli.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::{
    Clock, Event, Id, Observer, RegistryOptions, SnowflakeOptions, SystemClock, WorkerRegistry,
};
use leafid_testbed::shared_redis;
use tokio::task::JoinSet;

use crate::registries::leases_at;

const STARTS: usize = 2000;
/// Servers that run at a time.
const LIVE: usize = 20;
/// Shorter than the whole test takes, so that worker ids of killed servers are used again.
const LEASE: Duration = Duration::from_secs(2);
const JOURNAL_AHEAD: Duration = Duration::from_millis(500);
/// 64 worker ids.
const LAYOUT: &str = "time45x1ms/worker6/sequence12@2020-01-01T00:00:00Z";
/// A server that is stopped gives its worker id back. One that is killed keeps it until
/// its lease ends, at most `LEASE` and a little later. So there is a worker id for each
/// start as long as `live + killed within a lease <= worker ids`; here 20 + 40 <= 64.
const KILLED_MAX: usize = 40;
const LITTLE: Duration = Duration::from_secs(1);
const IDS_PER_START: u64 = 50;

/// The state that all groups of servers share.
struct Churn {
    url: String,
    clock: SystemClock,
    started: AtomicUsize,
    /// When servers were killed whose worker ids are still leased.
    killed: Mutex<VecDeque<Duration>>,
    killed_count: AtomicUsize,
    /// Starts that got the error that no worker id is left.
    exhausted: AtomicUsize,
}

impl Observer for Churn {
    fn event(&self, event: &Event<'_>) {
        if matches!(event, Event::WorkersExhausted { .. }) {
            self.exhausted.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Churn {
    /// Whether one more server may be killed now; it counts as killed then.
    fn allows_to_kill(&self) -> bool {
        let now = self.clock.now();
        let mut killed = self.killed.lock().unwrap();
        while killed
            .front()
            .is_some_and(|time| *time + LEASE + LITTLE < now)
        {
            killed.pop_front();
        }
        let allows = killed.len() < KILLED_MAX;
        if allows {
            killed.push_back(now);
            self.killed_count.fetch_add(1, Ordering::Relaxed);
        }
        allows
    }

    /// Starts a new server, takes ids from it, and ends it.
    async fn start_and_end(self: &Arc<Self>, is_killed: bool) -> Vec<u64> {
        let options = RegistryOptions::default()
            .with_lease(LEASE)
            .with_journal_ahead(JOURNAL_AHEAD)
            .with_snowflake(
                SnowflakeOptions::default()
                    .with_layout(LAYOUT.parse().unwrap())
                    .with_wait_max(Duration::from_secs(30)),
            );
        let (registry, driver) = WorkerRegistry::builder()
            .store(leases_at(&self.url, "churn").await)
            .observer(Arc::<Self>::clone(self))
            .options(options)
            .build();
        let driver = tokio::spawn(driver);
        let ids = registry.snowflake().next_many(IDS_PER_START).await.unwrap();
        let ids = ids.map(Id::get).collect();
        if is_killed && self.allows_to_kill() {
            driver.abort();
            assert!(driver.await.unwrap_err().is_cancelled());
        } else {
            registry.stop();
            driver.await.unwrap();
        }
        ids
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_without_number_never_exhaust_the_worker_ids() {
    let churn = Arc::new(Churn {
        url: shared_redis().create_database().url,
        clock: SystemClock::new(),
        started: AtomicUsize::new(0),
        killed: Mutex::default(),
        killed_count: AtomicUsize::new(0),
        exhausted: AtomicUsize::new(0),
    });
    let started = churn.clock.now();
    let mut groups = JoinSet::new();
    for _ in 0..LIVE {
        let churn = Arc::clone(&churn);
        groups.spawn(async move {
            let mut all = Vec::new();
            loop {
                let number = churn.started.fetch_add(1, Ordering::Relaxed);
                if number >= STARTS {
                    return all;
                }
                all.extend(churn.start_and_end(number.is_multiple_of(10)).await);
            }
        });
    }
    let mut ids: Vec<u64> = groups.join_all().await.into_iter().flatten().collect();
    let killed = churn.killed_count.load(Ordering::Relaxed);
    println!(
        "{STARTS} starts, {killed} killed, in {:?}",
        churn.clock.now().saturating_sub(started)
    );
    assert_eq!(churn.exhausted.load(Ordering::Relaxed), 0);
    assert!(killed >= KILLED_MAX, "hardly any was killed: {killed}");
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id came twice");
    assert_eq!(ids.len(), STARTS * usize::try_from(IDS_PER_START).unwrap());
}
