//! `Event`: what the driver noticed. The library logs nothing itself; an [`Observer`] turns
//! events into log lines, metrics and alarms.

use std::time::Duration;

use crate::layout::EndWarning;
use crate::lease::Lease;
use crate::limit::Limit;
use crate::segment::Segment;
use crate::store::{LeaseRecord, StoreError};
use crate::tag::Tag;
use crate::worker_id::WorkerId;

/// Something worth knowing that happened in the background. Never on the issuing path.
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
    /// A tag's row is gone; it issues no more.
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
    /// A call to the store for a tag failed; it will be repeated.
    Failed {
        /// The tag.
        tag: &'a Tag,
        /// Why.
        error: &'a StoreError,
        /// How many calls for this tag failed in a row.
        failures: u32,
        /// When it will be repeated.
        retry_after: Duration,
    },
    /// A store was reached and refused, because it could lose what it acknowledges: at the start,
    /// or after a fail-over. Nothing is reserved in it; it is asked again, and so are the other
    /// servers of its list.
    WeakStore {
        /// The tag that a segment was wanted for.
        tag: &'a Tag,
        /// Which store, and which of its settings; see
        /// [`StoreError::weak_store`](crate::store::StoreError::weak_store).
        error: &'a StoreError,
        /// How many calls for this tag failed in a row.
        failures: u32,
    },
    /// The store went back in time: it held a max id below one that it had told of. The segment
    /// that showed it starts a margin above that one, and is discarded.
    ///
    /// Known: ids that this process issues from now on differ from all that it issued before.
    /// Not known: how far other processes had come before, and whether one that saw less than
    /// this one drew the numbers from `found` on since.
    Regressed {
        /// The tag.
        tag: &'a Tag,
        /// The highest max id this process ever saw.
        floor: u64,
        /// What the store held.
        found: u64,
        /// The segment that is not issued from. The next one comes above it.
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
        /// Why.
        error: &'a StoreError,
    },
    /// A call to the store lost against another transaction, changed nothing, and is repeated at
    /// once.
    Conflict {
        /// What the store said.
        error: &'a StoreError,
    },
    /// The store does not answer: a reservation or a probe failed. It is asked again and again,
    /// and memory goes on issuing what it holds.
    StoreDown {
        /// Why.
        error: &'a StoreError,
        /// The server that was in use, without a password, if it is known.
        location: Option<&'a str>,
    },
    /// A reservation or a probe went well again; tags that wait are served at once.
    StoreUp {
        /// For how long none did.
        down_for: Duration,
        /// The server that answered, without a password, if it is known.
        location: Option<&'a str>,
    },
    /// A worker id was claimed, or taken back.
    WorkerClaimed {
        /// Which, and from when to when.
        lease: Lease,
    },
    /// The lease of the worker id was extended.
    WorkerExtended {
        /// Which, and until when now.
        lease: Lease,
    },
    /// The worker id was given back.
    WorkerReleased {
        /// Which.
        worker: WorkerId,
    },
    /// The worker id is somebody else's now, or its lease is used up. Issuing has stopped,
    /// and another one is claimed.
    WorkerLost {
        /// Which.
        worker: WorkerId,
        /// What happened.
        reason: &'a str,
    },
    /// No worker id can be had until somebody changes something; it is tried again.
    WorkerRefused {
        /// What is in the way, and what to do.
        reason: &'a str,
    },
    /// All worker ids are held.
    WorkersExhausted {
        /// By whom.
        holders: &'a [LeaseRecord],
    },
    /// The registry is down, and the journal lets this server issue inside its lease.
    WeakStart {
        /// With which worker id.
        worker: WorkerId,
        /// What the registry's failure is.
        error: &'a StoreError,
    },
    /// The worker id could not be given back; it stays leased to this server.
    WorkerKept {
        /// With which worker id, and until when.
        lease: Lease,
        /// Why.
        error: &'a StoreError,
    },
    /// The registry has forgotten what it had acknowledged to this server: it was emptied, or an
    /// older copy of it was put back. Issuing has stopped, [`WorkerLost`](Event::WorkerLost)
    /// follows, and whoever took the worker id meanwhile may have made the same ids.
    RegistryRegressed {
        /// With which worker id.
        lease: Lease,
        /// What was found in its place.
        found: Option<&'a LeaseRecord>,
    },
    /// The registry of worker ids does not answer. Told once, until it answers again.
    RegistryDown {
        /// Why.
        error: &'a StoreError,
    },
    /// The registry of worker ids answers again.
    RegistryUp {
        /// For how long it did not.
        after: Duration,
    },
    /// A call to the registry of worker ids failed; it will be repeated.
    RegistryFailed {
        /// Why.
        error: &'a StoreError,
        /// When it will be repeated.
        retry_after: Duration,
    },
    /// The journal cannot be written; what it allows already is issued, and no more.
    JournalFailed {
        /// Why.
        error: &'a StoreError,
    },
    /// The wall clock is more than a second away from the boot clock's course. It is not followed.
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
    /// Ids were issued far ahead of the true time. Their worker id is left alone until then, and
    /// another one is claimed.
    Quarantined {
        /// Which.
        worker: WorkerId,
        /// Where its lease ends, in milliseconds since 1970-01-01T00:00:00Z.
        until_ms: u64,
    },
    /// The layout's bits of time are used up in less than three years.
    EndNear {
        /// When, and what to do.
        warning: EndWarning,
    },
}

impl Event<'_> {
    /// Whether somebody should look at it.
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

/// Who is told of events. Called from the driver: answer quickly, and never block.
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
    /// Takes note of an event.
    fn event(&self, event: &Event<'_>);
}

/// Takes no note of anything.
impl Observer for () {
    fn event(&self, _event: &Event<'_>) {}
}
