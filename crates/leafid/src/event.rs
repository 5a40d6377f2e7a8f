//! `Event`: something the driver noticed. The library itself logs nothing; an [`Observer`] turns
//! events into log lines, metrics and alarms.

use std::time::Duration;

use crate::layout::EndWarning;
use crate::lease::Lease;
use crate::limit::Limit;
use crate::segment::Segment;
use crate::store::{LeaseRecord, StoreError};
use crate::tag::Tag;
use crate::worker_id::WorkerId;

/// Something noteworthy that happened in the background. Never on the issuing path.
///
/// # Example
///
/// ```
/// use leafid::{Event, Tag};
///
/// let tag = Tag::new("order")?;
/// let event = Event::LimitNear { tag: &tag, headroom: 1000, limit: leafid::Limit::INT32 };
/// assert!(event.is_alarm());
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A tag was used for the first time and its row was read.
    Loaded {
        /// The tag.
        tag: &'a Tag,
    },
    /// A tag had no row and was created, as `create_missing` says.
    Created {
        /// The tag.
        tag: &'a Tag,
    },
    /// A tag's row is gone; it issues no more ids.
    Dropped {
        /// The tag.
        tag: &'a Tag,
    },
    /// A segment was reserved.
    Reserved {
        /// The tag.
        tag: &'a Tag,
        /// The ids.
        segment: Segment,
        /// How long the store took.
        took: Duration,
    },
    /// A call to the store for a tag failed; it will be retried.
    Failed {
        /// The tag.
        tag: &'a Tag,
        /// The error.
        error: &'a StoreError,
        /// How many calls for this tag have failed in a row.
        failures: u32,
        /// When it will be retried.
        retry_after: Duration,
    },
    /// A store was reached and refused, because it could lose what it acknowledges: at the start,
    /// or after a fail-over. Nothing is reserved in it; it is tried again, and so are the other
    /// servers of its list.
    WeakStore {
        /// The tag that needed a segment.
        tag: &'a Tag,
        /// Which store, and which of its settings; see
        /// [`StoreError::weak_store`](crate::store::StoreError::weak_store).
        error: &'a StoreError,
        /// How many calls for this tag have failed in a row.
        failures: u32,
    },
    /// The store went back in time: it held a max id below one that it had reported. The segment
    /// that showed it starts a margin above that one, and is discarded.
    ///
    /// Certain: ids that this process issues from now on differ from all that it issued before.
    /// Uncertain: how far other processes had come before, and whether one that saw less than this
    /// one reserved the numbers from `found` on since.
    Regressed {
        /// The tag.
        tag: &'a Tag,
        /// The highest max id this process has ever seen.
        floor: u64,
        /// What the store held.
        found: u64,
        /// The discarded segment. The next one lies above it.
        discarded: Segment,
    },
    /// A tag has less than a tenth, and then less than a hundredth, of its numbers left.
    LimitNear {
        /// The tag.
        tag: &'a Tag,
        /// How many ids are left.
        headroom: u64,
        /// The largest id it may issue.
        limit: Limit,
    },
    /// A tag has no numbers left in the store.
    LimitReached {
        /// The tag.
        tag: &'a Tag,
        /// The largest id it may issue.
        limit: Limit,
    },
    /// The settings of tags in use could not be read; the old ones still apply.
    RefreshFailed {
        /// The error.
        error: &'a StoreError,
    },
    /// A call to the store lost against another transaction, changed nothing, and is repeated at
    /// once.
    Conflict {
        /// The store's error.
        error: &'a StoreError,
    },
    /// The store does not answer: a reservation or a probe failed. It is retried, and ids in memory
    /// are still issued.
    StoreDown {
        /// The error.
        error: &'a StoreError,
        /// The server that was in use, without a password, if it is known.
        location: Option<&'a str>,
    },
    /// A reservation or a probe succeeded again; waiting tags are served at once.
    StoreUp {
        /// How long the outage lasted.
        down_for: Duration,
        /// The server that answered, without a password, if it is known.
        location: Option<&'a str>,
    },
    /// A worker id was claimed, or continued after a restart.
    WorkerClaimed {
        /// Its lease.
        lease: Lease,
    },
    /// The lease of the worker id was extended.
    WorkerExtended {
        /// Its lease, as extended.
        lease: Lease,
    },
    /// The worker id was given back.
    WorkerReleased {
        /// The worker id.
        worker: WorkerId,
    },
    /// Another server holds the worker id now, or its lease is exhausted. Issuing has stopped, and
    /// another worker id is claimed.
    WorkerLost {
        /// The worker id.
        worker: WorkerId,
        /// What happened.
        reason: &'a str,
    },
    /// No worker id is available until something is changed; claiming is retried.
    WorkerRefused {
        /// The reason, and what to do.
        reason: &'a str,
    },
    /// All worker ids are held.
    WorkersExhausted {
        /// The holders.
        holders: &'a [LeaseRecord],
    },
    /// The registry is down, and the journal lets this server issue within its lease.
    WeakStart {
        /// The lease.
        worker: WorkerId,
        /// The registry's error.
        error: &'a StoreError,
    },
    /// The worker id could not be given back; it may stay leased to this server until its lease
    /// ends.
    WorkerKept {
        /// The lease.
        lease: Lease,
        /// The error.
        error: &'a StoreError,
    },
    /// The registry has forgotten what it had acknowledged to this server: it was emptied, or an
    /// older copy of it was restored. Issuing has stopped, [`WorkerLost`](Event::WorkerLost)
    /// follows, and a server that claimed the worker id meanwhile may have made the same ids.
    RegistryRegressed {
        /// The worker id.
        lease: Lease,
        /// What was found in its place.
        found: Option<&'a LeaseRecord>,
    },
    /// The registry of worker ids does not answer. Reported once, until it answers again.
    RegistryDown {
        /// The error.
        error: &'a StoreError,
    },
    /// The registry of worker ids answers again.
    RegistryUp {
        /// How long it did not answer.
        after: Duration,
    },
    /// A call to the registry of worker ids failed; it will be retried.
    RegistryFailed {
        /// The error.
        error: &'a StoreError,
        /// When it will be retried.
        retry_after: Duration,
    },
    /// The journal cannot be written; ids that it already allows are issued, but no more.
    JournalFailed {
        /// The error.
        error: &'a StoreError,
    },
    /// The wall clock is more than a second off the boot clock's time. It is not followed.
    ClockStepped {
        /// How far it is ahead, in milliseconds.
        offset_ms: i64,
    },
    /// The wall clock agrees again.
    ClockAgrees,
    /// A second source, or an operator, has confirmed the wall clock; it is followed.
    ClockAccepted {
        /// How far it was ahead, in milliseconds.
        offset_ms: i64,
    },
    /// Ids were issued far ahead of the true time. Their worker id is left unused until then, and
    /// another one is claimed.
    Quarantined {
        /// The worker id.
        worker: WorkerId,
        /// Where its lease ends, in milliseconds since 1970-01-01T00:00:00Z.
        until_ms: u64,
    },
    /// The layout's time runs out in less than three years.
    EndNear {
        /// When, and what to do.
        warning: EndWarning,
    },
}

impl Event<'_> {
    /// Whether an operator should look at it.
    #[must_use]
    pub const fn is_alarm(&self) -> bool {
        matches!(
            self,
            Self::Regressed { .. }
                | Self::WeakStore { .. }
                | Self::RegistryRegressed { .. }
                | Self::LimitNear { .. }
                | Self::LimitReached { .. }
                | Self::WorkerLost { .. }
                | Self::WorkerRefused { .. }
                | Self::WorkersExhausted { .. }
                | Self::JournalFailed { .. }
                | Self::ClockStepped { .. }
                | Self::Quarantined { .. }
                | Self::EndNear { .. }
        )
    }
}

/// Receives events. Called by the driver: return quickly, and never block.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use leafid::{Event, Observer};
///
/// #[derive(Default)]
/// struct RegressionCount(AtomicU64);
///
/// impl Observer for RegressionCount {
///     fn event(&self, event: &Event<'_>) {
///         if event.is_alarm() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Receives an event.
    fn event(&self, event: &Event<'_>);
}

/// Ignores all events.
impl Observer for () {
    fn event(&self, _event: &Event<'_>) {}
}
