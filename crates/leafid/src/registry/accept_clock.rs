//! Accepting the wall clock by hand, and refusing that: a server that may only have one worker id
//! has no other one while ids of this one lie ahead of the clock.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Shared, WorkerChoice};
use crate::layout::Instant;
use crate::timeline::FOLLOW_MAX;
use crate::worker_id::WorkerId;

/// Why the wall clock is not accepted: this server's worker id is fixed, and its ids carry times
/// that the wall clock has yet to reach.
///
/// # Example
///
/// ```
/// use leafid::{ClockAhead, WorkerRegistry};
///
/// fn accept_clock(registry: &WorkerRegistry) -> Result<(), ClockAhead> {
///     registry.accept_clock().inspect_err(|error| eprintln!("wait until {} ms", error.until_ms))
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockAhead {
    /// The only worker id that this server may have.
    pub worker: WorkerId,
    /// No id of it carries this time or a later one, in milliseconds since 1970-01-01T00:00:00Z.
    pub until_ms: u64,
}

impl fmt::Display for ClockAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = Instant {
            unix_ms: self.until_ms.cast_signed(),
        };
        write!(
            f,
            "worker id {} is the only one that this server may have, and its ids carry times up \
             to {until}, which the clock has not reached yet: wait until then, or set worker-id \
             to one that no server has had, and start again",
            self.worker
        )
    }
}

impl std::error::Error for ClockAhead {}

impl Shared {
    pub(super) fn accept_clock(&self) -> Result<(), ClockAhead> {
        if let Some(ahead) = self.ahead_of_wall() {
            return Err(ahead);
        }
        self.accepts_clock.store(true, Ordering::Release);
        self.core.driver_wake.notify(usize::MAX);
        Ok(())
    }

    /// Whether accepting the wall clock would leave this server without a worker id.
    fn ahead_of_wall(&self) -> Option<ClockAhead> {
        let WorkerChoice::Exactly(worker) = self.options.choice else {
            return None;
        };
        let state = self.lock();
        let (is_held, refused_until_ms) = (state.lease.is_some(), state.ahead_until_ms);
        drop(state);
        let until_ms = if is_held {
            self.ahead_ms()
        } else {
            refused_until_ms?
        };
        let ahead_ms = until_ms.saturating_sub(self.core.timeline.wall_ms());
        let is_ahead = Duration::from_millis(ahead_ms) > self.accepted_ahead_max();
        is_ahead.then_some(ClockAhead { worker, until_ms })
    }

    /// How far ids may lie ahead of an accepted wall clock for their worker id to be kept.
    pub(super) fn accepted_ahead_max(&self) -> Duration {
        self.options.snowflake.ahead_max + FOLLOW_MAX
    }

    /// The present time, or that of the next id if that is later.
    pub(super) fn ahead_ms(&self) -> u64 {
        let core = &self.core;
        let next_ms = core
            .state
            .next_tick()
            .map(|tick| core.options.layout.unix_ms_of(tick));
        core.timeline
            .now_ms()
            .max(next_ms.map_or(0, i64::unsigned_abs))
    }
}
