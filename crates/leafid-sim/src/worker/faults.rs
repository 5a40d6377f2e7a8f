//! The faults that are injected into a simulation: kills, stops, pauses, outages, clocks and disks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leafid::Clock as _;
use leafid::store::{JournalLease, JournalRecord, JournalRegistry};

use super::bug::Bug;
use super::history::Event;
use super::plan::Fault;
use super::simulation::Simulation;
use crate::executor::lock;
use crate::network::NetworkFaults;

impl Simulation {
    pub(crate) fn inject(&mut self, fault: Fault) {
        let at = self.random.usize(..self.servers.len());
        let injected = match fault {
            Fault::Kill => self.kill_for_a_while(at),
            Fault::KillAll => (0..self.servers.len()).fold(false, |injected, at| {
                let killed = self.kill_for_a_while(at);
                self.servers[at].starts_at = Duration::ZERO;
                killed || injected
            }),
            Fault::Stop => self.stop(at),
            Fault::Pause => self.pause(at),
            Fault::Outage => {
                *lock(&self.registry.network.faults) = NetworkFaults::OUTAGE;
                self.repair_at = Some(self.executor.clock.now() + self.up_to_two_leases());
                true
            }
            Fault::StepWall => self.step_wall(at),
            Fault::SetWallRight => {
                let now = self.executor.clock.now();
                self.servers[at].wall.set(now, 0, 0);
                true
            }
            Fault::AcceptWall => self.accept_wall(at),
            Fault::FailDisk => {
                // Relaxed: there is one thread.
                let disk = &self.servers[at].disk;
                disk.is_failing.store(true, Ordering::Relaxed);
                true
            }
            Fault::CopyFolder => self.copy_folder(at),
            Fault::ForeignJournal => self.bring_foreign_journal(at),
            Fault::BackUp => {
                self.registry.back_up();
                true
            }
            Fault::Empty => {
                let identity = self.random.bool().then(|| self.random.u64(..));
                self.registry.empty(identity);
                self.start_newcomer(at);
                true
            }
            Fault::PutBack => {
                let is_struck = self.registry.put_back();
                self.start_newcomer(at);
                is_struck
            }
        };
        *self.faults.entry(fault.name()).or_default() += u64::from(injected);
    }

    /// Short as likely as long.
    fn up_to_two_leases(&mut self) -> Duration {
        let lease = self.field.plan.options.lease * 2;
        lease.mul_f64(1e-4_f64.powf(self.random.f64()))
    }

    /// The next process may start at once or late, and may have lost its journal.
    fn kill_for_a_while(&mut self, at: usize) -> bool {
        let was_there = self.servers[at].life.is_some();
        self.kill(at);
        if self.random.bool() {
            let down = self.up_to_two_leases();
            self.servers[at].starts_at += down;
        }
        if self.random.u8(..4) == 0 {
            self.servers[at].disk = self.new_disk(None);
        }
        was_there
    }

    /// The process has some time to give its worker id back; what it sent travels on.
    fn stop(&mut self, at: usize) -> bool {
        let Some(life) = &self.servers[at].life else {
            return false;
        };
        life.registry.stop();
        let grace = self.field.plan.options.call_max * 2;
        let until = self.executor.clock.now() + grace.mul_f64(self.random.f64());
        let has_ended = Arc::clone(&life.has_ended);
        let is_done = || has_ended.load(Ordering::Relaxed);
        // A livelock shows again at the next turn.
        let _outcome = self.executor.run(until, is_done);
        self.kill_for_a_while(at)
    }

    /// Two servers with one name and one journal, of which each may be the faster one. A copy that
    /// is detected has another name. An image of a disk is not detected: two of it that run without
    /// the registry cannot be distinguished.
    fn copy_folder(&mut self, at: usize) -> bool {
        let to = self.random.usize(..self.servers.len());
        let record = lock(&self.servers[at].disk.record).clone();
        let Some(mut record) = record.filter(|_| to != at) else {
            return false;
        };
        [at, to].into_iter().for_each(|at| self.kill(at));
        if self.random.bool() {
            self.servers[to].disk = self.new_disk(Some(record.of_copy()));
            return true;
        }
        if let Some(lease) = &mut record.lease {
            lease.acknowledged = false;
        }
        self.registry
            .retire_identity(self.servers[at].disk.identity);
        for at in [at, to] {
            self.servers[at].disk = self.new_disk(Some(record.clone()));
        }
        true
    }

    /// It names a worker id that another server may hold here, and no end.
    fn bring_foreign_journal(&mut self, at: usize) -> bool {
        let rows = self.registry.rows_now();
        let Some(row) = self.random.choice(rows) else {
            return false;
        };
        self.kill(at);
        let layout = self.field.plan.options.snowflake.layout;
        let now = self.executor.clock.wall().as_millis();
        let now_ms = u64::try_from(now).unwrap_or(u64::MAX);
        let elsewhere = || "none".to_owned();
        let record = JournalRecord {
            registry: Some(JournalRegistry {
                identity: elsewhere(),
                location: elsewhere(),
            }),
            lease: Some(JournalLease {
                worker: row.worker,
                epoch: row.epoch,
                nonce: 0,
                until_ms: now_ms + 365 * 86_400_000,
                acknowledged: true,
                below_ms: now_ms,
                written_ms: now_ms,
            }),
            ..JournalRecord::new(format!("{:032x}", self.random.u128(..)), layout.to_string())
        };
        self.servers[at].disk = self.new_disk(Some(record));
        true
    }

    /// A new server, which may be assigned a worker id that is still in use.
    fn start_newcomer(&mut self, at: usize) {
        if self.random.bool() {
            self.kill(at);
            self.servers[at].disk = self.new_disk(None);
        }
    }

    fn pause(&mut self, at: usize) -> bool {
        let time = self.up_to_two_leases();
        let Some(life) = &self.servers[at].life else {
            return false;
        };
        let (process, until) = (life.process, self.executor.clock.now() + time);
        self.executor.pause(process, time);
        let hindered = Event::Hindered { process, until };
        self.field.history.push(hindered);
        true
    }

    fn step_wall(&mut self, at: usize) -> bool {
        let wall = Arc::clone(&self.servers[at].wall);
        let now = self.executor.clock.now();
        let before_ms = wall.ahead_ms(now);
        self.set_wall_wrong(&wall);
        if self.registry.bug == Some(Bug::SequenceReset)
            && wall.ahead_ms(now) < before_ms
            && self.servers[at].life.is_some()
        {
            self.kill(at);
            self.start(at);
        }
        true
    }

    fn accept_wall(&mut self, at: usize) -> bool {
        let life = self.servers[at].life.as_ref();
        life.is_some_and(|life| life.registry.accept_clock().is_ok())
    }
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kills",
            Self::KillAll => "kills of all",
            Self::Stop => "stops",
            Self::Pause => "pauses of servers",
            Self::Outage => "outages of the registry",
            Self::StepWall => "steps of wall clocks",
            Self::SetWallRight => "wall clocks set right",
            Self::AcceptWall => "wall clocks accepted",
            Self::FailDisk => "disks about to fail",
            Self::CopyFolder => "folders copied",
            Self::ForeignJournal => "journals of another registry",
            Self::BackUp => "copies of the registry",
            Self::Empty => "registries emptied",
            Self::PutBack => "registries put back",
        }
    }
}
