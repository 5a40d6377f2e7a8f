//! `Snowflake`: ids made of time, worker id and sequence. What happens when the clock goes back,
//! or when more ids are wanted than a tick has.
//!
//! The worker id comes from a lease, which `registry.rs` keeps; the time from `timeline.rs`; each
//! id is taken in `snowflake/word.rs`.

mod error;
mod ids;
#[cfg(all(test, leafid_loom))]
mod model;
mod number;
pub(crate) mod word;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use event_listener::Event;

use crate::clock::{Clock, SystemClock};
use crate::id::Id;
use crate::layout::{EndWarning, Layout, LayoutError};
use crate::timeline::Timeline;
use crate::worker_id::WorkerId;
use word::{DRAW_MAX, Drawn, Grant, Moment, Refusal, Word};

pub use error::SnowflakeError;
pub use ids::SnowflakeIds;

/// What happens when the clock is behind the last id, or a tick has no ids left.
///
/// # Example
///
/// ```
/// use leafid::ClockPolicy;
///
/// assert_eq!("borrow".parse(), Ok(ClockPolicy::Borrow));
/// assert_eq!(ClockPolicy::Wait.to_string(), "wait");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockPolicy {
    /// Go on: the time in ids stands still, or runs ahead, until the clock has caught up. No call
    /// is refused for a step of the clock, of whatever size.
    #[default]
    Borrow,
    /// As Leaf: up to 5 ms behind, wait; further behind, refuse. A tick without ids left is waited
    /// out. The wait ends when the clock has caught up, where Leaf's is twice as long as that.
    Wait,
    /// Refuse at once.
    Refuse,
}

/// Policy [`ClockPolicy::Wait`] waits while the clock is at most this far behind. Source: Leaf.
const WAIT_BEHIND_MAX: Duration = Duration::from_millis(5);

/// No wait for the clock is shorter.
pub(crate) const WAIT_MIN: Duration = Duration::from_micros(1);

/// What can be set about snowflake ids, with each trade-off.
///
/// # Example
///
/// ```
/// use leafid::{ClockPolicy, Layout, SnowflakeOptions};
///
/// let options = SnowflakeOptions { layout: Layout::WIDE, ..SnowflakeOptions::default() };
/// assert_eq!(options.policy, ClockPolicy::Borrow);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnowflakeOptions {
    /// How an id divides its bits. Default: [`Layout::LEAF`].
    pub layout: Layout,
    /// What happens when the clock is behind. Default: borrow.
    pub policy: ClockPolicy,
    /// How far ids may run ahead of the clock under the policy borrow. More lets longer bursts
    /// through at once (4.1 million ids a second in Leaf's layout); less keeps the time in an id
    /// closer to the truth. Default: 1 s.
    pub ahead_max: Duration,
    /// How long `next` waits for a worker id, or for the clock. Default: 1 s.
    pub wait_max: Duration,
}

impl Default for SnowflakeOptions {
    fn default() -> Self {
        Self {
            layout: Layout::LEAF,
            policy: ClockPolicy::Borrow,
            ahead_max: Duration::from_secs(1),
            wait_max: Duration::from_secs(1),
        }
    }
}

/// Issues snowflake ids.
///
/// **Unique** over all processes of one registry and layout. **Ascending** per process while it
/// holds one worker id: an id returned before another call begins is smaller than that call's.
/// Between processes they ascend as far as clocks agree. **Thread-safe**; lock-free; a clone is
/// another handle on the same generator.
///
/// The time in an id is that of the boot clock, which follows the wall clock and never jumps with
/// it. In a new tick the sequence starts at random, so that ids spread evenly over shards.
///
/// # Example
///
/// ```
/// use leafid::{Layout, Snowflake, WorkerId};
///
/// let snowflake = Snowflake::alone(Layout::LEAF, WorkerId::new(7))?;
/// let id = snowflake.try_next()?;
/// assert_eq!(Layout::LEAF.decompose(id.get()).worker, WorkerId::new(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snowflake {
    core: Arc<Core>,
}

/// What a generator shares with its registry's driver.
pub(crate) struct Core {
    pub(crate) word: Word,
    pub(crate) timeline: Timeline,
    pub(crate) options: SnowflakeOptions,
    /// How many ticks ahead of the clock an id may lie.
    ahead_max: u64,
    /// Why nothing is issued, when that is so. Written by the driver.
    closed: Mutex<Closed>,
    /// Told when ids can be issued again, and when they never will.
    opened: Event,
    /// Told when somebody wants the driver.
    pub(crate) called: Event,
    /// Ids are taken so fast that the driver should keep the time for them.
    pub(crate) is_fast: AtomicBool,
    /// A taker came to the end of what the journal allows.
    pub(crate) is_short: AtomicBool,
}

#[derive(Debug, Clone)]
struct Closed {
    reason: Arc<str>,
    is_final: bool,
}

/// Why nothing is issued while there is a worker id.
const USED_UP: &str = "its reservation is used up and not extended yet";

/// How long to wait for a worker id before a look whether there is one.
const NO_WORKER_RETRY: Duration = Duration::from_millis(50);

impl Snowflake {
    pub(crate) fn of(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// Issues with a worker id that nobody else uses, without a registry and without a journal.
    ///
    /// Two processes with one worker id make equal ids, and so does one whose clock was set back
    /// while it did not run: use [`WorkerRegistry`](crate::WorkerRegistry) where that may happen.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] when the layout cannot be used at this time, or has no such worker id.
    ///
    /// # Example
    ///
    /// See [`Snowflake`].
    pub fn alone(layout: Layout, worker: WorkerId) -> Result<Self, LayoutError> {
        let options = SnowflakeOptions {
            layout,
            ..SnowflakeOptions::default()
        };
        Self::alone_with(options, worker, Arc::new(SystemClock::new()))
    }

    /// As [`alone`](Self::alone), with options and a clock of one's own.
    ///
    /// # Errors
    ///
    /// As [`alone`](Self::alone).
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leafid::{ManualClock, Snowflake, SnowflakeOptions, WorkerId};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let snowflake = Snowflake::alone_with(SnowflakeOptions::default(), WorkerId::new(1), clock)?;
    /// assert!(snowflake.try_next().is_ok());
    /// # Ok::<(), leafid::LayoutError>(())
    /// ```
    pub fn alone_with(
        options: SnowflakeOptions,
        worker: WorkerId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LayoutError> {
        let core = Core::new(options, clock);
        core.check()?;
        options.layout.check_worker(worker)?;
        let start = core.tick().unwrap_or(0);
        core.word.grant(Grant {
            worker,
            start,
            until: u64::MAX,
        });
        Ok(Self {
            core: Arc::new(core),
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
        match self.core.word.try_draw_fast() {
            Some(number) => Ok(self.core.word.id(number)),
            None => self.try_next_timed(),
        }
    }

    #[inline(never)]
    fn try_next_timed(&self) -> Result<Id, SnowflakeError> {
        Ok(self.core.word.id(self.core.draw(1)?.first))
    }

    /// Takes the next `count` ids. Never waits. They are this call's alone, whole or not at all.
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
        Ok(self.core.word.ids(drawn.first, count))
    }

    /// Takes the next id, waiting up to `wait_max`.
    ///
    /// # Errors
    ///
    /// [`SnowflakeError`].
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Layout, Snowflake, WorkerId, blocking};
    /// # let snowflake = Snowflake::alone(Layout::LEAF, WorkerId::new(7))?;
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
            Err(error) if error.is_retryable() => {
                let drawn = self.core.draw_waiting(1, error).await?;
                Ok(self.core.word.id(drawn.first))
            }
            done => done,
        }
    }

    /// Takes the next id, waiting on this thread.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Layout, Snowflake, WorkerId};
    /// # let snowflake = Snowflake::alone(Layout::LEAF, WorkerId::new(7))?;
    /// let id = snowflake.next_blocking()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_blocking(&self) -> Result<Id, SnowflakeError> {
        match self.try_next() {
            Err(error) if error.is_retryable() => crate::blocking::block_on(self.next()),
            done => done,
        }
    }

    /// Takes the next `count` ids, waiting up to `wait_max`.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), and [`SnowflakeError::BadCount`].
    ///
    /// # Example
    ///
    /// ```
    /// # use leafid::{Layout, Snowflake, WorkerId, blocking};
    /// # let snowflake = Snowflake::alone(Layout::LEAF, WorkerId::new(7))?;
    /// let ids = blocking::block_on(snowflake.next_many(3))?;
    /// assert_eq!(ids.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next_many(&self, count: u64) -> Result<SnowflakeIds, SnowflakeError> {
        match self.try_next_many(count) {
            Err(error) if error.is_retryable() => {
                let drawn = self.core.draw_waiting(count, error).await?;
                Ok(self.core.word.ids(drawn.first, count))
            }
            done => done,
        }
    }

    /// How its ids divide their bits.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.core.options.layout
    }
}

impl Core {
    pub(crate) fn new(options: SnowflakeOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            word: Word::new(options.layout),
            timeline: Timeline::new(clock),
            ahead_max: ahead_max_ticks(&options),
            options,
            closed: Mutex::new(Closed {
                reason: "none was claimed yet".into(),
                is_final: false,
            }),
            opened: Event::new(),
            called: Event::new(),
            is_fast: AtomicBool::new(false),
            is_short: AtomicBool::new(false),
        }
    }

    /// Whether the layout can be used at this time.
    pub(crate) fn check(&self) -> Result<Option<EndWarning>, LayoutError> {
        let now_ms = self.timeline.now_ms();
        self.options
            .layout
            .check(i64::try_from(now_ms).unwrap_or(i64::MAX))
    }

    /// The tick it is now; `None` outside the layout's time.
    #[inline]
    pub(crate) fn tick(&self) -> Option<u64> {
        let now_ms = self.timeline.now_ms();
        self.options.layout.tick_of(now_ms.cast_signed())
    }

    /// What time it is for a taker.
    #[inline]
    pub(crate) fn moment(&self) -> Option<Moment> {
        Some(Moment {
            tick: self.tick()?,
            ahead_max: self.ahead_max,
        })
    }

    /// How long until a tick begins.
    pub(crate) fn until(&self, tick: u64) -> Duration {
        let unix_ms = self.options.layout.unix_ms_of(tick);
        self.timeline.until(unix_ms.unsigned_abs())
    }

    pub(crate) fn jitter(&self) -> u64 {
        fastrand::u64(..self.word.jitter_max())
    }

    fn draw(&self, count: u64) -> Result<Drawn, SnowflakeError> {
        let Some(moment) = self.moment() else {
            let layout = self.options.layout;
            return Err(SnowflakeError::Ended { layout });
        };
        match self.word.draw(count, moment, || self.jitter()) {
            Ok(drawn) => {
                if drawn.is_fast && !self.is_fast.load(Ordering::Relaxed) {
                    self.want_fast();
                }
                Ok(drawn)
            }
            Err(refusal) => Err(self.explain(refusal)),
        }
    }

    #[cold]
    fn want_fast(&self) {
        if !self.is_fast.swap(true, Ordering::Relaxed) {
            self.called.notify(usize::MAX);
        }
    }

    #[cold]
    fn explain(&self, refusal: Refusal) -> SnowflakeError {
        match refusal {
            Refusal::Ahead { from } => {
                // At least a little, although that tick may have begun meanwhile.
                let by = self.until(from).max(WAIT_MIN);
                match self.options.policy {
                    ClockPolicy::Borrow => SnowflakeError::Ahead {
                        max: self.options.ahead_max,
                        retry_after: by,
                    },
                    ClockPolicy::Wait | ClockPolicy::Refuse => SnowflakeError::ClockBehind { by },
                }
            }
            Refusal::Closed => self.closed_error(NO_WORKER_RETRY),
            Refusal::Reservation => {
                if !self.is_short.swap(true, Ordering::Relaxed) {
                    self.called.notify(usize::MAX);
                }
                self.closed_error(Duration::from_millis(1))
            }
        }
    }

    fn closed_error(&self, retry_after: Duration) -> SnowflakeError {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.is_final {
            return SnowflakeError::Stopped;
        }
        SnowflakeError::NoWorker {
            reason: Arc::clone(&closed.reason),
            retry_after,
        }
    }

    /// Says why nothing is issued.
    pub(crate) fn close(&self, reason: impl Into<Arc<str>>, is_final: bool) {
        let reason = reason.into();
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Closed { reason, is_final };
        if is_final {
            self.opened.notify(usize::MAX);
        }
    }

    /// Tells those who wait that ids can be issued.
    pub(crate) fn tell_opened(&self) {
        self.is_short.store(false, Ordering::Relaxed);
        self.close(USED_UP, false);
        self.opened.notify(usize::MAX);
    }

    fn check_count(&self, count: u64) -> Result<(), SnowflakeError> {
        let per_tick = self.options.layout.sequence_max() + 1;
        // A tick may start at any part of its first quarter.
        let max = per_tick
            .saturating_mul(self.ahead_max.max(1))
            .saturating_sub(self.word.jitter_max());
        let max = max.clamp(1, DRAW_MAX);
        if (1..=max).contains(&count) {
            Ok(())
        } else {
            Err(SnowflakeError::BadCount { count, max })
        }
    }

    async fn draw_waiting(
        &self,
        count: u64,
        mut error: SnowflakeError,
    ) -> Result<Drawn, SnowflakeError> {
        let clock = self.timeline.clock();
        let deadline = clock.now().saturating_add(self.options.wait_max);
        loop {
            let Some(pause) = self.pause(&error) else {
                return Err(error);
            };
            let left = deadline.saturating_sub(clock.now());
            let is_closed = matches!(error, SnowflakeError::NoWorker { .. });
            if left.is_zero() || (!is_closed && pause > left) {
                return Err(error);
            }
            let opened = self.opened.listen();
            match self.draw(count) {
                Ok(drawn) => return Ok(drawn),
                Err(still) => error = still,
            }
            let sleep = clock.sleep(pause.min(left));
            if is_closed {
                futures_util::future::select(opened, sleep).await;
            } else {
                sleep.await;
            }
        }
    }

    /// How long to wait before the next try; `None`: not at all.
    fn pause(&self, error: &SnowflakeError) -> Option<Duration> {
        match (error, self.options.policy) {
            (SnowflakeError::ClockBehind { .. }, ClockPolicy::Refuse) => None,
            (SnowflakeError::ClockBehind { by }, _) => {
                let unit = Duration::from_millis(self.options.layout.unit().ms());
                (*by <= WAIT_BEHIND_MAX.max(unit)).then_some(*by)
            }
            _ => error.retry_after(),
        }
    }
}

/// How many ticks ahead of the clock an id may lie.
fn ahead_max_ticks(options: &SnowflakeOptions) -> u64 {
    if options.policy != ClockPolicy::Borrow {
        return 0;
    }
    let ms = u64::try_from(options.ahead_max.as_millis()).unwrap_or(u64::MAX);
    (ms / options.layout.unit().ms()).min(u64::from(u32::MAX))
}

impl fmt::Display for ClockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Borrow => "borrow",
            Self::Wait => "wait",
            Self::Refuse => "refuse",
        })
    }
}

/// A text that is no [`ClockPolicy`].
///
/// # Example
///
/// ```
/// assert!("hope".parse::<leafid::ClockPolicy>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a clock policy is borrow, wait or refuse")]
pub struct ParseClockPolicyError;

impl std::str::FromStr for ClockPolicy {
    type Err = ParseClockPolicyError;

    fn from_str(text: &str) -> Result<Self, ParseClockPolicyError> {
        match text {
            "borrow" => Ok(Self::Borrow),
            "wait" => Ok(Self::Wait),
            "refuse" => Ok(Self::Refuse),
            _ => Err(ParseClockPolicyError),
        }
    }
}

impl fmt::Debug for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snowflake")
            .field("layout", &self.layout())
            .finish_non_exhaustive()
    }
}
