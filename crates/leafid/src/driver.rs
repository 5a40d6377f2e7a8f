//! `Driver`: the one background future that fetches segments for all tags.
//!
//! It takes up the tags in its queue, runs up to `calls_max` calls at once, retries failed ones,
//! refreshes the rows of tags in use, and probes the store. It decides when; `allocator/refill.rs`
//! and `load.rs` decide what is done for a tag.
//!
//! Tags in use have most of the calls for themselves. Names that may not exist share the few
//! others, many in one statement if there are many.

mod probe;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{FusedFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::allocator::{Allocator, RefillOutcome, Shared};
use crate::event::Event;
use crate::store::{BoxFuture, READ_LEN_MAX, StoreError};

use probe::Probe;

/// The part of the calls that new tags may use.
const NEW_SHARE: usize = 4;
/// How many new tags whose callers gave up are skipped in one go.
const ABANDONED_MAX: usize = 10_000;

/// The background half of [`Generators`](crate::Generators): a plain future, to be placed on any
/// runtime (`tokio::spawn(driver)`) or on a thread ([`blocking::spawn`](crate::blocking::spawn)).
///
/// It ends when the last handle is dropped or [`Generators::stop`](crate::Generators::stop) is
/// called. If the driver is dropped, ids in memory can still be taken, but nothing more is fetched.
///
/// # Example
///
/// ```
/// use leafid::{Generators, Options, blocking, store::MemoryStore};
///
/// let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
/// drop(generators);
/// blocking::block_on(driver);
/// ```
pub struct Driver {
    shared: Arc<Shared>,
    run: BoxFuture<'static, ()>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let run = Box::pin(DriverState::new(Arc::clone(&shared)).run());
        Self { shared, run }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.run.as_mut().poll(context)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.stop();
        self.shared.wake_all();
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

type Refills = FuturesUnordered<BoxFuture<'static, (Arc<Allocator>, RefillOutcome)>>;
type Loads = FuturesUnordered<BoxFuture<'static, Vec<(Arc<Allocator>, RefillOutcome)>>>;

struct DriverState {
    shared: Arc<Shared>,
    refills: Refills,
    /// When the oldest refill under way began.
    refilling_since: Option<Duration>,
    /// The calls for tags of which nothing is known yet.
    loads: Loads,
    /// Tags whose store failed, by the time of the retry.
    retries: BinaryHeap<Reverse<Retry>>,
    refresh: futures_util::future::Fuse<BoxFuture<'static, ()>>,
    refresh_at: Duration,
    probe: Probe,
    /// A failed tag that tries whether reservations succeed again, before all others do.
    trial: Option<Arc<Allocator>>,
    /// The store failed, and the rows of all loaded tags have not been read since: it may have gone
    /// back in time meanwhile, and a process that notices first repeats nothing.
    has_failed: bool,
}

/// A tag to retry at a time; ordered by the time alone.
struct Retry(Duration, Arc<Allocator>);

impl DriverState {
    fn new(shared: Arc<Shared>) -> Self {
        let now = shared.clock.now();
        let refresh_at = now.saturating_add(shared.options.refresh_interval);
        Self {
            shared,
            refills: Refills::new(),
            refilling_since: None,
            loads: Loads::new(),
            retries: BinaryHeap::new(),
            refresh: futures_util::future::Fuse::terminated(),
            refresh_at,
            probe: Probe::new(now),
            trial: None,
            has_failed: false,
        }
    }

    async fn run(mut self) {
        while !self.shared.is_stopped() {
            let work = self.shared.work.listen();
            self.start_what_is_due();
            if self.shared.is_stopped() {
                break;
            }
            let mut work = work.fuse();
            let mut timer = self.shared.clock.sleep(self.time_to_next()).fuse();
            futures_util::select_biased! {
                (allocator, outcome) = self.refills.select_next_some() => self.on_outcome(allocator, outcome),
                loaded = self.loads.select_next_some() => {
                    loaded.into_iter().for_each(|(allocator, outcome)| self.on_outcome(allocator, outcome));
                }
                answer = &mut self.probe.call => self.probed(answer),
                () = &mut self.refresh => {}
                () = work => {}
                () = timer => {}
            }
        }
    }

    fn start_what_is_due(&mut self) {
        let now = self.shared.clock.now();
        self.refilling_since = self.refilling_since.filter(|_| !self.refills.is_empty());
        self.probe.start_if_due(&self.shared, self.refilling_since);
        let has_returned = self.shared.availability.take_returned();
        while self
            .retries
            .peek()
            .is_some_and(|Reverse(retry)| has_returned || retry.0 <= now)
        {
            let _resumed = self.resume_next();
        }
        self.start_refills();
        self.start_loads();
        self.shared.evict_expired();
        if now >= self.refresh_at && self.refresh.is_terminated() {
            self.refresh_at = now.saturating_add(self.shared.options.refresh_interval);
            let shared = Arc::clone(&self.shared);
            let refresh: BoxFuture<'static, ()> = Box::pin(async move {
                refresh(Arc::clone(&shared), Allocator::is_in_use).await;
                if let Err(error) = shared.check_idle().await {
                    refresh_failed(&shared, &error);
                }
            });
            self.refresh = refresh.fuse();
        }
    }

    /// How many calls are for tags in use, and how many for new ones.
    fn calls_max(&self) -> (usize, usize) {
        let all = self.shared.options.calls_max.max(2);
        let new = (all / NEW_SHARE).max(1);
        (all - new, new)
    }

    fn start_refills(&mut self) {
        while self.refills.len() < self.calls_max().0 {
            let Some(allocator) = self.shared.queue.pop_known() else {
                return;
            };
            self.refills.push(self.refill(allocator));
            self.refilling_since
                .get_or_insert_with(|| self.shared.clock.now());
        }
    }

    /// Each new tag has a call of its own, as long as there are enough; else many share one.
    fn start_loads(&mut self) {
        let calls_max = self.calls_max().1;
        while self.loads.len() < calls_max {
            let is_enough = self.shared.queue.new_len() <= calls_max - self.loads.len();
            let mut wanted = self.next_new(if is_enough { 1 } else { READ_LEN_MAX });
            let shared = Arc::clone(&self.shared);
            match (wanted.len(), wanted.pop()) {
                (_, None) => return,
                (1, Some(allocator)) => {
                    let refill = self.refill(allocator);
                    self.loads.push(Box::pin(async { vec![refill.await] }));
                }
                (_, Some(allocator)) => {
                    wanted.push(allocator);
                    self.loads.push(Box::pin(async move {
                        Allocator::load_all(&shared, wanted).await
                    }));
                }
            }
        }
    }

    /// Up to `len` new tags with waiting callers, in order of arrival. One that is to be created
    /// comes alone.
    fn next_new(&mut self, len: usize) -> Vec<Arc<Allocator>> {
        let mut wanted = Vec::new();
        for _ in 0..ABANDONED_MAX {
            if wanted.len() == len {
                return wanted;
            }
            let Some(allocator) = self.shared.queue.pop_new() else {
                return wanted;
            };
            if allocator.is_abandoned(&self.shared) {
                self.end_trial(&allocator);
                continue;
            }
            if !allocator.is_absent() {
                wanted.push(allocator);
            } else if wanted.is_empty() {
                return vec![allocator];
            } else {
                self.shared.queue.put_back_new(allocator);
                return wanted;
            }
        }
        // There are more.
        self.shared.work.notify(1);
        wanted
    }

    fn refill(
        &self,
        allocator: Arc<Allocator>,
    ) -> BoxFuture<'static, (Arc<Allocator>, RefillOutcome)> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let outcome = Arc::clone(&allocator).refill(&shared).await;
            (allocator, outcome)
        })
    }

    /// Retries the tag whose time comes first. A new one whose callers gave up is dropped, unless
    /// it is the only one that can show that the store is back.
    fn resume_next(&mut self) -> Option<Arc<Allocator>> {
        let Reverse(Retry(_, allocator)) = self.retries.pop()?;
        if self.retries.is_empty() {
            allocator.touch(&self.shared);
        }
        if allocator.is_abandoned(&self.shared) {
            return None;
        }
        allocator.resume();
        self.enqueue(Arc::clone(&allocator));
        Some(allocator)
    }

    fn enqueue(&self, allocator: Arc<Allocator>) {
        let is_new = allocator.is_new();
        self.shared.enqueue(allocator, is_new);
    }

    fn end_trial(&mut self, allocator: &Arc<Allocator>) {
        let is_it = |trial: &Arc<Allocator>| Arc::ptr_eq(trial, allocator);
        if self.trial.as_ref().is_some_and(is_it) {
            self.trial = None;
        }
    }

    fn probed(&mut self, answer: probe::Answer) {
        match answer {
            Ok(location) => {
                self.probe.went_well = true;
                self.shared.availability.located(location);
                self.try_one();
            }
            Err(error) => {
                self.probe.went_well = false;
                self.shared.store_down(&error);
            }
        }
    }

    /// The probe succeeded. If a call for a tag has failed, one such tag shows whether it succeeds
    /// now; a probe cannot detect a full disk.
    fn try_one(&mut self) {
        if self.shared.availability.is_up() || self.trial.is_some() {
            return;
        }
        self.trial = self.next_to_try();
        if self.trial.is_none() {
            self.shared.store_up();
        }
    }

    /// Retries the tag whose time comes first, of those that say something about the store.
    fn next_to_try(&mut self) -> Option<Arc<Allocator>> {
        let mut isolated = Vec::new();
        let mut next = None;
        while next.is_none()
            && let Some(first) = self.retries.peek()
        {
            if first.0.1.fails_alone() {
                isolated.extend(self.retries.pop());
            } else {
                next = self.resume_next();
            }
        }
        self.retries.extend(isolated);
        next
    }

    fn on_outcome(&mut self, allocator: Arc<Allocator>, outcome: RefillOutcome) {
        self.end_trial(&allocator);
        if matches!(outcome, RefillOutcome::RetryAt(_)) {
            self.probe.went_well = false;
        } else if self.probe.went_well {
            self.try_one();
        }
        let is_failure = matches!(outcome, RefillOutcome::RetryAt(_));
        if self.has_failed && !is_failure && self.refresh.is_terminated() {
            self.has_failed = false;
            let refresh: BoxFuture<'static, ()> =
                Box::pin(refresh(Arc::clone(&self.shared), Allocator::has_drawn));
            self.refresh = refresh.fuse();
        }
        self.has_failed |= is_failure;
        match outcome {
            RefillOutcome::Done => {}
            RefillOutcome::Again => self.enqueue(allocator),
            RefillOutcome::RetryAt(at) => self.retries.push(Reverse(Retry(at, allocator))),
        }
    }

    fn time_to_next(&self) -> Duration {
        let retry = self.retries.peek().map(|Reverse(retry)| retry.0);
        let eviction = self.shared.next_eviction_at();
        let refresh = self.refresh.is_terminated().then_some(self.refresh_at);
        let next = [retry, eviction, refresh, self.probe.next_at()]
            .into_iter()
            .flatten()
            .min();
        let idle = self.shared.options.refresh_interval;
        next.map_or(idle, |next| next.saturating_sub(self.shared.clock.now()))
    }
}

/// Refreshes the rows of these tags, one statement at a time.
async fn refresh(shared: Arc<Shared>, is_wanted: fn(&Allocator) -> bool) {
    let wanted: Vec<Arc<Allocator>> = {
        let tags = shared.tags.pin();
        tags.values()
            .filter(|allocator| is_wanted(allocator))
            .cloned()
            .collect()
    };
    for chunk in wanted.chunks(READ_LEN_MAX) {
        if let Err(error) = Allocator::refresh_all(&shared, chunk).await {
            return refresh_failed(&shared, &error);
        }
    }
}

fn refresh_failed(shared: &Shared, error: &StoreError) {
    shared.store_suspect(error);
    shared.emit(&Event::RefreshFailed { error });
}

impl PartialEq for Retry {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Retry {}

impl PartialOrd for Retry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Retry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
