//! Snowflake ids, and the worker id that this server makes them with.

use std::sync::atomic::{AtomicU64, Ordering};

use leafid::store::LeaseRecord;
use leafid::{Id, RegistryStatus, Snowflake, SnowflakeIds, WorkerId, WorkerRegistry};

use super::{Caller, Service, ServiceError};
use crate::sharded::Sharded;
use crate::workers::Peers;

/// The generator, and the registry that keeps it supplied with a worker id.
#[derive(Debug)]
pub(super) struct Snowflakes {
    pub(super) registry: WorkerRegistry,
    peers: Peers,
    snowflake: Snowflake,
    counts: Sharded<Counts>,
}

/// What one thread issued.
#[derive(Debug, Default)]
struct Counts {
    ids: AtomicU64,
    /// The last id.
    last: AtomicU64,
}

impl Snowflakes {
    #[inline]
    fn count(&self, ids: u64, last: Option<Id>) {
        let counts = self.counts.here();
        // Relaxed: counters order nothing.
        counts.ids.fetch_add(ids, Ordering::Relaxed);
        if let Some(last) = last {
            counts.last.store(last.get(), Ordering::Relaxed);
        }
    }

    pub(super) fn new(registry: WorkerRegistry, peers: Peers) -> Self {
        Self {
            snowflake: registry.snowflake(),
            registry,
            peers,
            counts: Sharded::default(),
        }
    }
}

/// A worker id as the registry has it.
///
/// # Example
///
/// See [`Service::workers`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerView {
    /// The row in the registry.
    pub record: LeaseRecord,
    /// Whether its reservation is not over yet.
    pub is_held: bool,
    /// Whether it is this server that holds it.
    pub is_own: bool,
}

/// What the clocks of this server show.
///
/// # Example
///
/// ```
/// let view = leafid_server::ClockView { unix_ms: 1_900_000_000_000, offset_ms: -250, worker: None };
/// assert_eq!(view.wall_ms(), 1_899_999_999_750);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockView {
    /// The time that ids carry, save for what they have borrowed, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    pub unix_ms: u64,
    /// How far the wall clock is ahead of that, in milliseconds.
    pub offset_ms: i64,
    /// The worker id held.
    pub worker: Option<WorkerId>,
}

impl ClockView {
    /// What the wall clock shows, in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn wall_ms(&self) -> u64 {
        self.unix_ms.saturating_add_signed(self.offset_ms)
    }
}

impl Service {
    /// The next snowflake id, out of memory. Never waits. A quota on `tag` holds, if it is one.
    ///
    /// # Errors
    ///
    /// As [`snowflake_next`](Self::snowflake_next).
    #[inline]
    pub fn try_snowflake_next(
        &self,
        caller: &Caller,
        tag: Option<&str>,
    ) -> Result<Id, ServiceError> {
        self.access.check(caller, tag, 1)?;
        let snowflakes = self.snowflakes()?;
        let id = snowflakes.snowflake.try_next()?;
        snowflakes.count(1, Some(id));
        self.access.charge(caller, tag, 1);
        Ok(id)
    }

    /// The next snowflake id, waiting for a worker id or for the clock.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::Snowflake`], [`ServiceError::Overloaded`],
    /// [`ServiceError::OverQuota`], [`ServiceError::NoToken`].
    #[inline]
    pub async fn snowflake_next(
        &self,
        caller: &Caller,
        tag: Option<&str>,
    ) -> Result<Id, ServiceError> {
        match self.try_snowflake_next(caller, tag) {
            Err(error) if error.is_worth_waiting() => {
                // On the heap, so that the usual call stays small.
                Box::pin(self.wait_snowflake(caller, tag)).await
            }
            done => done,
        }
    }

    async fn wait_snowflake(&self, caller: &Caller, tag: Option<&str>) -> Result<Id, ServiceError> {
        let snowflakes = self.snowflakes()?;
        let _waiting = self.gate.wait()?;
        let id = snowflakes.snowflake.next().await?;
        snowflakes.count(1, Some(id));
        self.access.charge(caller, tag, 1);
        Ok(id)
    }

    /// The next `count` snowflake ids, out of memory. Never waits.
    ///
    /// # Errors
    ///
    /// As [`snowflake_next`](Self::snowflake_next), and [`ServiceError::BadCount`].
    pub fn try_snowflake_next_many(
        &self,
        caller: &Caller,
        tag: Option<&str>,
        count: u64,
    ) -> Result<SnowflakeIds, ServiceError> {
        self.access.check(caller, tag, count)?;
        let snowflakes = self.snowflakes()?;
        let ids = snowflakes.snowflake.try_next_many(count)?;
        snowflakes.count(count, ids.highest());
        self.access.charge(caller, tag, count);
        Ok(ids)
    }

    /// `count` ids for a call that may wait already.
    pub(super) async fn take_snowflakes(
        &self,
        caller: &Caller,
        tag: Option<&str>,
        count: u64,
    ) -> Result<SnowflakeIds, ServiceError> {
        self.access.check(caller, tag, count)?;
        let snowflakes = self.snowflakes()?;
        let ids = snowflakes.snowflake.next_many(count).await?;
        snowflakes.count(count, ids.highest());
        self.access.charge(caller, tag, count);
        Ok(ids)
    }

    /// How many snowflake ids were issued since the start.
    pub(crate) fn snowflakes_issued(&self) -> u64 {
        let counts = self.snowflakes.iter().flat_map(|all| all.counts.iter());
        counts
            .map(|counts| counts.ids.load(Ordering::Relaxed))
            .sum()
    }

    /// The last snowflake id that was issued since the start.
    pub(super) fn last_snowflake(&self) -> Option<Id> {
        let counts = self.snowflakes.iter().flat_map(|all| all.counts.iter());
        let last = counts
            .map(|counts| counts.last.load(Ordering::Relaxed))
            .max();
        last.and_then(Id::new)
    }

    /// How this server stands with its worker id and its clock; `None` when snowflake ids are off.
    #[must_use]
    pub fn worker_status(&self) -> Option<RegistryStatus> {
        let snowflakes = self.snowflakes.as_ref()?;
        Some(snowflakes.registry.status())
    }

    /// As [`worker_status`](Self::worker_status), for a caller.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::NoToken`].
    pub fn worker(&self, caller: &Caller) -> Result<RegistryStatus, ServiceError> {
        self.access.check_token(caller)?;
        self.worker_status().ok_or(ServiceError::SnowflakeOff)
    }

    /// Who holds which worker id, in the order of the worker ids.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::Store`].
    pub async fn workers(&self, caller: &Caller) -> Result<Vec<WorkerView>, ServiceError> {
        self.access.check_token(caller)?;
        let _place = self.gate.admin().await;
        let registry = &self.snowflakes()?.registry;
        let rows = registry.leases().await?;
        let (now_ms, own) = (registry.now_ms(), registry.status().lease);
        let view = |record: LeaseRecord| WorkerView {
            is_held: record.until_ms > now_ms,
            is_own: own.is_some_and(|own| own.worker == record.worker && own.epoch == record.epoch),
            record,
        };
        Ok(rows.into_iter().map(view).collect())
    }

    /// Frees a worker id whose holder is dead, as the caller has made sure. It is refused when the
    /// holder is this server, or answers at its address.
    ///
    /// # Errors
    ///
    /// As [`workers`](Self::workers), and [`ServiceError::UnknownWorker`],
    /// [`ServiceError::WorkerAlive`], [`ServiceError::WorkerChanged`].
    pub async fn release_dead_worker(
        &self,
        caller: &Caller,
        worker: WorkerId,
    ) -> Result<WorkerView, ServiceError> {
        self.access.check_admin(caller)?;
        let rows = self.workers(caller).await?;
        let row = rows.into_iter().find(|row| row.record.worker == worker);
        let row = row.ok_or(ServiceError::UnknownWorker { worker })?;
        if let Some(holder) = alive(&row, &self.snowflakes()?.peers).await {
            return Err(ServiceError::WorkerAlive { worker, holder });
        }
        let registry = &self.snowflakes()?.registry;
        if !registry.release_dead(&row.record).await? {
            return Err(ServiceError::WorkerChanged { worker });
        }
        let rows = self.workers(caller).await?;
        let row = rows.into_iter().find(|row| row.record.worker == worker);
        row.ok_or(ServiceError::WorkerChanged { worker })
    }

    /// What the clocks of this server show.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`].
    pub fn clock(&self) -> Result<ClockView, ServiceError> {
        let registry = &self.snowflakes()?.registry;
        let status = registry.status();
        Ok(ClockView {
            unix_ms: registry.now_ms(),
            offset_ms: status.clock_offset_ms,
            worker: status.lease.map(|lease| lease.worker),
        })
    }

    /// Takes the wall clock for right, although it disagrees with the time that ids carry: for an
    /// operator who knows. Tells what the clocks showed before.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::NotAdmin`], [`ServiceError::NoToken`].
    pub fn accept_clock(&self, caller: &Caller) -> Result<ClockView, ServiceError> {
        self.access.check_admin(caller)?;
        let before = self.clock()?;
        self.snowflakes()?.registry.accept_clock();
        Ok(before)
    }

    fn snowflakes(&self) -> Result<&Snowflakes, ServiceError> {
        self.snowflakes.as_ref().ok_or(ServiceError::SnowflakeOff)
    }
}

/// Who was found to be alive with this worker id.
async fn alive(row: &WorkerView, peers: &Peers) -> Option<String> {
    let LeaseRecord {
        worker, address, ..
    } = &row.record;
    if row.is_own {
        return Some("this server holds it".into());
    }
    if address.is_empty() || !row.is_held {
        return None;
    }
    let answer = peers.ask(address).await?;
    (answer.worker == Some(*worker)).then(|| format!("the server at {address} answers with it"))
}
