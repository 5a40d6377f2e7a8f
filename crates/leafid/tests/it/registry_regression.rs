//! Worker ids in a registry that forgets: emptied, or restored from an older copy, under running
//! servers. How long that goes unnoticed, and its consequences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::{LeaseRecord, LeaseStore as _, LeaseSwap, MemoryLeaseStore};
use leafid::{Clock as _, Layout, ManualClock, WorkerChoice, WorkerId};

use crate::cluster::{Mood, Registry, Server, Setup, millis, restarts, store};

const SECOND: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(100);
/// How long a registry that forgot may go unnoticed.
const CHECK: Duration = Duration::from_secs(5);

/// Servers on one clock. Each makes an id every step, so that two with one worker id meet.
struct Cluster {
    servers: Vec<Server>,
    /// Which server made ids of this worker id and time.
    made: BTreeMap<(WorkerId, i64), usize>,
    /// When two servers made ids of one worker id and time, which can be equal.
    met: Vec<Duration>,
}

impl Cluster {
    fn new(servers: Vec<Server>) -> Self {
        Self {
            servers,
            made: BTreeMap::new(),
            met: Vec::new(),
        }
    }

    fn run(&mut self, time: Duration) {
        let clock = self.servers[0].clock.clone();
        let until = clock.now() + time;
        while clock.now() < until {
            self.servers[0].advance(STEP);
            for (number, server) in self.servers.iter_mut().enumerate() {
                server.advance(Duration::ZERO);
                let Ok(id) = server.try_next() else {
                    continue;
                };
                let parts = Layout::LEAF.decompose(id.get());
                let place = (parts.worker, parts.unix_ms);
                if *self.made.entry(place).or_insert(number) != number {
                    self.met.push(clock.now());
                }
            }
        }
    }

    fn workers(&self) -> Vec<WorkerId> {
        self.servers.iter().map(Server::worker).collect()
    }
}

fn setup(store: &std::sync::Arc<Registry>, clock: &ManualClock) -> Setup {
    let mut setup = Setup::new(store);
    setup.options.check_interval = CHECK;
    setup.clock = clock.clone();
    setup
}

/// Another registry with the same rows.
fn copy(of: &MemoryLeaseStore) -> MemoryLeaseStore {
    let copy = MemoryLeaseStore::new();
    for record in block_on(of.leases()).unwrap() {
        let put = LeaseSwap {
            expected: None,
            record,
        };
        assert!(block_on(copy.swap(&put)).unwrap());
    }
    copy
}

/// Guards that a server whose row is gone stops within the interval, says so, and continues with a
/// worker id that no other server has, above all that it made before.
#[test]
fn a_registry_that_was_emptied_is_noticed_within_the_interval() {
    let (store, clock) = (store(), ManualClock::new());
    let mut cluster = Cluster::new(vec![setup(&store, &clock).start()]);
    cluster.run(SECOND * 20);
    let last = cluster.servers[0].next().unix_ms;
    store.memory.set(MemoryLeaseStore::new());
    let emptied = clock.now();
    cluster.servers.push(setup(&store, &clock).start());
    assert_eq!(cluster.workers(), [WorkerId::new(0); 2], "nobody knows yet");
    cluster.run(CHECK);
    let noticed = &cluster.servers[0].log;
    assert_eq!(noticed.count("RegistryRegressed"), 1);
    assert_eq!(noticed.count("WorkerLost"), 1);
    cluster.run(SECOND * 60);
    assert_ne!(cluster.workers()[0], cluster.workers()[1]);
    assert!(cluster.servers[0].next().unix_ms > last);
    let met = &cluster.met;
    println!(
        "{} times two made ids of one time, up to {:?}",
        met.len(),
        met.last()
    );
    assert!(!met.is_empty() && met.iter().all(|at| *at < emptied + CHECK));
    assert_eq!(cluster.servers[1].log.count("RegistryRegressed"), 0);
}

/// Guards that servers which find the registry emptied claim their own worker ids again, and none
/// of another server that has not noticed yet: no id repeats.
#[test]
fn servers_of_an_emptied_registry_keep_apart() {
    let (store, clock) = (store(), ManualClock::new());
    let start = |_| setup(&store, &clock).start();
    let mut cluster = Cluster::new((0..5).map(start).collect());
    let before = cluster.workers();
    cluster.run(SECOND * 20);
    for _ in 0..3 {
        store.memory.set(MemoryLeaseStore::new());
        cluster.run(SECOND * 20);
    }
    assert_eq!(cluster.workers(), before);
    assert_eq!(cluster.met, []);
    for server in &cluster.servers {
        assert_eq!(server.log.count("RegistryRegressed"), 3);
    }
}

/// Guards the same for an older copy, in which all leases have ended; and that a server whose
/// worker id was claimed meanwhile waits until every other has noticed too.
#[test]
fn an_older_copy_is_noticed_within_the_interval() {
    let (store, clock) = (store(), ManualClock::new());
    let start = |_| setup(&store, &clock).start();
    let mut cluster = Cluster::new((0..3).map(start).collect());
    let older = copy(&store.memory.get());
    cluster.run(SECOND * 3700);
    store.memory.set(older);
    let restored = clock.now();
    // It claims one whose lease has ended, as that copy says.
    cluster.servers.push(setup(&store, &clock).start());
    cluster.run(SECOND * 30);
    let distinct: BTreeSet<WorkerId> = cluster.workers().into_iter().collect();
    assert_eq!(distinct.len(), 4);
    let met = &cluster.met;
    assert!(!met.is_empty() && met.iter().all(|at| *at < restored + CHECK));
    let noticed = |server: &&Server| server.log.count("RegistryRegressed") == 1;
    assert_eq!(cluster.servers.iter().filter(noticed).count(), 3);
}

/// Guards the interval for a slow registry that hangs and comes back empty, at whatever moment
/// between two reads that is: a read that is never answered must not delay the next one.
#[test]
fn a_registry_that_hung_and_comes_back_empty_is_noticed_within_the_interval() {
    for tenths in 0..25 {
        let (store, clock) = (store(), ManualClock::new());
        store.set_clock(&clock);
        let mut cluster = Cluster::new(vec![setup(&store, &clock).start()]);
        cluster.run(SECOND * 20);
        store.set(Mood::Hanging);
        cluster.run(SECOND * 20 + STEP * tenths);
        store.memory.set(MemoryLeaseStore::new());
        let answered = clock.now();
        store.set(Mood::Well);
        cluster.servers.push(setup(&store, &clock).start());
        store.set(Mood::Slow((CHECK / 2).saturating_sub(STEP)));
        cluster.run(SECOND * 20);
        let met = &cluster.met;
        assert!(!met.is_empty(), "nobody knows yet");
        let is_late = |at: &Duration| *at >= answered + CHECK;
        assert!(
            !met.iter().any(is_late),
            "{tenths}: {:?} after {answered:?}",
            met.last()
        );
    }
}

/// Guards the interval for a claim whose answer comes late: the registry may have forgotten it by
/// then.
#[test]
fn a_registry_emptied_behind_a_slow_claim_is_noticed_within_the_interval() {
    let (store, clock) = (store(), ManualClock::new());
    store.set_clock(&clock);
    let slow = Mood::Slow((CHECK / 2).saturating_sub(STEP));
    store.set(slow);
    let mut cluster = Cluster::new(vec![setup(&store, &clock).start()]);
    while block_on(store.memory.get().leases()).unwrap().is_empty() {
        cluster.run(STEP);
    }
    store.memory.set(MemoryLeaseStore::new());
    let emptied = clock.now();
    store.set(Mood::Well);
    cluster.servers.push(setup(&store, &clock).start());
    store.set(slow);
    cluster.run(SECOND * 60);
    let met = &cluster.met;
    assert!(!met.is_empty(), "nobody knows yet");
    assert!(
        met.iter().all(|at| *at < emptied + CHECK),
        "{met:?}, {emptied:?}"
    );
}

/// Guards a registry that never answers within half of the interval, but does answer: it gives the
/// worker id to another server, so that must be noticed within two answers, even if the registry
/// stopped answering some calls for good before.
#[test]
fn an_emptied_registry_that_is_slow_is_noticed() {
    let takes = [CHECK * 4 / 5, CHECK * 13 / 5, CHECK * 29 / 5];
    let phases = takes
        .into_iter()
        .flat_map(|takes| (0..8).map(move |phase| (takes, phase)));
    for (takes, phase) in phases {
        let (store, clock) = (store(), ManualClock::new());
        store.set_clock(&clock);
        let mut cluster = Cluster::new(vec![setup(&store, &clock).start()]);
        cluster.run(SECOND * 20);
        store.set(Mood::Hanging);
        cluster.run(CHECK / 2);
        store.set(Mood::Slow(takes));
        cluster.run(SECOND * 60 + takes * phase / 8);
        store.memory.set(MemoryLeaseStore::new());
        let emptied = clock.now();
        store.set(Mood::Well);
        cluster.servers.push(setup(&store, &clock).start());
        store.set(Mood::Slow(takes));
        cluster.run(takes * 3);
        let (met, noticed) = (&cluster.met, emptied + takes * 2 + STEP);
        assert!(
            met.iter().all(|at| *at <= noticed),
            "answers after {takes:?}: {:?} after {emptied:?}",
            met.last()
        );
        assert_eq!(cluster.servers[0].log.count("WorkerLost"), 1, "{takes:?}");
    }
}

/// Guards a registry that answers late and loses every other read: which of them will be answered
/// cannot be known, and those that never are must not take the place of one that will be.
#[test]
fn an_emptied_registry_that_is_slow_and_loses_answers_is_noticed() {
    for takes in [CHECK, CHECK * 2, CHECK * 5, CHECK * 9] {
        let (store, clock) = (store(), ManualClock::new());
        store.set_clock(&clock);
        let mut cluster = Cluster::new(vec![setup(&store, &clock).start()]);
        cluster.run(SECOND * 20);
        store.set(Mood::HalfLost(takes));
        cluster.run(SECOND * 120);
        store.memory.set(MemoryLeaseStore::new());
        cluster.run(takes * 3);
        assert_eq!(cluster.servers[0].log.count("WorkerLost"), 1, "{takes:?}");
    }
}

/// Guards that restoring a registry during an outage hides nothing: the row is read as soon as the
/// registry answers, whatever the random pauses between other calls are.
#[test]
fn a_registry_that_comes_back_empty_is_noticed_at_once() {
    for seed in 0..30 {
        let (store, clock) = (store(), ManualClock::new());
        let restart = restarts(&store, &clock);
        let start = || {
            let mut setup = restart();
            setup.options.seed = seed;
            setup.start()
        };
        let mut server = start();
        server.advance(SECOND * 20);
        store.set(Mood::Down);
        server.advance(SECOND * 60);
        assert_eq!(server.status().store_answers, Some(false));
        comes_back_empty(&store, &mut server);
        assert_eq!(server.log.count("RegistryRegressed"), 1, "seed {seed}");
        // Even for a server that was started meanwhile, with the lease in its journal. It also
        // retries to extend that lease, and if it does so first, it is told that the registry is
        // another one.
        store.set(Mood::Down);
        server.advance(SECOND * 60);
        drop(server);
        let mut server = start();
        server.advance(SECOND * 60);
        comes_back_empty(&store, &mut server);
        assert!(server.log.count("RegistryRegressed") <= 1, "seed {seed}");
    }
}

/// The server loses its worker id within a second, and gets one again.
fn comes_back_empty(store: &Registry, server: &mut Server) {
    store.memory.set(MemoryLeaseStore::new());
    store.set(Mood::Well);
    server.advance(SECOND);
    assert_eq!(server.log.count("WorkerLost"), 1);
    server.advance(SECOND * 4 + STEP);
    server.next();
}

/// Guards that a registry which can be read and not changed does not count as answering, from the
/// first change that it refused until one succeeds.
#[test]
fn a_registry_that_cannot_be_changed_does_not_answer() {
    let store = store();
    let mut setup = Setup::new(&store);
    setup.options.lease = SECOND * 60;
    let mut server = setup.start();
    store.set(Mood::ReadOnly);
    server.advance(SECOND * 40);
    for _ in 0..15 {
        assert_eq!(server.status().store_answers, Some(false));
        server.advance(SECOND);
    }
    assert_eq!(server.log.count("RegistryDown"), 1);
    assert_eq!(server.log.count("RegistryUp"), 0);
    store.set(Mood::Well);
    server.advance(CHECK);
    assert_eq!(server.status().store_answers, Some(true));
    assert_eq!(server.log.count("RegistryUp"), 1);
    assert_eq!(server.log.count("WorkerLost"), 0);
    // At a start too, whose calls read first.
    store.set(Mood::ReadOnly);
    let mut other = Setup::new(&store).start();
    other.advance(SECOND * 30);
    assert_eq!(other.log.count("RegistryUp"), 0);
    assert_eq!(other.log.count("RegistryDown"), 1);
}

/// Guards that an outage of the registry is noticed within the interval, and reported once each
/// way, although no other call is due for half an hour.
#[test]
fn an_outage_of_the_registry_is_reported_once_each_way() {
    let store = store();
    let mut server = Setup::new(&store).start();
    server.advance(SECOND * 60);
    assert_eq!(server.log.count("RegistryDown"), 0);
    for outage in 1..=3 {
        store.set(Mood::Down);
        server.advance(CHECK);
        assert_eq!(server.status().store_answers, Some(false));
        server.advance(SECOND * 60);
        assert_eq!(server.log.count("RegistryDown"), outage);
        assert_eq!(server.log.count("RegistryUp"), outage - 1);
        store.set(Mood::Well);
        // What an operator asks says nothing about the reads of our row.
        block_on(server.registry.leases()).unwrap();
        assert_eq!(server.status().store_answers, Some(false));
        server.advance(CHECK);
        assert_eq!(server.status().store_answers, Some(true));
        assert_eq!(server.log.count("RegistryUp"), outage);
        server.advance(SECOND * 60);
    }
    assert_eq!(server.log.count("WorkerLost"), 0);
}

/// Writes a row as an older copy of the registry, or another server, has it.
fn overwrite(store: &MemoryLeaseStore, worker: WorkerId, epoch: u64, until_ms: u64) {
    let row = block_on(store.lease(worker)).unwrap();
    let record = LeaseRecord {
        worker,
        epoch,
        holder: "another".into(),
        address: String::new(),
        until_ms,
    };
    let expected = row.map(|row| row.key());
    assert!(block_on(store.swap(&LeaseSwap { expected, record })).unwrap());
}

/// Guards that a worker id which this server had earlier is not issued from below its former ids,
/// although it had another one since, and the registry knows neither any longer.
#[test]
fn a_worker_id_held_earlier_continues_above_its_ids() {
    let (store, clock) = (store(), ManualClock::new());
    let start = restarts(&store, &clock);
    let start = || {
        let mut setup = start();
        setup.options.check_interval = SECOND;
        setup.start()
    };
    let (zero, one) = (WorkerId::new(0), WorkerId::new(1));
    let mut first = start();
    first.advance(SECOND * 20);
    let last = first.next();
    assert_eq!(last.worker, zero);
    drop(first);
    clock.set_wall(clock.wall().saturating_sub(SECOND * 9));
    let memory = store.memory.get();
    let far_ms = millis(clock.wall()) + 3_600_000;
    overwrite(&memory, zero, 2, far_ms);
    let mut second = start();
    assert_eq!(second.worker(), one);
    overwrite(&memory, zero, 1, 0);
    overwrite(&memory, one, 1, far_ms);
    let mut next = None;
    for _ in 0..600 {
        second.advance(STEP);
        let id = second.try_next().ok();
        next = id.map(|id| Layout::LEAF.decompose(id.get()));
        if next.is_some_and(|next| next.worker == zero) {
            break;
        }
    }
    let next = next.unwrap();
    assert_eq!(next.worker, zero);
    assert!(next.unix_ms > last.unix_ms, "{next:?} after {last:?}");
}

/// Guards that a worker id which an operator released is not used beyond the interval, and that
/// this is not mistaken for a registry that forgot.
#[test]
fn a_released_worker_id_is_not_used_on() {
    let store = store();
    let mut setup = Setup::new(&store);
    setup.options = setup
        .options
        .with_choice(WorkerChoice::Exactly(WorkerId::new(7)));
    let mut server = setup.start();
    let last_ms = server.next().unix_ms.unsigned_abs();
    let row = block_on(server.registry.leases()).unwrap().remove(0);
    assert!(block_on(server.registry.force_release(&row)).unwrap());
    server.advance(CHECK);
    assert_eq!(server.log.count("WorkerLost"), 1);
    assert_eq!(server.log.count("RegistryRegressed"), 0);
    server.advance(SECOND * 60);
    assert!(server.next().unix_ms.unsigned_abs() >= last_ms + millis(CHECK));
}
