//! `Snowflake`: ids made of time, worker id and sequence. Handles a clock that goes back, and
//! requests for more ids than a tick has.
//!
//! The worker id comes from a lease, which `registry.rs` keeps; the time from `timeline.rs`; each
//! id is taken in `snowflake/state.rs`, and waited for in `snowflake/core.rs`.

mod core;
mod error;
mod ids;
#[cfg(all(test, leafid_loom))]
mod model;
mod number;
mod options;
pub(crate) mod state;

use std::fmt;
use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::id::Id;
use crate::layout::{Layout, LayoutError};
use crate::registry::Handle as RegistryHandle;
use crate::worker_id::WorkerId;
use state::Grant;

pub(crate) use self::core::{Core, WAIT_MIN};
pub use error::SnowflakeError;
pub use ids::SnowflakeIds;
pub use options::{ClockPolicy, ParseClockPolicyError, SnowflakeOptions};

/// Issues snowflake ids.
///
/// **Unique** over all processes of one registry and layout. **Ascending** per process while it
/// holds one worker id: an id returned before another call begins is smaller than that call's.
/// Between processes they ascend as far as clocks agree. **Thread-safe**; lock-free; a clone is
/// another handle on the same generator. One of a registry keeps the registry alive.
///
/// The time in an id is that of the boot clock, which follows the wall clock and never jumps with
/// it. In a new tick the sequence starts at random, so that ids spread evenly over shards.
///
/// # Example
///
/// ```
/// use leafid::{Layout, Snowflake, WorkerId};
///
/// let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
/// let id = snowflake.try_next()?;
/// assert_eq!(Layout::LEAF.decompose(id.get()).worker, WorkerId::new(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snowflake {
    core: Arc<Core>,
    /// Ends the driver of the worker id with the last handle on it.
    #[expect(dead_code, reason = "it is kept for its end")]
    registry: Option<Arc<RegistryHandle>>,
}

impl Snowflake {
    pub(crate) fn of(core: Arc<Core>, registry: Arc<RegistryHandle>) -> Self {
        let registry = Some(registry);
        Self { core, registry }
    }

    /// Issues with a worker id that no other process uses, without a registry and without a
    /// journal.
    ///
    /// Two processes with one worker id make equal ids, and so does one whose clock was set back
    /// while it did not run: use [`WorkerRegistry`](crate::WorkerRegistry) if that may happen.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if the layout cannot be used at this time, or has no such worker id.
    ///
    /// # Example
    ///
    /// See [`Snowflake`].
    pub fn with_worker_id(layout: Layout, worker: WorkerId) -> Result<Self, LayoutError> {
        let options = SnowflakeOptions {
            layout,
            ..SnowflakeOptions::default()
        };
        Self::with_options(options, worker, Arc::new(SystemClock::new()))
    }

    /// As [`with_worker_id`](Self::with_worker_id), with options and a clock of your own.
    ///
    /// # Errors
    ///
    /// As [`with_worker_id`](Self::with_worker_id).
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leafid::{ManualClock, Snowflake, SnowflakeOptions, WorkerId};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let snowflake = Snowflake::with_options(SnowflakeOptions::default(), WorkerId::new(1), clock)?;
    /// assert!(snowflake.try_next().is_ok());
    /// # Ok::<(), leafid::LayoutError>(())
    /// ```
    pub fn with_options(
        options: SnowflakeOptions,
        worker: WorkerId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LayoutError> {
        let core = Core::new(options, clock);
        core.check()?;
        options.layout.check_worker(worker)?;
        let start = core.tick().unwrap_or(0);
        core.state.grant(Grant {
            worker,
            start,
            until: u64::MAX,
        });
        Ok(Self {
            core: Arc::new(core),
            registry: None,
        })
    }

    /// Takes the next id. Never waits.
    ///
    /// # Errors
    ///
    /// [`SnowflakeError`].
    ///
    /// # Example
    ///
    /// See [`Snowflake`].
    #[inline]
    pub fn try_next(&self) -> Result<Id, SnowflakeError> {
        match self.core.state.try_draw_fast() {
            Some(number) => Ok(self.core.state.id(number)),
            None => self.try_next_timed(),
        }
    }

    #[inline(never)]
    fn try_next_timed(&self) -> Result<Id, SnowflakeError> {
        Ok(self.core.state.id(self.core.draw(1)?.first))
    }

    /// Takes the next `count` ids. Never waits. They belong to this call alone, and there are
    /// `count` of them or none.
    ///
    /// # Errors
    ///
    /// [`SnowflakeError`].
    ///
    /// # Example
    ///
    /// See [`SnowflakeIds`].
    #[inline]
    pub fn try_next_many(&self, count: u64) -> Result<SnowflakeIds, SnowflakeError> {
        self.core.check_count(count)?;
        let drawn = self.core.draw(count)?;
        Ok(self.core.state.ids(drawn.first, count))
    }

    /// Takes the next id; waits up to `wait_max`.
    ///
    /// # Errors
    ///
    /// [`SnowflakeError`].
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Layout, Snowflake, WorkerId, blocking};
    /// # let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
    /// # blocking::block_on(async {
    /// let first = snowflake.next().await?;
    /// let second = snowflake.next().await?;
    /// assert!(first < second);
    /// # Ok::<(), leafid::SnowflakeError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next(&self) -> Result<Id, SnowflakeError> {
        match self.try_next() {
            Err(error) if error.retry_after().is_some() => {
                let drawn = self.core.draw_waiting(1, error).await?;
                Ok(self.core.state.id(drawn.first))
            }
            done => done,
        }
    }

    /// Takes the next id; waits on this thread.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Layout, Snowflake, WorkerId};
    /// # let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
    /// let id = snowflake.next_blocking()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_blocking(&self) -> Result<Id, SnowflakeError> {
        match self.try_next() {
            Err(error) if error.retry_after().is_some() => crate::blocking::block_on(self.next()),
            done => done,
        }
    }

    /// Takes the next `count` ids; waits up to `wait_max`.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`SnowflakeError::BadCount`].
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Layout, Snowflake, WorkerId, blocking};
    /// # let snowflake = Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?;
    /// let ids = blocking::block_on(snowflake.next_many(3))?;
    /// assert_eq!(ids.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next_many(&self, count: u64) -> Result<SnowflakeIds, SnowflakeError> {
        match self.try_next_many(count) {
            Err(error) if error.retry_after().is_some() => {
                let drawn = self.core.draw_waiting(count, error).await?;
                Ok(self.core.state.ids(drawn.first, count))
            }
            done => done,
        }
    }

    /// The layout of its ids.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.core.options.layout
    }
}

impl fmt::Debug for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snowflake")
            .field("layout", &self.layout())
            .finish_non_exhaustive()
    }
}
