//! `Shared`: what handles, allocators and the driver have in common: the store, the clock, the
//! loaded tags, and the queues of those that ask for the driver.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use event_listener::Event as Notify;
use futures_util::future::{Either, select};

use super::eviction::EvictionQueue;
use super::floors::Floors;
use super::idle::UsedTags;
use super::queue::Queue;
use crate::availability::Availability;
use crate::backoff::backoff;
use crate::clock::Clock;
use crate::conflict_retry::ConflictRetry;
use crate::event::{Event, Observer};
use crate::options::Options;
use crate::store::{SegmentStore, StoreError};
use crate::tag::Tag;

/// The minimum time for which an unknown tag stays unknown; otherwise waiting callers would ask for
/// it again instead of getting the error.
const UNKNOWN_FOR_MIN: Duration = Duration::from_millis(10);
/// The minimum pause after a failure of the store, or the driver would do nothing else.
const RETRY_MIN: Duration = Duration::from_millis(1);

/// All loaded tags. Hashed by the seed of the options, so that a simulation visits them in the
/// same order each time.
pub(crate) type Tags = papaya::HashMap<Tag, Arc<super::Allocator>, foldhash::fast::FixedState>;

/// What handles and driver share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn SegmentStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) options: Options,
    pub(crate) tags: Tags,
    pub(crate) availability: Availability,
    /// Tags that wait for the driver.
    pub(crate) queue: Queue,
    /// Tags without a segment, which are evicted if room is needed.
    pub(super) eviction_queue: EvictionQueue,
    /// Tags with a segment, which are evicted once they have no row.
    pub(super) used_tags: UsedTags,
    /// How far evicted tags had come.
    pub(crate) floors: Floors,
    /// Notified when a queue gets an entry, or the driver must stop.
    pub(crate) work: Notify,
    /// Retries calls that lost against other transactions.
    pub(crate) conflict_retry: ConflictRetry,
    random: Mutex<fastrand::Rng>,
    /// The driver has ended, or was told to.
    stopped: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn SegmentStore>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        options: Options,
    ) -> Self {
        Self {
            conflict_retry: ConflictRetry::new(
                Arc::clone(&clock),
                Arc::clone(&observer),
                options.call_max,
                options.seed,
            ),
            store,
            clock,
            observer,
            random: Mutex::new(fastrand::Rng::with_seed(options.seed)),
            // An incremental resize would slow down every look-up until enough tags are added.
            tags: papaya::HashMap::builder()
                .hasher(foldhash::fast::FixedState::with_seed(options.seed))
                .resize_mode(papaya::ResizeMode::Blocking)
                .build(),
            floors: Floors::new(options.seed),
            options,
            availability: Availability::default(),
            queue: Queue::default(),
            eviction_queue: EvictionQueue::default(),
            used_tags: UsedTags::default(),
            work: Notify::new(),
            stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn emit(&self, event: &Event<'_>) {
        self.observer.event(event);
    }

    /// The back-off after this many failures in a row.
    pub(crate) fn retry_after(&self, failures: u32) -> Duration {
        let Options {
            retry_min,
            retry_max,
            ..
        } = self.options;
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        backoff(retry_min, retry_max, failures, 0.5, 1.0 - random.f64()).max(RETRY_MIN)
    }

    /// Until when a tag that was just found to be unknown stays so.
    pub(crate) fn unknown_until(&self) -> Duration {
        let unknown_for = self.options.unknown_for.max(UNKNOWN_FOR_MIN);
        self.clock.now().saturating_add(unknown_for)
    }

    /// Tells the driver to end. Ids in memory can still be taken.
    pub(crate) fn stop(&self) {
        // SeqCst: read by callers and driver without any other order between them.
        self.stopped.store(true, Ordering::SeqCst);
        self.work.notify(usize::MAX);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn wake_all(&self) {
        self.tags
            .pin()
            .values()
            .for_each(|allocator| allocator.notify());
    }
}

/// Runs a call to the store, giving up on it after `call_max`: its outcome is unknown then.
pub(super) async fn bounded<T>(
    shared: &Shared,
    call: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    within(shared, shared.options.call_max, call).await
}

/// The same, giving up after `wait_max`.
pub(crate) async fn within<T>(
    shared: &Shared,
    wait_max: Duration,
    call: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    let timer = shared.clock.sleep(wait_max);
    match select(std::pin::pin!(call), timer).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(StoreError::unavailable(
            "the store gave no answer in time",
            format!("no answer within {wait_max:?}"),
        )),
    }
}
