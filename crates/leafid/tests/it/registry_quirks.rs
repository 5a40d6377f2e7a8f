//! A registry with one quirk: one that the contract leaves open, or one that it forbids.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use futures_util::lock::Mutex;
use leafid::store::lease_conformance::LeaseHandles;
use leafid::store::{
    LeaseRecord, LeaseStore, LeaseSwap, MemoryLeaseStore, StoreError, StoreReport, StoreResult,
    new_identity,
};
use leafid::{Clock, SystemClock, WorkerId};

use crate::store_conformance::round_trip;

/// What a store does besides, or instead of, what the contract requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quirk {
    // The contract leaves these open.
    NumbersInTurn,
    RowsInDisorder,
    ReportRefused,
    // The contract forbids these.
    EpochIgnored,
    UntilIgnored,
    KeyOfAnyRow,
    KeyAsDouble,
    KeyIn32Bits,
    ReadThenWrite,
    NotThreadSafe,
    CreateOverwrites,
    CreateOfNoRow,
    AddressForgotten,
    HolderKept,
    HolderInLowerCase,
    WorkerIn8Bits,
    UntilOnlyUp,
    SameIsRefused,
    ReplayIsTrue,
    AlwaysFalse,
    OneRowLocksAll,
    BindLastWins,
    BindCreatesLate,
    BindTrims,
    BindIsRow,
    IdentityOfHandle,
    IdentityOfHolder,
    IdentityCreatesLate,
    IdentityIsRow,
    IdentityInWords,
    ReportMutates,
    ReportFences,
    SecondHandleBlind,
    SecondHandleLate,
    LeasesOfOthers,
    LeasesCut,
    LeasesTwice,
    LeaseLate,
    LeaseOfAny,
    ClockInSeconds,
    ClockGoesBack,
    Nameless,
    Down,
}

use Quirk::*;

/// A registry with one quirk. What two handles on it share is in `rows`.
#[derive(Clone)]
struct QuirkyRegistry {
    rows: Arc<Mutex<Rows>>,
    is: Quirk,
    is_second: bool,
    is_after: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
}

#[derive(Default, Clone)]
struct Rows {
    layout: Option<String>,
    identity: Option<String>,
    leases: BTreeMap<WorkerId, LeaseRecord>,
    /// What the second handle saw last.
    seen_late: BTreeMap<WorkerId, LeaseRecord>,
}

pub(crate) fn with_quirk(is: Quirk) -> LeaseHandles {
    let first = QuirkyRegistry {
        rows: Arc::default(),
        is,
        is_second: false,
        is_after: Arc::default(),
        swaps: Arc::default(),
    };
    let mut second = QuirkyRegistry {
        is_second: true,
        ..first.clone()
    };
    if is == SecondHandleBlind {
        second.rows = Arc::default();
    }
    let (first, second) = (Arc::new(first), Arc::new(second));
    LeaseHandles { first, second }
}

impl QuirkyRegistry {
    /// Whether two numbers of a key are the same to this store.
    fn equal(&self, one: u64, other: u64) -> bool {
        match self.is {
            KeyAsDouble => (one ^ other) >> 10 == 0 && one.max(other) >> 53 != 0 || one == other,
            KeyIn32Bits => (one ^ other) << 32 == 0,
            _ => one == other,
        }
    }

    fn is_expected(&self, row: Option<&LeaseRecord>, swap: &LeaseSwap) -> bool {
        match (row, swap.expected) {
            (None, None) => true,
            (None, Some(_)) => self.is == CreateOfNoRow,
            (Some(_), None) => self.is == CreateOverwrites,
            (Some(row), Some(key)) => {
                (self.is == EpochIgnored || self.equal(row.epoch, key.epoch))
                    && (self.is == UntilIgnored || self.equal(row.until_ms, key.until_ms))
                    && !(self.is == SameIsRefused && *row == swap.record)
            }
        }
    }

    /// What is written for this record.
    fn written(&self, row: Option<&LeaseRecord>, record: &LeaseRecord) -> LeaseRecord {
        let mut written = record.clone();
        match (self.is, row) {
            (AddressForgotten, _) => written.address.clear(),
            (HolderInLowerCase, _) => written.holder.make_ascii_lowercase(),
            (WorkerIn8Bits, _) => written.worker = WorkerId::new(record.worker.get() & 0xff),
            (HolderKept, Some(row)) => written.holder.clone_from(&row.holder),
            (UntilOnlyUp, Some(row)) => written.until_ms = written.until_ms.max(row.until_ms),
            _ => {}
        }
        written
    }

    /// Fails if no call succeeds.
    fn reach(&self) -> Result<(), StoreError> {
        match self.is {
            Down => Err(StoreError::unavailable("cannot reach the registry", "down")),
            _ => Ok(()),
        }
    }

    /// Lets another thread come to the same place, if there is one on its way.
    fn wait_for_another(&self) {
        let swaps = self.swaps.fetch_add(1, Ordering::Relaxed) + 1;
        for _ in 0..200 {
            if self.swaps.load(Ordering::Relaxed) != swaps {
                break;
            }
            thread::yield_now();
        }
    }

    async fn swap_row(&self, swap: &LeaseSwap) -> bool {
        let worker = swap.record.worker;
        let mut rows = self.rows.lock().await;
        rows.seen_late = rows.leases.clone();
        let before = rows.clone();
        let row = before.leases.get(&worker);
        if self.is == ReplayIsTrue && row == Some(&swap.record) {
            return true;
        }
        let is_key = |row: &LeaseRecord| Some(row.key()) == swap.expected;
        if self.is == KeyOfAnyRow && before.leases.values().any(is_key) {
            rows.leases.insert(worker, swap.record.clone());
            return true;
        }
        if !self.is_expected(row, swap) || self.is == AlwaysFalse {
            return false;
        }
        if self.is == NotThreadSafe {
            drop(rows);
            self.wait_for_another();
            rows = self.rows.lock().await;
        }
        if matches!(self.is, ReadThenWrite | OneRowLocksAll) {
            drop(rows);
            round_trip().await;
            rows = self.rows.lock().await;
            if self.is == OneRowLocksAll && rows.leases != before.leases {
                return false;
            }
        }
        let worker_in_turn = WorkerId::new(u32::try_from(rows.leases.len()).unwrap());
        if self.is == NumbersInTurn && row.is_none() && worker != worker_in_turn {
            rows.leases.insert(worker_in_turn, free_row(worker_in_turn));
            return false;
        }
        let written = self.written(row, &swap.record);
        rows.leases.insert(written.worker, written);
        true
    }
}

/// The row of a worker id that exists without a holder.
fn free_row(worker: WorkerId) -> LeaseRecord {
    LeaseRecord {
        worker,
        epoch: 0,
        holder: String::new(),
        address: String::new(),
        until_ms: 0,
    }
}

impl LeaseStore for QuirkyRegistry {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(async move {
            self.reach()?;
            let mut rows = self.rows.lock().await;
            let is_new = rows.layout.is_none();
            if is_new && self.is == BindCreatesLate {
                drop(rows);
                round_trip().await;
                rows = self.rows.lock().await;
                rows.layout = None;
            }
            match self.is {
                BindLastWins => rows.layout = Some(layout.into()),
                BindTrims => rows.layout = Some(layout.replace(' ', "")),
                BindIsRow => drop(
                    rows.leases
                        .insert(WorkerId::new(0), free_row(WorkerId::new(0))),
                ),
                _ => {}
            }
            Ok(rows.layout.get_or_insert_with(|| layout.into()).clone())
        })
    }

    fn identity(&self) -> StoreResult<'_, String> {
        Box::pin(async move {
            self.reach()?;
            let mut rows = self.rows.lock().await;
            let new = match self.is {
                IdentityInWords => "the one in the cellar".to_owned(),
                _ => new_identity(),
            };
            if rows.identity.is_none() && self.is == IdentityCreatesLate {
                drop(rows);
                round_trip().await;
                rows = self.rows.lock().await;
                rows.identity = None;
            }
            let kept = rows.identity.get_or_insert(new).clone();
            match self.is {
                IdentityOfHandle if self.is_second => return Ok(format!("{kept}-2")),
                IdentityOfHolder if !rows.leases.is_empty() => return Ok(new_identity()),
                IdentityIsRow => drop(
                    rows.leases
                        .insert(WorkerId::new(0), free_row(WorkerId::new(0))),
                ),
                _ => {}
            }
            Ok(kept)
        })
    }

    fn location(&self) -> String {
        "the cellar".into()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(async move {
            self.reach()?;
            let rows = self.rows.lock().await;
            let is_late = self.is == SecondHandleLate && self.is_second;
            let leases = if is_late {
                &rows.seen_late
            } else {
                &rows.leases
            };
            let mut leases: Vec<LeaseRecord> = leases.values().cloned().collect();
            match self.is {
                RowsInDisorder => leases.reverse(),
                LeasesOfOthers => leases.push(free_row(WorkerId::new(1024))),
                LeasesCut => leases.truncate(32),
                LeasesTwice => leases.extend_from_within(..),
                _ => {}
            }
            Ok(leases)
        })
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(async move {
            self.reach()?;
            let rows = self.rows.lock().await;
            Ok(match self.is {
                LeaseLate => rows.seen_late.get(&worker),
                LeaseOfAny => rows.leases.values().next(),
                _ => rows.leases.get(&worker),
            }
            .cloned())
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async move {
            self.reach()?;
            Ok(self.swap_row(swap).await)
        })
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async move {
            self.reach()?;
            let mut rows = self.rows.lock().await;
            let is_held = rows.leases.get(&record.worker) == Some(record);
            match self.is {
                ReportRefused if !is_held => {
                    return Err(StoreError::unavailable("cannot report", "not the holder"));
                }
                ReportMutates => drop(rows.leases.insert(record.worker, record.clone())),
                ReportFences if is_held => {
                    let row = rows.leases.get_mut(&record.worker).unwrap();
                    row.until_ms = row.until_ms.max(now_ms);
                }
                _ => {}
            }
            Ok(())
        })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        Box::pin(async move {
            self.reach()?;
            let wall = SystemClock::new().wall();
            let wall_ms = u64::try_from(wall.as_millis()).unwrap();
            let is_after = self.is_after.swap(true, Ordering::Relaxed);
            Ok(match self.is {
                ClockInSeconds => Some(wall.as_secs()),
                ClockGoesBack if is_after => Some(wall_ms - 2_000),
                _ => Some(wall_ms),
            })
        })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(async move {
            self.reach()?;
            let mut report = MemoryLeaseStore::new().inspect().await?;
            if self.is == Nameless {
                report.product.clear();
            }
            Ok(report)
        })
    }
}
