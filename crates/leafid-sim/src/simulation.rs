//! `Simulation`: one run of the whole system, decided by its seed: servers that crash, pause and
//! come back, callers, operators, a store with faults; then quiet, and every caller must be served.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use leafid::store::{SegmentStore, TagPatch};
use leafid::{Clock as _, Event as CoreEvent, Generators, Limit, Observer, Tag};

use crate::bug::Bug;
use crate::caller::{BLOCK_LEN, Caller, Field};
use crate::checks::{Violation, check_all};
use crate::executor::{Executor, Livelock, Process, fold, lock};
use crate::history::{Event, History, TagNumber};
use crate::plan::{Blow, Faults, Plan};
use crate::report::Report;
use crate::store::{SimStore, StoreServer};

/// The faults end after this time, also when callers have calls left.
const STORM_MAX: Duration = Duration::from_secs(3600);

/// One run under way.
pub(crate) struct Simulation {
    seed: u64,
    random: Rng,
    executor: Executor,
    field: Arc<Field>,
    store: Arc<StoreServer>,
    /// The process that runs in each server's place, and its generators.
    servers: Vec<(Process, Generators)>,
    next_process: u32,
    blows: BTreeMap<&'static str, u64>,
}

/// Writes what a server's driver noticed into the history.
struct Witness {
    process: Process,
    tags: Vec<Tag>,
    history: Arc<History>,
}

impl Observer for Witness {
    fn event(&self, event: &CoreEvent<'_>) {
        if let CoreEvent::Regressed { tag, .. } = event {
            let number = self.tags.iter().position(|known| known == *tag);
            self.history.push(Event::ToldRegressed {
                process: self.process,
                tag: number.unwrap_or(usize::MAX),
            });
        }
    }
}

impl Simulation {
    pub(crate) fn new(seed: u64, calls: u64, bug: Option<Bug>) -> Self {
        let mut random = Rng::with_seed(seed);
        let plan = Plan::new(&mut random);
        let executor = Executor::new(random.u64(..));
        let history: Arc<History> = Arc::default();
        let store = Arc::new(StoreServer {
            rows: leafid::store::MemoryStore::new(),
            tags: plan.tags.iter().map(|tag| tag.spec.tag.clone()).collect(),
            faults: Mutex::new(plan.faults),
            counts: Mutex::default(),
            history: Arc::clone(&history),
            clock: executor.clock.clone(),
            spawner: executor.spawner.clone(),
            random: Mutex::new(random.fork()),
            bug,
        });
        let field = Arc::new(Field {
            clock: executor.clock.clone(),
            history,
            calls_left: AtomicU64::new(calls),
            is_healed: AtomicBool::new(false),
            served: AtomicU64::new(0),
            violation: Mutex::default(),
            plan,
        });
        Self {
            seed,
            random,
            executor,
            field,
            store,
            servers: Vec::new(),
            next_process: 1,
            blows: BTreeMap::new(),
        }
    }

    /// Runs to the end and checks everything.
    pub(crate) fn run(mut self) -> Result<Report, Violation> {
        for tag in 0..self.field.plan.tags.len() {
            if !self.field.plan.tags[tag].is_late {
                self.create(tag);
            }
        }
        for _ in 0..self.field.plan.servers {
            let server = self.start_server();
            self.servers.push(server);
        }
        self.storm()?;
        self.heal();
        self.quiet()?;
        for at in 0..self.servers.len() {
            self.end_server(at);
        }
        if let Some(violation) = lock(&self.field.violation).take() {
            return Err(violation);
        }
        check_all(&self.field.history.events())?;
        Ok(self.report())
    }

    /// Blows upon blows, until the callers have made their calls.
    fn storm(&mut self) -> Result<(), Violation> {
        let field = Arc::clone(&self.field);
        let is_over = || {
            // Relaxed: there is one thread.
            field.calls_left.load(Ordering::Relaxed) == 0
        };
        while !is_over() && self.executor.clock.now() < STORM_MAX {
            let gap = field.plan.blow_gap_max.mul_f64(self.random.f64());
            let until = self.executor.clock.now() + gap;
            self.executor.run(until, is_over).map_err(livelock)?;
            let blow = self.random.choice(&field.plan.blows).copied();
            if let Some(blow) = blow {
                self.strike(blow);
            }
        }
        Ok(())
    }

    fn strike(&mut self, blow: Blow) {
        let server = self.random.usize(..self.servers.len());
        let tag = self.random.usize(..self.field.plan.tags.len());
        let struck = match blow {
            Blow::Crash => {
                self.end_server(server);
                self.servers[server] = self.start_server();
                true
            }
            Blow::Pause => {
                let time = self.field.plan.options.call_max * 2;
                let time = time.mul_f64(self.random.f64());
                self.executor.pause(self.servers[server].0, time);
                true
            }
            Blow::Outage => {
                *lock(&self.store.faults) = Faults::OUTAGE;
                true
            }
            Blow::Repair => {
                *lock(&self.store.faults) = self.field.plan.faults;
                true
            }
            Blow::Step => self.change_step(tag),
            Blow::DeleteOrCreate => self.delete_or_create(server, tag),
            Blow::PutBack => self.put_back(tag),
            Blow::RaiseLimit => self.raise_limit(tag),
            Blow::Leaf => {
                let is_leaf = self.field.plan.tags[tag].has_leaf;
                if is_leaf {
                    self.store.reserve_as_leaf(tag);
                }
                is_leaf
            }
        };
        *self.blows.entry(blow.name()).or_default() += u64::from(struck);
    }

    fn change_step(&mut self, tag: TagNumber) -> bool {
        let patch = TagPatch {
            step: Some(1 << self.random.u32(..=12)),
            ..TagPatch::default()
        };
        self.patch(tag, &patch)
    }

    /// Doubles the room of a tag that has a limit.
    fn raise_limit(&mut self, tag: TagNumber) -> bool {
        let row = self.row(tag);
        let Some(row) = row.filter(|row| row.settings.limit != Limit::INT64) else {
            return false;
        };
        let raised = row.settings.limit.largest().saturating_add(1_000);
        self.set_limit(tag, Limit::new(raised).unwrap_or_default())
    }

    fn set_limit(&self, tag: TagNumber, limit: Limit) -> bool {
        let largest = limit.largest();
        self.field.history.push(Event::LimitSet { tag, largest });
        let patch = TagPatch {
            limit: Some(limit),
            ..TagPatch::default()
        };
        self.patch(tag, &patch)
    }

    /// Changes the row behind the servers' backs, as another one or an operator would.
    fn patch(&self, tag: TagNumber, patch: &TagPatch) -> bool {
        let name = &self.store.tags[tag];
        self.store.now(self.store.rows.update(name, patch)).is_ok()
    }

    fn row(&self, tag: TagNumber) -> Option<leafid::store::TagRecord> {
        let name = std::slice::from_ref(&self.store.tags[tag]);
        let rows = self.store.now(self.store.rows.read(name));
        rows.ok().and_then(|mut rows| rows.pop())
    }

    fn put_back(&mut self, tag: TagNumber) -> bool {
        let is_put_back = self.field.plan.tags[tag].is_put_back;
        let Some(row) = self.row(tag).filter(|_| is_put_back) else {
            return false;
        };
        let start = self.field.plan.tags[tag].spec.start;
        let back = self.random.u64(start..=row.max_id.max(start));
        let name = &self.store.tags[tag];
        self.field.history.push(Event::PutBack { tag });
        self.store.rows.put_max_id(name, back).is_ok()
    }

    /// An operator deletes or creates a tag, through a server or behind its back.
    fn delete_or_create(&mut self, server: usize, tag: TagNumber) -> bool {
        if !self.field.plan.tags[tag].comes_and_goes {
            return false;
        }
        let spec = self.field.plan.tags[tag].spec.clone();
        let is_there = self.row(tag).is_some();
        let (process, generators) = self.servers[server].clone();
        match (self.random.bool(), is_there) {
            (true, true) => self.executor.spawner.spawn(process, async move {
                let _outcome = generators.delete_tag(&spec.tag).await;
            }),
            (true, false) => self.executor.spawner.spawn(process, async move {
                let _outcome = generators.create_tag(&spec).await;
            }),
            (false, true) => {
                let _outcome = self.store.now(self.store.rows.delete(&spec.tag));
            }
            (false, false) => self.create(tag),
        }
        true
    }

    fn create(&self, tag: TagNumber) {
        let _outcome = self.store.create(&self.field.plan.tags[tag].spec);
    }

    fn start_server(&mut self) -> (Process, Generators) {
        let process = Process(self.next_process);
        self.next_process += 1;
        let connection = SimStore::new(Arc::clone(&self.store), process);
        let witness = Witness {
            process,
            tags: self.store.tags.clone(),
            history: Arc::clone(&self.field.history),
        };
        let mut options = self.field.plan.options.clone();
        options.seed = self.random.u64(..);
        let (generators, driver) = Generators::open_with(
            Arc::new(connection),
            Arc::new(self.executor.clock.clone()),
            Arc::new(witness),
            options,
        );
        self.executor.spawner.spawn(process, driver);
        for number in 0..self.field.plan.callers {
            let caller = Caller {
                field: Arc::clone(&self.field),
                process,
                generators: generators.clone(),
                random: self.random.fork(),
                blocks: self.field.plan.tags.iter().map(|_| None).collect(),
                next_block: number * self.field.plan.tags.len(),
            };
            self.executor.spawner.spawn(process, caller.run());
        }
        (process, generators)
    }

    /// Ends a server as `kill -9` does, after noting how its tags stood.
    fn end_server(&mut self, at: usize) {
        let (process, generators) = &self.servers[at];
        let blocks = self.field.plan.callers as u64;
        for (tag, name) in self.store.tags.iter().enumerate() {
            if let Some(status) = generators.status(name.as_str()) {
                self.field.history.push(Event::Ended {
                    process: *process,
                    tag,
                    issued: status.issued,
                    remaining: status.remaining,
                    skipped: status.skipped,
                    in_blocks: blocks * u64::from(BLOCK_LEN - 1),
                });
            }
        }
        self.executor.end(*process);
    }

    /// No more faults, every tag has a row, every limit is far.
    fn heal(&mut self) {
        // Relaxed: there is one thread.
        self.field.is_healed.store(true, Ordering::Relaxed);
        *lock(&self.store.faults) = Faults::NONE;
        self.executor.resume_all();
    }

    /// Tags whose rows are gone or whose limits are near get what they need; calls that were
    /// under way when the faults ended may still undo that.
    fn mend(&mut self) {
        for tag in 0..self.field.plan.tags.len() {
            if self.row(tag).is_none() {
                self.create(tag);
            }
            self.set_limit(tag, Limit::INT64);
        }
    }

    /// Everybody must be served before patience ends.
    fn quiet(&mut self) -> Result<(), Violation> {
        // What was sent before the faults ended still arrives.
        let field = Arc::clone(&self.field);
        let settled =
            self.executor.clock.now() + field.plan.faults.delay_max * 2 + Duration::from_secs(1);
        self.executor.run(settled, || false).map_err(livelock)?;
        self.mend();
        let everybody = (field.plan.callers * field.plan.servers) as u64;
        let is_done = || field.served.load(Ordering::Relaxed) == everybody;
        let until = self.executor.clock.now() + self.patience();
        self.executor.run(until, is_done).map_err(livelock)?;
        if is_done() {
            return Ok(());
        }
        let message = format!(
            "{} of {everybody} callers were served within {:?} of quiet: {}",
            field.served.load(Ordering::Relaxed),
            self.patience(),
            self.statuses()
        );
        Err(Violation::new("liveness", message))
    }

    /// Each caller asks for every tag, one after the other.
    fn patience(&self) -> Duration {
        self.field.plan.patience() * u32::try_from(self.field.plan.tags.len()).unwrap_or(u32::MAX)
    }

    fn statuses(&self) -> String {
        let all = self.servers.iter().flat_map(|(process, generators)| {
            let stood = |status| format!("\n  process {}: {status:?}", process.0);
            generators.statuses(usize::MAX).into_iter().map(stood)
        });
        all.collect()
    }

    fn report(&self) -> Report {
        let events = self.field.history.events();
        let counts = *lock(&self.store.counts);
        let count = |is_it: fn(&Event) -> bool| events.iter().filter(|event| is_it(event)).count();
        let mut counted = self.blows.clone();
        counted.extend([
            ("failed before effect", counts.failed_before),
            ("failed after effect", counts.failed_after),
            ("hung before effect", counts.hung_before),
            ("hung after effect", counts.hung_after),
            (
                "calls",
                count(|event| matches!(event, Event::Began { .. })) as u64,
            ),
            (
                "answers with ids",
                count(|event| matches!(event, Event::Issued { .. })) as u64,
            ),
            (
                "refusals",
                count(|event| matches!(event, Event::Refused { .. })) as u64,
            ),
            (
                "abandoned calls",
                count(|event| matches!(event, Event::Abandoned { .. })) as u64,
            ),
            (
                "reservations",
                count(|event| matches!(event, Event::Reserved { .. })) as u64,
            ),
            (
                "regressions told",
                count(|event| matches!(event, Event::ToldRegressed { .. })) as u64,
            ),
        ]);
        drop(events);
        Report {
            seed: self.seed,
            digest: fold(self.executor.trace, self.field.history.digest()),
            simulated: self.executor.clock.now(),
            counted,
        }
    }
}

fn livelock(Livelock: Livelock) -> Violation {
    Violation::new(
        "livelock",
        "the tasks keep each other busy, and time stands still",
    )
}

impl Blow {
    const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crashes",
            Self::Pause => "pauses",
            Self::Outage => "outages",
            Self::Repair => "repairs",
            Self::Step => "step changes",
            Self::DeleteOrCreate => "deletions and creations",
            Self::PutBack => "stores put back",
            Self::RaiseLimit => "raised limits",
            Self::Leaf => "draws by Leaf",
        }
    }
}
