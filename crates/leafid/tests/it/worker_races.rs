//! Worker ids when two things come together: a stop and a start, a restart and a call that is still
//! on its way, a clock that goes back and a journal that fails. The simulation found most of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::store::{
    Journal, JournalRecord, LeaseRecord, LeaseStore as _, LeaseSwap, MemoryJournal, StoreError,
    StoreResult,
};
use leafid::{Clock as _, ManualClock, SnowflakeError, WorkerChoice, WorkerId};

use crate::cluster::{Mood, Registry, Server, Setup, millis};

const SECOND: Duration = Duration::from_secs(1);

/// A journal in memory whose writes take a second, or less, and fail when they shall.
struct SlowJournal {
    memory: MemoryJournal,
    clock: ManualClock,
    takes: Mutex<Duration>,
    fails: AtomicBool,
    written: Mutex<Vec<JournalRecord>>,
}

impl SlowJournal {
    fn new(clock: &ManualClock) -> Arc<Self> {
        Arc::new(Self {
            memory: MemoryJournal::new(),
            clock: clock.clone(),
            takes: Mutex::new(SECOND),
            fails: AtomicBool::new(false),
            written: Mutex::default(),
        })
    }

    fn record(&self) -> JournalRecord {
        let record = leafid::blocking::block_on(self.memory.read()).unwrap();
        record.unwrap_or_else(|| panic!("nothing was written"))
    }
}

impl Journal for SlowJournal {
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>> {
        self.memory.read()
    }

    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let takes = *self.takes.lock().unwrap();
            self.clock.sleep(takes).await;
            if self.fails.load(Ordering::SeqCst) {
                return Err(StoreError::unavailable("cannot write the journal", "full"));
            }
            self.written.lock().unwrap().push(record.clone());
            self.memory.write(record).await
        })
    }
}

/// A server on a machine with a slow disk, which is started again and again.
struct Machine {
    store: Arc<Registry>,
    clock: ManualClock,
    journal: Arc<SlowJournal>,
    choice: WorkerChoice,
}

impl Machine {
    fn new() -> Self {
        let clock = ManualClock::new();
        Self {
            store: Arc::default(),
            journal: SlowJournal::new(&clock),
            clock,
            choice: WorkerChoice::Any,
        }
    }

    fn start(&self) -> Server {
        let mut setup = Setup::new(&self.store);
        setup.journal = Arc::clone(&self.journal) as Arc<dyn Journal>;
        setup.clock = self.clock.clone();
        setup.options.choice = self.choice;
        setup.start()
    }

    fn row(&self) -> LeaseRecord {
        let rows = leafid::blocking::block_on(self.store.memory.get().leases()).unwrap();
        rows.into_iter().next().unwrap_or_else(|| panic!("no row"))
    }

    fn now_ms(&self) -> u64 {
        millis(self.clock.wall())
    }
}

/// Guards that whoever is stopped before it has issued anything keeps nothing from others, and
/// starts again at the time it is.
#[test]
fn a_stop_during_the_start() {
    let machine = Machine::new();
    let mut server = machine.start();
    server.advance(SECOND * 5 / 2);
    assert!(server.try_next().is_err(), "the claim is being written");
    server.registry.stop();
    server.advance(SECOND * 10);
    let row = machine.row();
    assert!(row.until_ms <= machine.now_ms(), "{row:?}");
    let mut server = machine.start();
    server.advance(SECOND * 10);
    let issued_ms = server.next().unix_ms.unsigned_abs();
    assert!(issued_ms < machine.now_ms() + 1000, "{issued_ms}");
}

/// Guards that a start with a worker id chosen by hand, which is stopped at once, leaves alone what
/// the journal says about another worker id.
#[test]
fn a_stop_during_a_start_without_a_registry() {
    let machine = Machine::new();
    let mut server = machine.start();
    server.advance(SECOND * 10);
    server.next();
    drop(server);
    let before = machine.journal.record();
    let mut setup = Setup::new(&machine.store);
    setup.store = None;
    setup.journal = Arc::clone(&machine.journal) as Arc<dyn Journal>;
    setup.clock = machine.clock.clone();
    setup.options.choice = WorkerChoice::Exactly(WorkerId::new(5));
    let mut server = setup.start();
    server.registry.stop();
    server.advance(SECOND * 10);
    assert_eq!(machine.journal.record(), before);
}

/// Guards a restart that reads its own row while the call that gives it back is on its way: the row
/// is no proof that the rest of it is still ours.
#[test]
fn a_restart_overtakes_a_stop() {
    let machine = Machine::new();
    let mut server = machine.start();
    server.advance(SECOND * 10);
    let worker = server.next().worker;
    let held = machine.row();
    server.registry.stop();
    let noted = || machine.journal.record().lease.expect("a lease");
    let stopped_ms = machine.now_ms();
    while noted().below_ms > stopped_ms + 1 {
        server.advance(SECOND / 10);
    }
    machine.store.set(Mood::Down);
    server.advance(SECOND * 5);
    assert!(
        !noted().acknowledged,
        "it has noted that it gives the row back"
    );
    assert_eq!(machine.row(), held, "what it sent is on its way");

    machine.store.set(Mood::Well);
    let mut server = machine.start();
    server.advance(SECOND * 3 / 2);
    machine.store.set(Mood::Down);
    server.advance(SECOND * 10);
    let given_back = LeaseSwap {
        expected: Some(held.key()),
        record: LeaseRecord {
            until_ms: machine.now_ms(),
            ..held
        },
    };
    let arrived = leafid::blocking::block_on(machine.store.memory.get().swap(&given_back)).unwrap();
    assert!(arrived, "worker id {worker} is to be had now");
    server.advance(SECOND * 10);
    let error = server.try_next().unwrap_err();
    assert!(matches!(error, SnowflakeError::NoWorker { .. }), "{error}");
}

/// Guards that a server which went on without the registry after a claim whose outcome is unknown
/// gives its worker id back, although the row does not know that claim.
#[test]
fn a_stop_after_a_claim_that_failed() {
    let machine = Machine::new();
    let mut server = machine.start();
    server.advance(SECOND * 10);
    drop(server);
    let mut server = machine.start();
    server.advance(SECOND * 3 / 2);
    machine.store.set(Mood::Down);
    server.advance(SECOND * 10);
    assert_eq!(server.log.count("WeakStart"), 1);
    server.next();
    machine.store.set(Mood::Well);
    server.registry.stop();
    server.advance(SECOND * 10);
    let row = machine.row();
    assert!(row.until_ms <= machine.now_ms(), "{row:?}");
}

/// Guards that the journal never allows less than before, because ids may have come so far.
#[test]
fn the_journal_never_goes_back() {
    let machine = Machine::new();
    *machine.journal.takes.lock().unwrap() = Duration::ZERO;
    let mut server = machine.start();
    server.advance(SECOND * 10);
    machine.journal.fails.store(true, Ordering::SeqCst);
    server.advance(SECOND);
    machine.journal.fails.store(false, Ordering::SeqCst);
    server.step(-1.9);
    server.registry.accept_clock().unwrap();
    server.advance(SECOND * 10);
    server.next();
    let written = machine.journal.written.lock().unwrap();
    let bounds = written.iter().filter_map(|record| record.lease);
    let bounds: Vec<u64> = bounds.map(|lease| lease.below_ms).collect();
    assert!(bounds.is_sorted(), "{bounds:?}");
}

/// Guards that a server which is killed again and again, right after its first id, issues each time,
/// and does not run away from its clock: each start goes on above what the one before might have
/// issued.
#[test]
fn restarts_do_not_run_away_from_the_clock() {
    let (store, journal) = (Arc::<Registry>::default(), MemoryJournal::new());
    let clock = ManualClock::new();
    let start = || Setup {
        journal: Arc::new(journal.clone()),
        clock: clock.clone(),
        ..Setup::new(&store)
    };
    for pause_ms in [100, 15, 3000, 50] {
        for _ in 0..100 {
            let server = start().start();
            let ahead_ms = server.next().unix_ms - millis(clock.wall()).cast_signed();
            assert!(ahead_ms < 4_100, "{ahead_ms} ms ahead");
            drop(server);
            clock.advance(Duration::from_millis(pause_ms));
        }
    }
}

/// Guards two copies of one server, on machines of their own, that start at once: they have one name
/// and one journal, and each gets a worker id of its own.
#[test]
fn two_copies_start_at_once() {
    let machine = Machine::new();
    let mut server = machine.start();
    server.advance(SECOND * 10);
    let mut ids = vec![server.try_next().unwrap()];
    drop(server);
    let clock = ManualClock::new();
    clock.set_wall(machine.clock.wall());
    let copy = Machine {
        store: Arc::clone(&machine.store),
        journal: SlowJournal::new(&clock),
        clock,
        choice: WorkerChoice::Any,
    };
    let record = machine.journal.record();
    leafid::blocking::block_on(copy.journal.memory.write(&record)).unwrap();
    let mut servers = [machine.start(), copy.start()];
    for _ in 0..40 {
        for server in &mut servers {
            server.advance(SECOND / 4);
            ids.extend(server.try_next());
        }
    }
    let workers = servers.each_ref().map(Server::worker);
    assert_ne!(workers[0], workers[1]);
    let (taken, distinct) = (ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
    assert_eq!(distinct, taken, "{} of {taken} ids twice", taken - distinct);
}

/// Guards that an operator's word is enough where nobody else knows the time: a server whose clock
/// was an hour ahead goes on with another worker id, at once and after a restart.
#[test]
fn an_operator_accepts_a_clock_that_was_ahead() {
    for restarts in [false, true] {
        let machine = Machine::new();
        let right = machine.clock.wall();
        machine.clock.set_wall(right + SECOND * 3600);
        let mut server = machine.start();
        server.advance(SECOND * 10);
        let poisoned = server.next().worker;
        server.step(-3600.0);
        if restarts {
            drop(server);
            server = machine.start();
            server.advance(SECOND * 10);
            let text = server.try_next().unwrap_err().to_string();
            assert!(text.contains("its own last report"), "{text}");
        }
        server.registry.accept_clock().unwrap();
        server.advance(SECOND * 10);
        let next = server.next();
        assert_ne!(next.worker, poisoned);
        let ahead_ms = next.unix_ms - millis(machine.clock.wall()).cast_signed();
        assert!(ahead_ms < 5_000, "{ahead_ms} ms ahead");
        assert_eq!(server.log.count("Quarantined"), 1);
    }
}
