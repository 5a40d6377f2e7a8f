//! `Caller`: one client thread of a server. It requests snowflake ids in every way there is, and
//! records the results.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use leafid::{Clock as _, ManualClock, Snowflake, SnowflakeError};

use super::history::{Event, History, Identity};
use super::plan::Plan;
use super::server::Life;
use crate::executor::lock;
use crate::violation::Violation;

/// The state that all callers and the simulation share.
pub(crate) struct Field {
    pub(crate) plan: Plan,
    pub(crate) clock: ManualClock,
    pub(crate) history: Arc<History>,
    /// Calls still to be made before the faults end.
    pub(crate) calls_left: AtomicU64,
    /// The faults are over: every server must soon issue.
    pub(crate) is_healed: AtomicBool,
    /// A wrong answer that a caller saw itself.
    pub(crate) violation: Mutex<Option<Violation>>,
}

impl Field {
    pub(crate) fn is_healed(&self) -> bool {
        // Relaxed, here and below: there is one thread.
        self.is_healed.load(Ordering::Relaxed)
    }
}

/// One way to ask for ids.
#[derive(Debug, Clone, Copy)]
enum TakeCall {
    Next,
    TryNext,
    Many(u64),
    TryMany(u64),
    /// One after the other, without a pause.
    Burst(u64),
    /// More than the layout has, for a while.
    Flood,
}

/// While no call succeeds, a caller retries after this long.
const PATIENT: Duration = Duration::from_secs(1);

/// The logarithm of the longest burst.
const BURST_LOG_MAX: u32 = 12;
/// This many bursts, two in each tick, are a flood.
const FLOOD_LEN: usize = 20;

/// One client thread.
pub(crate) struct Caller {
    pub(crate) field: Arc<Field>,
    pub(crate) identity: Identity,
    pub(crate) life: Life,
    pub(crate) random: Rng,
}

impl Caller {
    /// Calls at random until the faults end.
    pub(crate) async fn run(mut self) {
        let snowflake = self.life.registry.snowflake();
        while !self.field.is_healed() {
            self.think().await;
            if self.field.calls_left.load(Ordering::Relaxed) == 0 {
                // What is under way settles without further calls, of which there could be millions.
                self.field.clock.sleep(PATIENT).await;
                continue;
            }
            self.field
                .calls_left
                .update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.saturating_sub(1)
                });
            let take = self.take();
            if let Err(SnowflakeError::Stopped) = self.call(&snowflake, take).await {
                return;
            }
        }
    }

    /// Calls until it is served once.
    pub(crate) async fn run_until_served(self) {
        let snowflake = self.life.registry.snowflake();
        while self.call(&snowflake, TakeCall::Next).await.is_err() {
            self.field.clock.sleep(PATIENT).await;
        }
        self.life.is_served.store(true, Ordering::Relaxed);
    }

    async fn think(&mut self) {
        let share = self.random.f64().powi(4);
        let time = self.field.plan.think_max.mul_f64(share);
        self.field.clock.sleep(time).await;
    }

    fn take(&mut self) -> TakeCall {
        let count = self.random.u64(1..=self.field.plan.count_max);
        match self.random.u8(..64) {
            0..16 => TakeCall::Next,
            16..40 => TakeCall::TryNext,
            40..48 => TakeCall::Many(count),
            48..56 => TakeCall::TryMany(count),
            56..63 => TakeCall::Burst(1 << self.random.u32(..=BURST_LOG_MAX)),
            _ => TakeCall::Flood,
        }
    }

    async fn call(&self, snowflake: &Snowflake, take: TakeCall) -> Result<(), SnowflakeError> {
        if !matches!(take, TakeCall::Flood) {
            return self.call_once(snowflake, take).await;
        }
        let layout = snowflake.layout();
        let unit = Duration::from_millis(layout.unit().ms());
        for _ in 0..FLOOD_LEN {
            let burst = TakeCall::Burst(layout.sequence_max() + 1);
            if let Err(SnowflakeError::Stopped) = self.call_once(snowflake, burst).await {
                return Err(SnowflakeError::Stopped);
            }
            self.field.clock.sleep(unit / 2).await;
        }
        Ok(())
    }

    /// Makes one call and records it.
    async fn call_once(&self, snowflake: &Snowflake, take: TakeCall) -> Result<(), SnowflakeError> {
        let (ids, outcome) = ask(snowflake, take).await;
        if !ids.is_empty() {
            self.field.history.push(Event::Issued {
                process: self.life.process,
                identity: self.identity,
                ids,
                at: self.field.clock.now(),
                now_ms: self.life.registry.now_ms(),
            });
        }
        if let Err(error) = &outcome {
            self.field.history.push(Event::Refused);
            self.check(error);
        }
        outcome
    }

    /// No clock is so wrong that the layout has no bits for it.
    fn check(&self, error: &SnowflakeError) {
        if matches!(error, SnowflakeError::Ended { .. }) {
            let message = format!("process {}: {error}", self.life.process.0);
            *lock(&self.field.violation) = Some(Violation::new("refusals", message));
        }
    }
}

/// The ids, and what ended the call.
async fn ask(snowflake: &Snowflake, take: TakeCall) -> (Vec<u64>, Result<(), SnowflakeError>) {
    let one = |id: leafid::Id| vec![id.get()];
    let many = |ids: leafid::SnowflakeIds| ids.map(leafid::Id::get).collect();
    let outcome: Result<Vec<u64>, SnowflakeError> = match take {
        TakeCall::Next => snowflake.next().await.map(one),
        TakeCall::TryNext => snowflake.try_next().map(one),
        TakeCall::Many(count) => snowflake.next_many(count).await.map(many),
        TakeCall::TryMany(count) => snowflake.try_next_many(count).map(many),
        TakeCall::Burst(_) | TakeCall::Flood => {
            let count = if let TakeCall::Burst(count) = take {
                count
            } else {
                1
            };
            let mut ids = Vec::new();
            for _ in 0..count {
                match snowflake.try_next() {
                    Ok(id) => ids.push(id.get()),
                    Err(error) => return (ids, Err(error)),
                }
            }
            Ok(ids)
        }
    };
    match outcome {
        Ok(ids) => (ids, Ok(())),
        Err(error) => (Vec::new(), Err(error)),
    }
}
