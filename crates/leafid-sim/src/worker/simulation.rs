//! `Simulation`: one run of the whole system, decided by its seed: servers whose clocks, disks and
//! registry fail, that are killed, paused, stopped and come back; then quiet, and every server must
//! issue, and give its worker id back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use leafid::store::JournalRecord;
use leafid::{Clock as _, RegistryBuilder, WorkerChoice, WorkerRegistry};

use super::bug::Bug;
use super::caller::{Caller, Field};
use super::checks::check_all;
use super::clock::{ServerClock, Wall};
use super::disk::{Disk, SimJournal};
use super::history::{History, Identity};
use super::plan::{Plan, STALL};
use super::server::{Life, Server};
use super::store::{Registry, SimLeaseStore};
use crate::executor::{Executor, Livelock, Process, lock};
use crate::network::{Network, NetworkFaults};
use crate::report::Report;
use crate::violation::Violation;

/// The faults end after this time, also when callers have calls left.
const STORM_MAX: Duration = Duration::from_secs(3600);

/// One run under way.
pub(crate) struct Simulation {
    pub(crate) seed: u64,
    pub(crate) random: Rng,
    pub(crate) executor: Executor,
    pub(crate) field: Arc<Field>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) servers: Vec<Server>,
    next_process: u32,
    next_identity: u32,
    /// When the present outage ends.
    pub(crate) repair_at: Option<Duration>,
    pub(crate) faults: BTreeMap<&'static str, u64>,
}

impl Simulation {
    pub(crate) fn new(seed: u64, calls: u64, bug: Option<Bug>) -> Self {
        let mut random = Rng::with_seed(seed);
        // Names of holders, and where a tick's sequence starts.
        fastrand::seed(random.u64(..));
        let plan = Plan::new(&mut random);
        let executor = Executor::new(random.u64(..));
        let history: Arc<History> = Arc::default();
        let network = Arc::new(Network {
            faults: Mutex::new(plan.network_faults),
            counts: Mutex::default(),
            clock: executor.clock.clone(),
            spawner: executor.spawner.clone(),
            random: Mutex::new(random.fork()),
        });
        let registry = Registry::new(network, Arc::clone(&history), plan.has_clock, bug);
        let field = Arc::new(Field {
            clock: executor.clock.clone(),
            history,
            calls_left: AtomicU64::new(calls),
            is_healed: AtomicBool::new(false),
            violation: Mutex::default(),
            plan,
        });
        Self {
            seed,
            random,
            executor,
            field,
            registry: Arc::new(registry),
            servers: Vec::new(),
            next_process: 1,
            next_identity: 0,
            repair_at: None,
            faults: BTreeMap::new(),
        }
    }

    /// Runs to the end and checks everything.
    pub(crate) fn run(mut self) -> Result<Report, Violation> {
        for _ in 0..self.field.plan.servers {
            let server = Server {
                wall: Arc::default(),
                disk: self.new_disk(None),
                life: None,
                starts_at: Duration::ZERO,
            };
            if self.random.bool() {
                self.set_wall_wrong(&server.wall);
            }
            self.servers.push(server);
        }
        self.inject_faults()?;
        self.stop_faults()?;
        let served = self.serve_all();
        if let Some(violation) = lock(&self.field.violation).take() {
            return Err(violation);
        }
        check_all(&self.field.history.events(), &self.field.plan)?;
        served?;
        self.stop_all()?;
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
            self.start_due();
            let gap = field.plan.fault_gap_max.mul_f64(self.random.f64());
            let until = self.executor.clock.now() + gap;
            self.executor.run(until, is_over).map_err(livelock)?;
            self.repair_if_due();
            if let Some(fault) = self.random.choice(&field.plan.faults).copied() {
                self.inject(fault);
            }
        }
        Ok(())
    }

    fn repair_if_due(&mut self) {
        let now = self.executor.clock.now();
        if self.repair_at.is_some_and(|at| at <= now) {
            self.repair_at = None;
            *lock(&self.registry.network.faults) = self.field.plan.network_faults;
        }
    }

    fn start_due(&mut self) {
        let now = self.executor.clock.now();
        for at in 0..self.servers.len() {
            let server = &self.servers[at];
            if server.life.is_none() && server.starts_at <= now {
                self.start(at);
            }
        }
    }

    /// A journal of its own, which makes its server another one.
    pub(crate) fn new_disk(&mut self, record: Option<JournalRecord>) -> Arc<Disk> {
        self.next_identity += 1;
        Disk::new(Identity(self.next_identity), record)
    }

    /// Starts a process, in place of the one that may run.
    pub(crate) fn start(&mut self, at: usize) {
        let process = Process(self.next_process);
        self.next_process += 1;
        let mut options = self.field.plan.options.clone();
        options.seed = self.random.u64(..);
        let is_broken: Arc<AtomicBool> = Arc::default();
        let has_ended: Arc<AtomicBool> = Arc::default();
        let builder = self.builder(at, process, Arc::clone(&is_broken));
        let builder = if self.registry.bug == Some(Bug::FileTrusted)
            && let Some(lease) = lock(&self.servers[at].disk.record)
                .as_ref()
                .and_then(|record| record.lease)
        {
            options.choice = WorkerChoice::Exactly(lease.worker);
            builder
        } else {
            let registry = Arc::clone(&self.registry);
            let identity = self.servers[at].disk.identity;
            let read_interval = self.field.plan.options.check_interval / 2;
            builder.store(SimLeaseStore::new(
                registry,
                identity,
                process,
                read_interval,
            ))
        };
        let (registry, driver) = builder.options(options).build();
        let end = Arc::clone(&has_ended);
        self.executor.spawner.spawn(process, async move {
            driver.await;
            end.store(true, Ordering::Relaxed);
        });
        let life = Life {
            process,
            registry,
            is_broken,
            has_ended,
            is_served: Arc::default(),
        };
        for _ in 0..self.field.plan.callers {
            let caller = self.caller(at, &life);
            self.executor.spawner.spawn(process, caller.run());
        }
        self.servers[at].life = Some(life);
    }

    /// All but the store and the options.
    fn builder(
        &mut self,
        at: usize,
        process: Process,
        is_broken: Arc<AtomicBool>,
    ) -> RegistryBuilder {
        let server = &self.servers[at];
        let truth = self.executor.clock.clone();
        let journal = SimJournal {
            process,
            disk: Arc::clone(&server.disk),
            registry: Arc::clone(&self.registry),
            history: Arc::clone(&self.field.history),
            clock: truth.clone(),
            spawner: self.executor.spawner.clone(),
            random: Mutex::new(self.random.fork()),
            delay_max: self.field.plan.disk_delay_max,
            is_broken,
            bug: self.registry.bug,
        };
        WorkerRegistry::builder()
            .journal(journal)
            .clock(Arc::new(ServerClock::new(truth, Arc::clone(&server.wall))))
    }

    fn caller(&mut self, at: usize, life: &Life) -> Caller {
        Caller {
            field: Arc::clone(&self.field),
            identity: self.servers[at].disk.identity,
            life: life.clone(),
            random: self.random.fork(),
        }
    }

    /// Ends a process as `kill -9` does.
    pub(crate) fn kill(&mut self, at: usize) {
        if let Some(life) = self.servers[at].life.take() {
            self.executor.end(life.process);
        }
        self.servers[at].starts_at = self.executor.clock.now();
    }

    /// Makes a wall clock wrong, up to what the plan allows, and lets it drift.
    pub(crate) fn set_wall_wrong(&mut self, wall: &Wall) {
        let max = self.field.plan.wall_error_max.as_millis();
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let share = self.random.f64().powi(2) * if self.random.bool() { 1.0 } else { -1.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "hours"
        )]
        let offset_ms = (max as f64 * share) as i64;
        let drift_ppm = if self.random.bool() {
            self.random.i64(-500..=500)
        } else {
            0
        };
        wall.set(self.executor.clock.now(), offset_ms, drift_ppm);
    }

    /// No more faults: the registry answers, all clocks are right, all servers run.
    fn stop_faults(&mut self) -> Result<(), Violation> {
        *lock(&self.registry.network.faults) = NetworkFaults {
            delay_max: self.field.plan.answer_max() / 2,
            ..NetworkFaults::NONE
        };
        self.executor.resume_all();
        let now = self.executor.clock.now();
        for server in &self.servers {
            server.disk.is_failing.store(false, Ordering::Relaxed);
        }
        // What was sent before the faults ended still arrives, and what was being written fails.
        let plan = &self.field.plan;
        let settled = now + plan.network_faults.delay_max * 2 + plan.disk_delay_max * STALL * 2;
        self.executor.run(settled, || false).map_err(livelock)?;
        // Relaxed: there is one thread.
        self.field.is_healed.store(true, Ordering::Relaxed);
        for at in 0..self.servers.len() {
            let server = &self.servers[at];
            server.wall.set(settled, 0, 0);
            if !server.life.as_ref().is_some_and(Life::is_whole) {
                self.kill(at);
                self.start(at);
            }
            if let Some(life) = self.servers[at].life.clone() {
                let caller = self.caller(at, &life);
                let spawner = &self.executor.spawner;
                spawner.spawn(life.process, caller.run_until_served());
            }
        }
        Ok(())
    }

    /// Every server must issue within its patience.
    fn serve_all(&mut self) -> Result<(), Violation> {
        let served = self.flags(|life| &life.is_served);
        let is_done = || served.iter().all(|served| served.load(Ordering::Relaxed));
        let began = self.executor.clock.now();
        let until = began + self.field.plan.patience();
        self.executor.run(until, is_done).map_err(livelock)?;
        let waited = self.executor.clock.now().saturating_sub(began);
        *self
            .faults
            .entry("seconds until all were served")
            .or_default() += waited.as_secs();
        if is_done() {
            return Ok(());
        }
        let patience = self.field.plan.patience();
        let message = format!(
            "not every server issues after {patience:?} of quiet: {}",
            self.statuses()
        );
        Err(Violation::new("liveness", message))
    }

    /// Every worker id that is held is free at once when its server was stopped. One in quarantine,
    /// or whose server waits for its clock, is not.
    fn stop_all(&mut self) -> Result<(), Violation> {
        let pause = self.field.plan.options.lease.mul_f64(self.random.f64());
        let until = self.executor.clock.now() + pause;
        self.executor.run(until, || false).map_err(livelock)?;
        let ended = self.flags(|life| &life.has_ended);
        let holding: Vec<bool> = self
            .lives()
            .map(|life| life.registry.status().lease.is_some())
            .collect();
        self.lives().for_each(|life| life.registry.stop());
        let until = self.executor.clock.now() + self.field.plan.stop_max();
        let is_done = || ended.iter().all(|end| end.load(Ordering::Relaxed));
        self.executor.run(until, is_done).map_err(livelock)?;
        if !is_done() {
            return Err(Violation::new("stop", self.statuses()));
        }
        let mut holders = self.servers.iter().zip(holding).filter(|(_, holds)| *holds);
        holders.try_for_each(|(server, _)| self.check_stopped(server))
    }

    /// The registry and the journal agree on how far ids went.
    fn check_stopped(&self, server: &Server) -> Result<(), Violation> {
        let record = lock(&server.disk.record).clone();
        let Some((record, lease)) = record.and_then(|record| {
            let lease = record.lease?;
            Some((record, lease))
        }) else {
            return Ok(());
        };
        let holder = record.row_holder(lease.nonce);
        let row = self.registry.row(lease.worker);
        let is_free = |row: &leafid::store::LeaseRecord| row.until_ms <= lease.below_ms;
        match row.filter(|row| row.holder == holder && !is_free(row)) {
            Some(row) => {
                let message = format!("{lease:?} was stopped, and its row is {row:?}");
                Err(Violation::new("stop", message))
            }
            None => Ok(()),
        }
    }

    fn lives(&self) -> impl Iterator<Item = &Life> {
        self.servers
            .iter()
            .filter_map(|server| server.life.as_ref())
    }

    fn flags(&self, flag: fn(&Life) -> &Arc<AtomicBool>) -> Vec<Arc<AtomicBool>> {
        self.lives().map(flag).cloned().collect()
    }

    fn statuses(&self) -> String {
        let stood = |life: &Life| {
            format!(
                "\n  process {}: {:?}",
                life.process.0,
                life.registry.status()
            )
        };
        self.lives().map(stood).collect()
    }
}

fn livelock(Livelock: Livelock) -> Violation {
    Violation::new(
        "livelock",
        "the tasks keep each other busy, and time stands still",
    )
}
