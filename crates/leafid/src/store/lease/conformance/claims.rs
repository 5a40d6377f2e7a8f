//! What the contract is for: servers that claim, lose, give back and take over worker ids, with
//! the real registry on top of the store. Each server has a clock of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{Either, join_all, select};

use super::counting_store::CountingStore;
use super::{Check, LeaseHandles, Outcome, check, same};
use crate::clock::{Clock, ManualClock, SystemClock};
use crate::id::Id;
use crate::layout::{Layout, LayoutSpec};
use crate::registry::{
    RegistryDriver, RegistryOptions, RegistryStage, RegistryStatus, WorkerChoice, WorkerRegistry,
};
use crate::snowflake::SnowflakeOptions;
use crate::store::{LeaseStore, MemoryJournal};
use crate::worker_id::WorkerId;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "fifty servers at once",
        "of many servers that start at once on an empty registry no two get the same worker id",
        fifty
    ),
    check!(
        "the same holder",
        "a killed server gets its worker id back, and continues above its last id",
        same_holder
    ),
    check!(
        "a released worker id",
        "a worker id that was given back is free at once, above the last id",
        released
    ),
    check!(
        "an expired worker id",
        "a lease is kept to its end, and the next holder starts there or above",
        expired
    ),
    check!(
        "a lost worker id",
        "who has lost its worker id issues nothing in the range of the next holder",
        lost
    ),
    check!(
        "no worker id left",
        "when all worker ids are held, the error names the holders",
        exhausted
    ),
];

const LEASE: Duration = Duration::from_secs(600);
/// How many steps a server gets before it counts as stuck, 20 ms of its own time each.
const NAPS_MAX: usize = 3000;
const NAP: Duration = Duration::from_millis(1);
const OWN_TIME: Duration = Duration::from_millis(20);
/// How long a server may wait for the registry, in real time. A busy machine may keep one from
/// answering for seconds.
const ANSWERS_MAX: Duration = Duration::from_secs(60);

struct Server {
    store: Arc<CountingStore>,
    registry: WorkerRegistry,
    driver: RegistryDriver,
    clock: ManualClock,
    journal: MemoryJournal,
}

/// The settings of a server.
#[derive(Clone)]
struct Setup {
    journal: MemoryJournal,
    choice: WorkerChoice,
    /// How far its clock is ahead of the others'.
    ahead: Duration,
    layout: Layout,
    address: String,
}

impl Setup {
    fn new() -> Self {
        Self {
            journal: MemoryJournal::new(),
            choice: WorkerChoice::Any,
            ahead: Duration::ZERO,
            layout: Layout::LEAF,
            address: String::new(),
        }
    }

    fn start(self, store: &Arc<dyn LeaseStore>) -> Server {
        let clock = ManualClock::new();
        // The store may have a clock of its own.
        clock.set_wall(SystemClock::new().wall() + self.ahead);
        let options = RegistryOptions {
            snowflake: SnowflakeOptions {
                layout: self.layout,
                ..SnowflakeOptions::default()
            },
            choice: self.choice,
            address: self.address,
            lease: LEASE,
            clock_offset_max: Duration::from_secs(1_000_000),
            ..RegistryOptions::default()
        };
        let store = CountingStore::new(store);
        let (registry, driver) = WorkerRegistry::builder()
            .store(store.clone())
            .journal(self.journal.clone())
            .clock(Arc::new(clock.clone()))
            .options(options)
            .build();
        Server {
            store,
            registry,
            driver,
            clock,
            journal: self.journal,
        }
    }
}

impl Server {
    /// Runs it until it has the wanted state.
    async fn until(&mut self, wanted: impl Fn(&RegistryStatus) -> bool) -> Result<(), String> {
        let real = SystemClock::new();
        let answers_end = real.now() + ANSWERS_MAX;
        let mut naps = 0;
        while naps < NAPS_MAX {
            if wanted(&self.registry.status()) {
                return Ok(());
            }
            match select(&mut self.driver, real.sleep(NAP)).await {
                Either::Left(_) if wanted(&self.registry.status()) => return Ok(()),
                Either::Left(_) => break,
                Either::Right(_) if self.store.is_busy() && real.now() < answers_end => {}
                Either::Right(_) => {
                    naps += 1;
                    self.clock.advance(OWN_TIME);
                }
            }
        }
        Err(format!("a server stays {}", self.registry.status().stage))
    }

    /// Runs it, as a program does, while its clock stands still. One whose driver stops in the
    /// middle of a call can keep others waiting that share its connection.
    async fn run_while(&mut self, goes_on: impl Fn() -> bool) {
        let real = SystemClock::new();
        while goes_on() {
            if let Either::Left(_) = select(&mut self.driver, real.sleep(NAP)).await {
                break;
            }
        }
    }

    async fn holds(&mut self) -> Result<WorkerId, String> {
        self.until(RegistryStatus::is_ready).await?;
        let lease = self
            .registry
            .status()
            .lease
            .ok_or("it is ready without a lease")?;
        Ok(lease.worker)
    }

    async fn is_refused(&mut self) -> Result<String, String> {
        let refused =
            |status: &RegistryStatus| matches!(status.stage, RegistryStage::Refused { .. });
        self.until(refused).await?;
        Ok(self.registry.status().stage.to_string())
    }

    async fn stop(mut self) -> Outcome {
        self.registry.stop();
        self.until(|status| status.stage == RegistryStage::Stopped)
            .await
    }

    fn take(&self) -> Result<Id, String> {
        let id = self.registry.snowflake().try_next();
        id.map_err(|error| format!("no id: {error}"))
    }
}

async fn fifty(handles: &LeaseHandles) -> Outcome {
    let stores = [&handles.first, &handles.second];
    let mut servers: Vec<Server> = stores
        .into_iter()
        .cycle()
        .take(50)
        .map(|store| Setup::new().start(store))
        .collect();
    let (ended, all) = (AtomicUsize::new(0), servers.len());
    let holding = servers.iter_mut().map(|server| async {
        let worker = server.holds().await;
        // Relaxed: all of it happens in one task.
        ended.fetch_add(1, Ordering::Relaxed);
        server
            .run_while(|| ended.load(Ordering::Relaxed) < all)
            .await;
        worker
    });
    let workers = join_all(holding).await;
    let workers: Result<Vec<WorkerId>, String> = workers.into_iter().collect();
    let workers = workers?;
    let distinct: BTreeSet<WorkerId> = workers.iter().copied().collect();
    same("the number of different worker ids", &distinct.len(), &50)
}

async fn same_holder(handles: &LeaseHandles) -> Outcome {
    let mut server = Setup::new().start(&handles.first);
    let worker = server.holds().await?;
    let id = server.take()?;
    let journal = server.journal.clone();
    drop(server);
    let mut again = Setup {
        journal,
        ..Setup::new()
    }
    .start(&handles.second);
    same(
        "the worker id after a restart",
        &again.holds().await?,
        &worker,
    )?;
    above("the first id after a restart", again.take()?, id)
}

async fn released(handles: &LeaseHandles) -> Outcome {
    let mut server = Setup::new().start(&handles.first);
    let worker = server.holds().await?;
    let id = server.take()?;
    server.stop().await?;
    let choice = WorkerChoice::Exactly(worker);
    let mut other = Setup {
        choice,
        ..Setup::new()
    }
    .start(&handles.second);
    same("the worker id", &other.holds().await?, &worker)?;
    above("the first id of the next holder", other.take()?, id)
}

async fn expired(handles: &LeaseHandles) -> Outcome {
    let mut server = Setup::new().start(&handles.first);
    let worker = server.holds().await?;
    let until_ms = server
        .registry
        .status()
        .lease
        .map_or(0, |lease| lease.until_ms);
    drop(server);
    let choice = WorkerChoice::Exactly(worker);
    let mut early = Setup {
        choice,
        ..Setup::new()
    }
    .start(&handles.second);
    let reason = early.is_refused().await?;
    if !reason.contains("held") {
        return Err(format!("before the end the next server is {reason}"));
    }
    drop(early);
    let ahead = LEASE * 2;
    let mut late = Setup {
        choice,
        ahead,
        ..Setup::new()
    }
    .start(&handles.second);
    same("the worker id", &late.holds().await?, &worker)?;
    starts_above(&late, until_ms)
}

async fn lost(handles: &LeaseHandles) -> Outcome {
    let mut server = Setup::new().start(&handles.first);
    let worker = server.holds().await?;
    let until_ms = server
        .registry
        .status()
        .lease
        .map_or(0, |lease| lease.until_ms);
    // Another server, whose clock is ahead, takes the worker id while the first one is paused.
    let choice = WorkerChoice::Exactly(worker);
    let mut other = Setup {
        choice,
        ahead: LEASE * 2,
        ..Setup::new()
    }
    .start(&handles.second);
    same("the worker id", &other.holds().await?, &worker)?;
    starts_above(&other, until_ms)?;
    // It wakes up when it is time to extend, and takes an id before its driver has run.
    server.clock.advance(LEASE * 3 / 4);
    if let Ok(id) = server.registry.snowflake().try_next() {
        let parts = Layout::LEAF.decompose(id.get());
        if parts.worker == worker && parts.unix_ms.unsigned_abs() >= until_ms {
            return Err(format!(
                "{id} of the first holder is above its end {until_ms}"
            ));
        }
    }
    let another = |status: &RegistryStatus| {
        status.is_ready() && status.lease.is_some_and(|lease| lease.worker != worker)
    };
    server.until(another).await
}

async fn exhausted(handles: &LeaseHandles) -> Outcome {
    let leaf = Layout::LEAF;
    let layout = Layout::new(LayoutSpec {
        time_bits: leaf.time_bits(),
        data_center_bits: 0,
        worker_bits: 1,
        sequence_bits: 21,
        shard_bits: 0,
        unit: leaf.unit(),
        epoch: leaf.epoch(),
        sequence_place: leaf.sequence_place(),
    });
    let layout = layout.map_err(|error| error.to_string())?;
    let setup = |number: u8| Setup {
        layout,
        address: format!("10.0.0.{number}:8080"),
        ..Setup::new()
    };
    let mut servers = [
        setup(1).start(&handles.first),
        setup(2).start(&handles.second),
    ];
    for server in &mut servers {
        server.holds().await?;
    }
    let mut third = setup(3).start(&handles.first);
    let reason = third.is_refused().await?;
    for holder in ["10.0.0.1:8080", "10.0.0.2:8080"] {
        if !reason.contains(holder) {
            return Err(format!("the third of two is {reason}, without {holder}"));
        }
    }
    Ok(())
}

fn above(what: &str, id: Id, other: Id) -> Outcome {
    if id > other {
        Ok(())
    } else {
        Err(format!("{what} is {id}, not above {other}"))
    }
}

fn starts_above(server: &Server, until_ms: u64) -> Outcome {
    let lease = server.registry.status().lease;
    if lease.is_none_or(|lease| lease.start_ms < until_ms) {
        return Err(format!(
            "the next holder has {lease:?}, and the former one up to {until_ms}"
        ));
    }
    let parts = Layout::LEAF.decompose(server.take()?.get());
    if parts.unix_ms.unsigned_abs() < until_ms {
        return Err(format!(
            "the next holder issues at {}, below {until_ms}",
            parts.unix_ms
        ));
    }
    Ok(())
}
