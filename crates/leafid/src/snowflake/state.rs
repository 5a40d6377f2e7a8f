//! `SnowflakeState`: snowflake ids are taken here, each by one atomic operation, never a lock.
//!
//! # Why no id leaves twice
//!
//! A **number** is an id with its parts in another order: worker id above, then the tick, then the
//! sequence. So the number after the last of a tick is the first of the next tick, and adding one
//! is all it takes to borrow from the future. `next` holds the number to issue next; the **grant**
//! is the first number of this worker id that is not ours, which is where the lease ends. To take
//! an id is
//!
//! 1. read the grant;
//! 2. draw a number from `next`, by `fetch_add`, or by `compare_exchange` of the number just read;
//! 3. look whether the number has the grant's worker id and is below the grant. If so it is
//!    issued; if not it is lost, and was never ours.
//!
//! *Numbers are distinct.* While a lease lasts `next` only grows, and each number is drawn once.
//! Leases of different worker ids have different numbers. A second lease of one worker id starts
//! at or above the end of the first (`lease.rs`), and step 3 kept the first one below it.
//!
//! *Leases are never mixed.* A lease is put in by: close the grant; swap `next` for [`HALTED`],
//! which belongs to no worker id; store the first number of the new lease; open the grant. A taker
//! who read the old grant and then draws from the new lease has a number of another worker id, or
//! one at or above the old grant: it fails step 3. A taker who read the new grant draws from the
//! new lease, because the number was stored before the grant (release, acquire).
//!
//! *Halting knows what was drawn.* The swap for `HALTED` returns a number above every one that was
//! ever drawn, so a lease can be shortened to it.
//!
//! The loom model (`model.rs`) tries every interleaving, and must fail for each weakened variant.

use crossbeam_utils::CachePadded;

use super::ids::SnowflakeIds;
use super::number::Numbers;
use crate::id::Id;
use crate::layout::Layout;
use crate::sync::{AtomicU64, Ordering, is_weakened};
use crate::worker_id::WorkerId;

/// No worker id has this bit: a number with it belongs to none.
const HALTED: u64 = 1 << 63;

/// Numbers kept free below the end of time, so that takers who draw past the end together can never
/// carry into the worker id.
const END_MARGIN: u64 = 1 << 16;

/// The most numbers in one draw.
pub(super) const DRAW_MAX: u64 = 1 << 32;

pub(crate) struct SnowflakeState {
    numbers: Numbers,
    /// From this sequence on, many ids are taken per tick.
    fast_min: u64,
    /// Written by every taker.
    next: CachePadded<AtomicU64>,
    /// Read by every taker, written a few times a minute; or, while ids are taken fast, a few
    /// thousand times a second.
    bounds: CachePadded<Bounds>,
}

struct Bounds {
    /// The first number of the worker id that is not ours; 0 while there is none.
    grant: AtomicU64,
    /// As the grant, but limited to how far ahead of the clock ids may be; 0 while it is not kept
    /// up to date.
    fast: AtomicU64,
    /// The tick at which the lease starts, which may lie ahead of the clock.
    start: AtomicU64,
}

/// The current time, and how far ahead of it ids may run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Ticks since the layout's epoch.
    pub(crate) tick: u64,
    /// How many ticks ahead of the clock an id may lie.
    pub(crate) ahead_max: u64,
}

/// Why no number was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There is no grant.
    Closed,
    /// The grant ends before the wanted ids.
    LeaseEnd,
    /// The ids would lie further ahead of the clock than allowed, until it shows this tick.
    Ahead { from: u64 },
}

/// Drawn numbers, and whether the clock is the bottleneck.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawn {
    /// The first of them.
    pub(crate) first: u64,
    /// Many ids are taken per tick, so that reading the clock for each is a waste.
    pub(crate) is_fast: bool,
}

/// A lease in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) worker: WorkerId,
    /// The first tick that may be used.
    pub(crate) start: u64,
    /// The first tick that may not.
    pub(crate) until: u64,
}

impl SnowflakeState {
    pub(crate) fn new(layout: Layout, shard: u32) -> Self {
        let jitter_max = jitter_max(layout);
        Self {
            numbers: Numbers::new(layout, shard),
            fast_min: jitter_max + FAST_LEN * layout.unit().ms(),
            next: CachePadded::new(AtomicU64::new(HALTED)),
            bounds: CachePadded::new(Bounds {
                grant: AtomicU64::new(0),
                fast: AtomicU64::new(0),
                start: AtomicU64::new(0),
            }),
        }
    }

    pub(crate) const fn layout(&self) -> Layout {
        self.numbers.layout()
    }

    #[inline]
    pub(crate) fn id(&self, number: u64) -> Id {
        self.numbers.id(number)
    }

    /// The ids of these numbers.
    #[inline]
    pub(crate) const fn ids(&self, first: u64, count: u64) -> SnowflakeIds {
        SnowflakeIds::new(self.numbers, first, first + count)
    }

    /// Takes one number without reading the clock; `None` if that is not possible now.
    #[inline]
    pub(crate) fn try_draw_fast(&self) -> Option<u64> {
        // Acquire pairs with the release in `set_fast`: a taker that sees the bound draws from its
        // lease.
        let bound = self.bounds.fast.load(Ordering::Acquire);
        // Relaxed: a check that avoids drawing a number in vain. Without it, unsuccessful callers
        // would push `next` ahead of the clock.
        if !self.owns(self.next.load(Ordering::Relaxed), bound) {
            return None;
        }
        // Relaxed: distinct by itself; the bound was read before.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (self.owns(number, bound) || is_weakened("bound")).then_some(number)
    }

    /// Takes `count` numbers. A tick that is new starts at `jitter`.
    pub(crate) fn draw(
        &self,
        count: u64,
        moment: Moment,
        jitter: impl Fn() -> u64,
    ) -> Result<Drawn, Refusal> {
        debug_assert!((1..=DRAW_MAX).contains(&count));
        // Acquire pairs with the release in `grant`.
        let mut grant = self.bounds.grant.load(Ordering::Acquire);
        loop {
            let next = self.next.load(Ordering::Relaxed);
            let answer = self.first(next, grant, count, moment, &jitter);
            // A grant that has changed meanwhile may be larger, or another one.
            let reread = self.bounds.grant.load(Ordering::Acquire);
            let first = match answer {
                Ok(first) => first,
                Err(refusal) if reread == grant => return Err(refusal),
                Err(_) => {
                    grant = reread;
                    continue;
                }
            };
            // Relaxed: as in `try_draw_fast`.
            let taken = self.next.compare_exchange_weak(
                next,
                first + count,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                let is_fast = self.numbers.sequence(first) >= self.fast_min;
                return Ok(Drawn { first, is_fast });
            }
        }
    }

    /// Where a draw starts, given `next`.
    fn first(
        &self,
        next: u64,
        grant: u64,
        count: u64,
        moment: Moment,
        jitter: impl Fn() -> u64,
    ) -> Result<u64, Refusal> {
        if grant == 0 || !self.same_worker(next, grant) {
            return Err(Refusal::Closed);
        }
        let now = self.numbers.first(self.numbers.worker(grant), moment.tick);
        let first = if next >= now { next } else { now + jitter() };
        if first + count > grant || !self.same_worker(first, grant) {
            return Err(Refusal::LeaseEnd);
        }
        // The start of the lease is no debt: a restart begins where the journal ends.
        let start = self.bounds.start.load(Ordering::Relaxed);
        let last = self.numbers.tick(first + count - 1);
        let end = moment.tick.max(start).saturating_add(moment.ahead_max);
        if last > end {
            let from = last - moment.ahead_max;
            return Err(Refusal::Ahead { from });
        }
        Ok(first)
    }

    /// Installs a lease, or extends the present one. A former one must have been halted if the
    /// worker id is another one.
    pub(crate) fn grant(&self, grant: Grant) {
        let end = self
            .layout()
            .ticks_max()
            .saturating_sub(END_MARGIN >> self.layout().sequence_bits());
        let until = self.numbers.first(grant.worker, grant.until.min(end));
        let start = self.numbers.first(grant.worker, grant.start.min(end));
        let next = self.next.load(Ordering::Relaxed);
        if !self.same_worker(next, until) || self.bounds.grant.load(Ordering::Relaxed) == 0 {
            self.bounds.start.store(grant.start, Ordering::Relaxed);
            // A swap, so that it has its place in the one order of all draws. Relaxed: the store to
            // the grant below publishes it.
            self.next.swap(start, Ordering::Relaxed);
        }
        // Release pairs with the acquire of the takers.
        self.bounds.grant.store(until, Ordering::Release);
    }

    /// Ends the lease at once. Returns the first unused tick, given the ticks at which the lease
    /// started and ended; `None` if there was no lease.
    pub(crate) fn halt(&self) -> Option<u64> {
        let grant = self.bounds.grant.swap(0, Ordering::AcqRel);
        self.bounds.fast.store(0, Ordering::Release);
        if is_weakened("halt") {
            return (grant != 0).then(|| self.numbers.tick(self.next.load(Ordering::Relaxed)));
        }
        let next = self.next.swap(HALTED, Ordering::AcqRel);
        if grant == 0 || !self.same_worker(next, grant) {
            return None;
        }
        let used = self.numbers.tick(next) + u64::from(self.numbers.sequence(next) > 0);
        Some(used.min(self.numbers.tick(grant)))
    }

    /// Lets takers pass without reading the clock, up to a bound; with `None` no longer.
    pub(crate) fn set_fast(&self, moment: Option<Moment>, jitter: impl Fn() -> u64) {
        let Some(moment) = moment else {
            self.bounds.fast.store(0, Ordering::Release);
            return;
        };
        // Acquire: the lease is in place once its grant is seen.
        let grant = self.bounds.grant.load(Ordering::Acquire);
        if grant == 0 {
            return;
        }
        self.follow(grant, moment, jitter);
        let start = self.bounds.start.load(Ordering::Relaxed);
        let end = moment.tick.max(start).saturating_add(moment.ahead_max);
        let end = end.saturating_add(1).min(self.numbers.tick(grant));
        let ahead = self.numbers.first(self.numbers.worker(grant), end);
        // Release pairs with the acquire of the takers.
        self.bounds.fast.store(ahead, Ordering::Release);
        if self.bounds.grant.load(Ordering::Acquire) == 0 {
            // Halted meanwhile: no one else would close this again.
            self.bounds.fast.store(0, Ordering::Release);
        }
    }

    /// Raises `next` to the clock.
    fn follow(&self, grant: u64, moment: Moment, jitter: impl Fn() -> u64) {
        let now = self.numbers.first(self.numbers.worker(grant), moment.tick);
        let mut next = self.next.load(Ordering::Relaxed);
        while self.same_worker(next, now) && next < now && now < grant {
            let raised = now + jitter();
            let raise =
                self.next
                    .compare_exchange_weak(next, raised, Ordering::Relaxed, Ordering::Relaxed);
            match raise {
                Ok(_) => return,
                Err(actual) => next = actual,
            }
        }
    }

    /// The tick of the next id; `None` while there is no lease.
    pub(crate) fn next_tick(&self) -> Option<u64> {
        let grant = self.bounds.grant.load(Ordering::Acquire);
        let next = self.next.load(Ordering::Relaxed);
        (grant != 0 && self.same_worker(next, grant)).then(|| self.numbers.tick(next))
    }

    /// A counter of drawn ids, as far as it can be known: for the difference of two readings.
    pub(crate) fn drawn(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Where the sequence of a new tick may start.
    pub(crate) fn jitter_max(&self) -> u64 {
        jitter_max(self.layout())
    }

    #[inline]
    fn owns(&self, number: u64, bound: u64) -> bool {
        if is_weakened("worker") {
            return number < bound;
        }
        self.numbers.is_below(number, bound)
    }

    #[inline]
    fn same_worker(&self, a: u64, b: u64) -> bool {
        is_weakened("worker") || self.numbers.same_worker(a, b)
    }
}

/// So many ids in a millisecond are half a million a second, of which each would read the clock.
const FAST_LEN: u64 = 512;

/// Where the sequence of a new tick may start: below this, so that at least three quarters are
/// left, and that ids spread evenly over 1024 shards.
const fn jitter_max(layout: Layout) -> u64 {
    let bits = layout.sequence_bits().saturating_sub(2);
    1 << if bits < 10 { bits } else { 10 }
}
