//! `Simulation`: one run of the whole system, decided by its seed: servers that crash, pause and
//! come back, callers, operators, a store with faults; then quiet, and every caller must be served.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use leafid::{Clock as _, Event as CoreEvent, Generators, Limit, Observer, Tag};

use crate::executor::{Executor, Livelock, Process, fold, lock};
use crate::network::{Network, NetworkFaults};
use crate::report::Report;
use crate::segment::bug::Bug;
use crate::segment::caller::{BLOCK_LEN, Caller, Field};
use crate::segment::checks::check_all;
use crate::segment::cluster::{Cluster, Node};
use crate::segment::disk::Disk;
use crate::segment::history::{Event, History};
use crate::segment::plan::{Keeper, Plan};
use crate::segment::store::{SimStore, StoreServer};
use crate::violation::Violation;

/// The faults end after this time, also when callers have calls left.
const STORM_MAX: Duration = Duration::from_secs(3600);

/// One run under way.
pub(crate) struct Simulation {
    seed: u64,
    pub(crate) random: Rng,
    pub(crate) executor: Executor,
    pub(crate) field: Arc<Field>,
    pub(crate) store: Arc<StoreServer>,
    /// The process that runs in each server's place, and its generators.
    pub(crate) servers: Vec<(Process, Generators)>,
    next_process: u32,
    /// The max id of each tag that the replica of the store has.
    pub(crate) replica: Vec<Option<u64>>,
    pub(crate) faults: BTreeMap<&'static str, u64>,
}

/// Writes what a server's driver noticed into the history.
struct Witness {
    process: Process,
    tags: Vec<Tag>,
    history: Arc<History>,
}

impl Observer for Witness {
    fn event(&self, event: &CoreEvent<'_>) {
        let process = self.process;
        match event {
            CoreEvent::StoreDown { .. } => self.history.push(Event::ToldDown { process }),
            CoreEvent::StoreUp { .. } => self.history.push(Event::ToldUp { process }),
            _ => {}
        }
        if let CoreEvent::Regressed { tag, .. } = event {
            let number = self.tags.iter().position(|known| known == *tag);
            self.history.push(Event::ToldRegressed {
                process,
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
            disk: Disk::new(),
            cluster: Cluster::new(),
            conflicts: plan.conflicts,
            tags: plan.tags.iter().map(|tag| tag.spec.tag.clone()).collect(),
            network: Arc::new(Network {
                faults: Mutex::new(plan.network_faults),
                counts: Mutex::default(),
                clock: executor.clock.clone(),
                spawner: executor.spawner.clone(),
                random: Mutex::new(random.fork()),
            }),
            history: Arc::clone(&history),
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
            replica: Vec::new(),
            faults: BTreeMap::new(),
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
        self.inject_faults()?;
        self.stop_faults();
        self.serve_all()?;
        for at in 0..self.servers.len() {
            self.end_server(at);
        }
        if let Some(violation) = lock(&self.field.violation).take() {
            return Err(violation);
        }
        check_all(&self.field.history.events(), &self.field.plan)?;
        Ok(self.report())
    }

    /// Injects faults until the callers have made their calls.
    fn inject_faults(&mut self) -> Result<(), Violation> {
        let field = Arc::clone(&self.field);
        let is_over = || {
            // Relaxed: there is one thread.
            field.calls_left.load(Ordering::Relaxed) == 0
        };
        while !is_over() && self.executor.clock.now() < STORM_MAX {
            let gap = field.plan.fault_gap_max.mul_f64(self.random.f64());
            let until = self.executor.clock.now() + gap;
            self.executor.run(until, is_over).map_err(livelock)?;
            let fault = self.random.choice(&field.plan.faults).copied();
            if let Some(fault) = fault {
                self.inject(fault);
            }
        }
        Ok(())
    }

    pub(crate) fn start_server(&mut self) -> (Process, Generators) {
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
    pub(crate) fn end_server(&mut self, at: usize) {
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

    /// No more faults, every tag has a row, every limit is far. A file that was replaced is restored,
    /// and opened anew; of two nodes one stays away from its cluster.
    fn stop_faults(&mut self) {
        match self.field.plan.keeper {
            Keeper::File => {
                self.restore_file();
                (0..self.servers.len()).for_each(|at| self.restart(at));
            }
            Keeper::Cluster => {
                let at = self.random.usize(..2);
                self.leave(at);
                self.store.cluster.set(at + 1, Node::Primary);
            }
            Keeper::Server | Keeper::Replica => {}
        }
        // Relaxed: there is one thread.
        self.field.is_healed.store(true, Ordering::Relaxed);
        *lock(&self.store.network.faults) = NetworkFaults::NONE;
        self.executor.resume_all();
    }

    /// Tags whose rows are gone or whose limits are near get what they need; calls that were
    /// under way when the faults ended may still undo that.
    fn repair_tags(&mut self) {
        for tag in 0..self.field.plan.tags.len() {
            if self.row(tag).is_none() {
                self.create(tag);
            }
            self.set_limit(tag, Limit::INT64);
        }
    }

    /// Everybody must be served before patience ends.
    fn serve_all(&mut self) -> Result<(), Violation> {
        // What was sent before the faults ended still arrives.
        let field = Arc::clone(&self.field);
        let settled = self.executor.clock.now()
            + field.plan.network_faults.delay_max * 2
            + Duration::from_secs(1);
        self.executor.run(settled, || false).map_err(livelock)?;
        self.repair_tags();
        let all = (field.plan.callers * field.plan.servers) as u64;
        let is_done = || field.served.load(Ordering::Relaxed) == all;
        let until = self.executor.clock.now() + self.patience();
        self.executor.run(until, is_done).map_err(livelock)?;
        if is_done() {
            return Ok(());
        }
        let message = format!(
            "{} of {all} callers were served within {:?} of quiet: {}",
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
        let counts = *lock(&self.store.network.counts);
        let count = |is_it: fn(&Event) -> bool| events.iter().filter(|event| is_it(event)).count();
        let mut counted = self.faults.clone();
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
                "conflicts",
                count(|event| matches!(event, Event::Conflicted { .. })) as u64,
            ),
            (
                "outages told",
                count(|event| matches!(event, Event::ToldDown { .. })) as u64,
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
