//! Snowflake ids, and the worker id with which this server makes them.

use std::sync::atomic::Ordering;

use leafid::store::LeaseRecord;
use leafid::{Id, RegistryStatus, SnowflakeIds, WorkerId};

use super::snowflakes::{Snowflakes, WorkerSettings};
use super::{Caller, Service, ServiceError, audit};
use crate::worker_ids::Presence;

/// How many servers are asked for their clocks at once.
const CLOCKS_MAX: usize = 64;

/// A worker id in the registry.
///
/// # Example
///
/// See [`Service::workers`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerView {
    /// The row in the registry.
    pub record: LeaseRecord,
    /// Whether its lease has not ended yet.
    pub is_held: bool,
    /// Whether this server holds it.
    pub is_own: bool,
}

/// The readings of this server's clocks.
///
/// # Example
///
/// ```
/// let view = leafid_server::ClockView { unix_ms: 1_900_000_000_000, offset_ms: -250, worker: None };
/// assert_eq!(view.wall_ms(), 1_899_999_999_750);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockView {
    /// The time in ids, without what they have borrowed, in milliseconds since
    /// 1970-01-01T00:00:00Z.
    pub unix_ms: u64,
    /// How far the wall clock is ahead of that, in milliseconds.
    pub offset_ms: i64,
    /// The worker id held.
    pub worker: Option<WorkerId>,
}

impl ClockView {
    /// The wall clock, in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn wall_ms(&self) -> u64 {
        self.unix_ms.saturating_add_signed(self.offset_ms)
    }
}

impl Service {
    /// The next snowflake id, from memory. Never waits. A quota on `tag` applies, if it is a tag.
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
        let id = self.sharded(caller, snowflakes.snowflake.try_next()?)?;
        snowflakes.count(1, Some(id));
        self.access.charge(caller, tag, 1);
        Ok(id)
    }

    /// The next snowflake id; waits for a worker id or for the clock if needed.
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
        let _waiting = self.gate.wait()?;
        self.take_snowflake(caller, tag).await
    }

    /// An id for a call that has been admitted to wait.
    pub(super) async fn take_snowflake(
        &self,
        caller: &Caller,
        tag: Option<&str>,
    ) -> Result<Id, ServiceError> {
        self.access.check(caller, tag, 1)?;
        let snowflakes = self.snowflakes()?;
        let id = self.sharded(caller, snowflakes.snowflake.next().await?)?;
        snowflakes.count(1, Some(id));
        self.access.charge(caller, tag, 1);
        Ok(id)
    }

    /// The next `count` snowflake ids, from memory. Never waits.
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
        let ids = self.all_sharded(caller, snowflakes.snowflake.try_next_many(count)?)?;
        snowflakes.count(count, ids.highest());
        self.access.charge(caller, tag, count);
        Ok(ids)
    }

    /// `count` ids for a call that has been admitted to wait.
    pub(super) async fn take_snowflakes(
        &self,
        caller: &Caller,
        tag: Option<&str>,
        count: u64,
    ) -> Result<SnowflakeIds, ServiceError> {
        self.access.check(caller, tag, count)?;
        let snowflakes = self.snowflakes()?;
        let ids = snowflakes.snowflake.next_many(count).await?;
        let ids = self.all_sharded(caller, ids)?;
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

    /// The state of this server's worker id and clock; `None` if snowflake ids are off.
    #[must_use]
    pub fn worker_status(&self) -> Option<RegistryStatus> {
        self.health.worker_status()
    }

    /// The settings of the worker id; `None` if snowflake ids are off.
    pub(crate) fn worker_settings(&self) -> Option<&WorkerSettings> {
        Some(&self.snowflakes.as_ref()?.settings)
    }

    /// As [`worker_status`](Self::worker_status), for a caller.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::NoToken`].
    pub fn worker(&self, caller: &Caller) -> Result<RegistryStatus, ServiceError> {
        self.access.check_look(caller, None)?;
        self.worker_status().ok_or(ServiceError::SnowflakeOff)
    }

    /// All worker ids with their holders, ordered by worker id.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::Store`].
    pub async fn workers(&self, caller: &Caller) -> Result<Vec<WorkerView>, ServiceError> {
        self.access.check_look(caller, None)?;
        let _place = self.gate.registry().await;
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

    /// How far the clocks of the holders of other worker ids are ahead of this server's, in
    /// milliseconds; `None` for one that does not answer.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`].
    pub(crate) async fn peer_clocks(
        &self,
        views: &[WorkerView],
    ) -> Result<Vec<(WorkerView, Option<f64>)>, ServiceError> {
        let snowflakes = self.snowflakes()?;
        let others = views.iter().filter(|view| view.is_held && !view.is_own);
        let others = others.filter(|view| !view.record.address.is_empty());
        let asking = others.take(CLOCKS_MAX).map(|view| async {
            let before = snowflakes.registry.now_ms();
            let answer = snowflakes.peers.ask(&view.record.address).await;
            let after = snowflakes.registry.now_ms();
            // It was read about half-way.
            let here = before.midpoint(after);
            let ahead = answer.map(|answer| answer.unix_ms.cast_signed() - here.cast_signed());
            (view.clone(), ahead.map(milliseconds))
        });
        Ok(futures_util::future::join_all(asking).await)
    }

    /// Frees a worker id whose holder is dead, as the caller states. While its lease lasts, that
    /// needs an admin's token, and the holder's machine must answer that nothing listens at its
    /// address: if the holder is alive, ids repeat.
    ///
    /// # Errors
    ///
    /// As [`workers`](Self::workers), and [`ServiceError::UnknownWorker`],
    /// [`ServiceError::WorkerAlive`], [`ServiceError::WorkerHeld`],
    /// [`ServiceError::WorkerChanged`].
    pub async fn force_release_worker(
        &self,
        caller: &Caller,
        worker: WorkerId,
    ) -> Result<WorkerView, ServiceError> {
        let action = "worker id released";
        self.admit(caller, action, &worker.to_string())?;
        let rows = self.workers(caller).await?;
        let row = rows.into_iter().find(|row| row.record.worker == worker);
        let row = row.ok_or(ServiceError::UnknownWorker { worker })?;
        self.check_dead(&row).await?;
        let registry = &self.snowflakes()?.registry;
        let before = audit::of_worker(&row.record);
        let attempt = self
            .audit
            .attempt(caller, action, worker.to_string(), before);
        let place = self.gate.registry().await;
        let released = registry.force_release(&row.record).await;
        drop(place);
        let released = match released {
            Ok(true) => Ok(()),
            Ok(false) => Err(ServiceError::WorkerChanged { worker }),
            Err(error) => Err(error.into()),
        };
        attempt.settled(released, |()| "free".to_owned())?;
        let rows = self.workers(caller).await?;
        let row = rows.into_iter().find(|row| row.record.worker == worker);
        row.ok_or(ServiceError::WorkerChanged { worker })
    }

    /// Whether a worker id can be freed without danger. Once its lease has ended by any clock,
    /// nothing is taken from its holder.
    async fn check_dead(&self, row: &WorkerView) -> Result<(), ServiceError> {
        let Snowflakes {
            registry,
            peers,
            settings,
            ..
        } = self.snowflakes()?;
        let record = &row.record;
        let margin_ms = u64::try_from(settings.clock_margin.as_millis()).unwrap_or(u64::MAX);
        if !row.is_own && record.until_ms.saturating_add(margin_ms) <= registry.now_ms() {
            return Ok(());
        }
        // Checked even if it is not released: that the holder is alive is the better answer.
        let presence = match row.is_own {
            true => None,
            false => Some(peers.look(&record.address).await),
        };
        check_dead(record, presence, self.needs_token())
    }

    /// The readings of this server's clocks.
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

    /// Accepts the wall clock although it disagrees with the time in ids: for an operator who knows
    /// that it is right. Returns the readings before.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SnowflakeOff`], [`ServiceError::NotAdmin`], [`ServiceError::NoToken`],
    /// [`ServiceError::ClockAhead`].
    pub fn accept_clock(&self, caller: &Caller) -> Result<ClockView, ServiceError> {
        let action = "clock accepted";
        self.admit(caller, action, "this server")?;
        let before = self.clock()?;
        let (ids, wall) = (before.unix_ms.cast_signed(), before.wall_ms().cast_signed());
        let of_ids = format!("time={}", crate::wall_clock::time(ids));
        let attempt = self.audit.attempt(caller, action, "this server", of_ids);
        let accepted = self.snowflakes()?.registry.accept_clock();
        attempt.settled(accepted.map_err(ServiceError::from), |()| {
            format!("time={}", crate::wall_clock::time(wall))
        })?;
        Ok(before)
    }

    fn snowflakes(&self) -> Result<&Snowflakes, ServiceError> {
        self.snowflakes.as_ref().ok_or(ServiceError::SnowflakeOff)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "clocks differ by less than 2^53 ms"
)]
fn milliseconds(difference: i64) -> f64 {
    difference as f64
}

/// Checks that the holder of a leased worker id is dead, as far as that can be known; `presence` is
/// `None` for this server.
fn check_dead(
    record: &LeaseRecord,
    presence: Option<Presence>,
    needs_token: bool,
) -> Result<(), ServiceError> {
    let worker = record.worker;
    let address = &record.address;
    let alive = |holder: String| Err(ServiceError::WorkerAlive { worker, holder });
    let why = match presence {
        None => return alive("this server holds it".into()),
        Some(Presence::Answers(answer)) if answer.worker == Some(worker) => {
            return alive(format!("the server at {address} answers that it holds it"));
        }
        Some(Presence::Answers(_)) => {
            format!(
                "a server answers at {address}, and may be its holder with another worker id now"
            )
        }
        Some(Presence::Unknown(why)) => why,
        Some(Presence::NothingListens) if needs_token => return Ok(()),
        Some(Presence::NothingListens) => {
            "this server requires no token (access-file), so the release cannot be authorized"
                .into()
        }
    };
    let until = match record.until_ms {
        LeaseRecord::FOREVER => "its holder gives it back".to_owned(),
        until_ms => crate::wall_clock::time(until_ms.cast_signed()),
    };
    Err(ServiceError::WorkerHeld { worker, until, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_ids::PeerAnswer;

    /// Guards that a leased worker id is released in one case only.
    #[test]
    fn only_an_admin_releases_what_its_machine_says_is_gone() {
        let record = LeaseRecord {
            worker: WorkerId::new(3),
            epoch: 1,
            holder: "6f1c".into(),
            address: "10.1.2.3:8080".into(),
            until_ms: 1_900_000_000_000,
        };
        let check = |presence: Option<Presence>, needs_token, expected: &str| {
            let checked = check_dead(&record, presence, needs_token);
            let code = checked.map_or_else(|error| error.code().name(), |()| "released");
            assert_eq!(code, expected);
        };
        let answers = |worker: Option<u32>| {
            let worker = worker.map(WorkerId::new);
            Some(Presence::Answers(PeerAnswer { unix_ms: 1, worker }))
        };
        for needs_token in [true, false] {
            check(None, needs_token, "worker_alive");
            check(answers(Some(3)), needs_token, "worker_alive");
            check(answers(Some(4)), needs_token, "worker_held");
            check(answers(None), needs_token, "worker_held");
            let unknown = Presence::Unknown("it is silent".into());
            check(Some(unknown), needs_token, "worker_held");
        }
        check(Some(Presence::NothingListens), true, "released");
        check(Some(Presence::NothingListens), false, "worker_held");
    }
}
