//! `Core`: the state that a generator shares with its registry's driver: the snowflake state, the
//! time, and what to do when no id is available at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use event_listener::Event;

use super::error::SnowflakeError;
use super::options::{ClockPolicy, SnowflakeOptions};
use super::state::{DRAW_MAX, Drawn, Moment, Refusal, SnowflakeState};
use crate::clock::Clock;
use crate::error_kind::ErrorKind;
use crate::layout::{EndWarning, LayoutError};
use crate::store::StoreError;
use crate::timeline::Timeline;

/// Policy [`ClockPolicy::Wait`] waits while the clock is at most this far behind. Source: Leaf.
const WAIT_BEHIND_MAX: Duration = Duration::from_millis(5);

/// The minimum wait for the clock.
pub(crate) const WAIT_MIN: Duration = Duration::from_micros(1);

/// The state that a generator shares with its registry's driver.
pub(crate) struct Core {
    pub(crate) state: SnowflakeState,
    pub(crate) timeline: Timeline,
    pub(crate) options: SnowflakeOptions,
    /// How many ticks ahead of the clock an id may lie.
    ahead_max: u64,
    /// Why nothing is issued, if so. Written by the driver.
    closed: Mutex<Closed>,
    /// Notified when ids can be issued again, and when they never will.
    opened: Event,
    /// Notified when a caller needs the driver.
    pub(crate) driver_wake: Event,
    /// Ids are taken so fast that the driver should keep the time for them.
    pub(crate) is_fast: AtomicBool,
    /// A taker reached the end of what the journal allows.
    pub(crate) is_short: AtomicBool,
}

#[derive(Debug, Clone)]
struct Closed {
    reason: Arc<str>,
    /// [`ErrorKind::Stopped`] is final.
    kind: ErrorKind,
    /// What the registry or the journal said.
    source: Option<Arc<StoreError>>,
}

/// Why nothing is issued although there is a worker id.
const USED_UP: &str = "its lease is exhausted and not extended yet";
/// The same where the lease goes on, and the journal, which is written ahead of the ids, does not.
const NOT_NOTED: &str = "its journal does not allow later times yet";

/// How long to wait for a worker id before checking again.
const NO_WORKER_RETRY: Duration = Duration::from_millis(50);

impl Core {
    pub(crate) fn new(options: SnowflakeOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            state: SnowflakeState::new(options.layout, options.shard),
            timeline: Timeline::new(clock, options.policy),
            ahead_max: ahead_max_ticks(&options),
            options,
            closed: Mutex::new(Closed {
                reason: "none was claimed yet".into(),
                kind: ErrorKind::Busy,
                source: None,
            }),
            opened: Event::new(),
            driver_wake: Event::new(),
            is_fast: AtomicBool::new(false),
            is_short: AtomicBool::new(false),
        }
    }

    /// Whether the layout can be used at this time, and has the shard.
    pub(crate) fn check(&self) -> Result<Option<EndWarning>, LayoutError> {
        self.options.layout.check_shard(self.options.shard)?;
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

    /// The current time for a taker.
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
        fastrand::u64(..self.state.jitter_max())
    }

    pub(super) fn draw(&self, count: u64) -> Result<Drawn, SnowflakeError> {
        let Some(moment) = self.moment() else {
            let layout = self.options.layout;
            return Err(SnowflakeError::Ended { layout });
        };
        match self.state.draw(count, moment, || self.jitter()) {
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
            self.driver_wake.notify(usize::MAX);
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
            Refusal::LeaseEnd => {
                if !self.is_short.swap(true, Ordering::Relaxed) {
                    self.driver_wake.notify(usize::MAX);
                }
                self.closed_error(Duration::from_millis(1))
            }
        }
    }

    fn closed_error(&self, retry_after: Duration) -> SnowflakeError {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.kind == ErrorKind::Stopped {
            return SnowflakeError::Stopped;
        }
        SnowflakeError::NoWorker {
            reason: Arc::clone(&closed.reason),
            kind: closed.kind,
            retry_after,
            source: closed.source.clone(),
        }
    }

    /// Says why nothing is issued.
    pub(crate) fn close(
        &self,
        reason: impl Into<Arc<str>>,
        kind: ErrorKind,
        source: Option<Arc<StoreError>>,
    ) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Closed {
            reason: reason.into(),
            kind,
            source,
        };
        if kind == ErrorKind::Stopped {
            self.opened.notify(usize::MAX);
        }
    }

    /// Notifies waiting callers that ids can be issued: up to the end of the lease, or else as far
    /// as the journal allows.
    pub(crate) fn open(&self, is_whole_lease: bool) {
        self.is_short.store(false, Ordering::Relaxed);
        match is_whole_lease {
            true => self.close(USED_UP, ErrorKind::StoreDown, None),
            false => self.close(NOT_NOTED, ErrorKind::Busy, None),
        }
        self.opened.notify(usize::MAX);
    }

    /// Keeps why the lease was not extended, for when it is used up.
    pub(crate) fn not_extended(&self, error: Arc<StoreError>) {
        let is_whole_lease = {
            let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            &*closed.reason == USED_UP
        };
        if is_whole_lease {
            self.close(USED_UP, error.kind(), Some(error));
        }
    }

    pub(super) fn check_count(&self, count: u64) -> Result<(), SnowflakeError> {
        let per_tick = self.options.layout.sequence_max() + 1;
        // A tick may start at any point of its first quarter.
        let max = per_tick
            .saturating_mul(self.ahead_max.max(1))
            .saturating_sub(self.state.jitter_max());
        let max = max.clamp(1, DRAW_MAX);
        if (1..=max).contains(&count) {
            Ok(())
        } else {
            Err(SnowflakeError::BadCount { count, max })
        }
    }

    pub(super) async fn draw_waiting(
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
