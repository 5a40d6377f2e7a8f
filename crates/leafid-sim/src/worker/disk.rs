//! `Disk`: the journal of a simulated server. A write takes time, is lost if the process ends
//! before it is durable, and may fail: then it is unknown which record is stored, and no later
//! write of this process succeeds, as the contract of `Journal` requires.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use leafid::store::{Journal, JournalRecord, StoreError, StoreResult};
use leafid::{Clock as _, ManualClock};

use super::bug::Bug;
use super::history::{Event, History, Identity};
use super::plan::STALL;
use super::store::Registry;
use crate::executor::{Process, Spawner, lock};

/// One journal. It outlives the processes that write it.
pub(crate) struct Disk {
    pub(crate) identity: Identity,
    pub(crate) record: Mutex<Option<JournalRecord>>,
    /// The next write fails.
    pub(crate) is_failing: AtomicBool,
}

impl Disk {
    pub(crate) fn new(identity: Identity, record: Option<JournalRecord>) -> Arc<Self> {
        Arc::new(Self {
            identity,
            record: Mutex::new(record),
            is_failing: AtomicBool::new(false),
        })
    }
}

/// A process's handle on its journal.
pub(crate) struct SimJournal {
    pub(crate) process: Process,
    pub(crate) disk: Arc<Disk>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) history: Arc<History>,
    pub(crate) clock: ManualClock,
    pub(crate) spawner: Spawner,
    pub(crate) random: Mutex<Rng>,
    pub(crate) delay_max: Duration,
    /// A write has failed.
    pub(crate) is_broken: Arc<AtomicBool>,
    pub(crate) bug: Option<Bug>,
}

/// One write in this many takes much longer.
const STALL_EVERY: u32 = 500;

impl SimJournal {
    async fn wait(&self) {
        let (share, stalls) = {
            let mut random = lock(&self.random);
            (random.f64().powi(3), random.u32(..STALL_EVERY) == 0)
        };
        let longest = self.delay_max * if stalls { STALL } else { 1 };
        let time = longest.mul_f64(share);
        if stalls {
            self.history.push(Event::Hindered {
                process: self.process,
                until: self.clock.now() + time,
            });
        }
        self.clock.sleep(time).await;
    }
}

/// Records the servers behind the names in the rows of a journal.
fn know(disk: &Disk, registry: &Registry, record: &JournalRecord) {
    let lease = record.lease.map(|lease| lease.nonce);
    let claim = record.claim.map(|claim| claim.nonce);
    for nonce in [lease, claim].into_iter().flatten() {
        registry.knows(&record.row_holder(nonce), disk.identity);
    }
}

/// Makes a record durable.
fn land(disk: &Disk, registry: &Registry, history: &History, record: &JournalRecord) {
    know(disk, registry, record);
    history.push(Event::Journaled {
        identity: disk.identity,
        bound: record.lease.map(|lease| (lease.worker, lease.below_ms)),
    });
    *lock(&disk.record) = Some(record.clone());
}

fn broken() -> StoreError {
    StoreError::unavailable("cannot write the simulated journal", "i/o error")
}

impl Journal for SimJournal {
    fn read(&self) -> StoreResult<'_, Option<JournalRecord>> {
        Box::pin(async {
            self.wait().await;
            let mut record = lock(&self.disk.record).clone();
            if let (Some(bug), Some(record)) = (self.bug, &mut record) {
                bug.spoil_journal(&self.registry, record);
            }
            Ok(record)
        })
    }

    fn write<'a>(&'a self, record: &'a JournalRecord) -> StoreResult<'a, ()> {
        Box::pin(async move {
            if self.bug == Some(Bug::JournalAfterwards) {
                self.write_later(record.clone());
                return Ok(());
            }
            self.wait().await;
            // Relaxed, here and below: there is one thread.
            if self.is_broken.load(Ordering::Relaxed) {
                return Err(broken());
            }
            let fails = self.disk.is_failing.swap(false, Ordering::Relaxed);
            if !fails || lock(&self.random).bool() {
                land(&self.disk, &self.registry, &self.history, record);
            }
            self.wait().await;
            if fails {
                self.is_broken.store(true, Ordering::Relaxed);
                return Err(broken());
            }
            Ok(())
        })
    }
}

impl SimJournal {
    /// As a program does that answers before its fsync.
    fn write_later(&self, record: JournalRecord) {
        let (disk, registry) = (Arc::clone(&self.disk), Arc::clone(&self.registry));
        let (history, clock) = (Arc::clone(&self.history), self.clock.clone());
        let delay = Duration::from_secs(2).mul_f64(lock(&self.random).f64());
        know(&disk, &registry, &record);
        self.spawner.spawn(self.process, async move {
            clock.sleep(delay).await;
            land(&disk, &registry, &history, &record);
        });
    }
}
