//! `Status`: the state of one tag, for metrics, consoles and tests.

use std::time::Duration;

use super::Allocator;
use crate::limit::Limit;
use crate::segment::Segment;
use crate::step::StepPolicy;
use crate::tag::Tag;

const SECONDS_A_DAY: f64 = 24.0 * 3600.0;

/// The state of one tag in this process. A snapshot; the fields are read one after the other.
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryStore, SegmentStore, TagSpec};
/// use leafid::{Generators, Options, Tag, blocking};
///
/// let store = MemoryStore::new();
/// blocking::block_on(store.create(&TagSpec::new(Tag::new("order")?)))?;
/// let (generators, driver) = Generators::open(store, Options::default());
/// let driver = blocking::spawn(driver)?;
/// generators.next_blocking("order")?;
/// let status = generators.status("order").expect("it was used");
/// assert_eq!((status.issued, status.own_step), (1, 1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// The tag.
    pub tag: Tag,
    /// Whether it can issue, and if not, why.
    pub stage: Stage,
    /// Its row was deleted while it was in use, and the store was not asked for it again since.
    pub is_dropped: bool,
    /// The policy that applies.
    pub policy: StepPolicy,
    /// The step in the store.
    pub own_step: u64,
    /// The length of the last segment.
    pub step: u64,
    /// Ids issued by this process.
    pub issued: u64,
    /// Ids in memory.
    pub remaining: u64,
    /// The measured rate, in ids per second.
    pub rate: f64,
    /// How long the ids in memory last at that rate; `None` while there is no rate.
    pub cover: Option<Duration>,
    /// How long ago its first segment was reserved, in this process.
    pub in_use_for: Duration,
    /// The highest max id this process knows of.
    pub max_id: Option<u64>,
    /// The largest id it may issue.
    pub limit: Limit,
    /// The next number to try.
    pub cursor: u64,
    /// The two segments, the one in use first.
    pub segments: [Segment; 2],
    /// Segments reserved.
    pub reserves: u64,
    /// Calls to the store that failed.
    pub failures: u64,
    /// How often the store was found to have gone back in time.
    pub regressions: u64,
    /// Ids reserved that will never be issued.
    pub skipped: u64,
    /// How long the last reservation took.
    pub last_took: Duration,
    /// The store's last error, until it answers again.
    pub last_error: Option<String>,
}

/// Whether a tag can issue.
///
/// # Example
///
/// ```
/// assert_eq!(leafid::Stage::Live.name(), "live");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its row has not been read yet.
    New,
    /// It issues.
    Live,
    /// It has no row.
    Unknown,
    /// Its row cannot be used.
    Unusable,
    /// It issues snowflake ids, and has no segments.
    OtherKind,
    /// Its numbers are exhausted.
    Exhausted,
}

impl Status {
    /// For how many days the numbers between `max_id`, where the tag's next segment starts, and the
    /// limit last, if this process goes on at its measured [`rate`](Self::rate); `None` while there
    /// is none.
    ///
    /// Of several processes that issue from one tag, each knows its own rate only: what is left
    /// lasts for the numbers divided by the sum of their rates.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, SegmentStore, TagSpec};
    /// use leafid::{Generators, Options, Tag, blocking};
    ///
    /// let store = MemoryStore::new();
    /// blocking::block_on(store.create(&TagSpec::new(Tag::new("order")?)))?;
    /// let (generators, driver) = Generators::open(store, Options::default());
    /// assert!(generators.try_next("order").is_err());
    /// let status = generators.status("order").expect("it was asked for");
    /// assert_eq!(status.headroom_days(1), None);
    /// # drop(driver);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn headroom_days(&self, max_id: u64) -> Option<f64> {
        let lasts = cover(self.limit.headroom(max_id), self.rate)?;
        Some(lasts.as_secs_f64() / SECONDS_A_DAY)
    }
}

impl Stage {
    /// The stage in one word, as in metrics and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Live => "live",
            Self::Unknown => "unknown",
            Self::Unusable => "unusable",
            Self::OtherKind => "other_kind",
            Self::Exhausted => "exhausted",
        }
    }
}

impl Allocator {
    pub(crate) fn status(&self, now: Duration, policy: StepPolicy) -> Status {
        let state = self.lock();
        let remaining = self.buffer.remaining();
        let used = state.usage.used(remaining);
        let rate = state.usage.rate_at(now, remaining).per_second();
        let [mut first, mut second] = self.buffer.segments();
        if second.start() <= self.buffer.cursor() && first.start() < second.start() {
            std::mem::swap(&mut first, &mut second);
        }
        Status {
            tag: self.tag.clone(),
            stage: state.stage(),
            is_dropped: state.row.is_dropped,
            policy: state.row.policy(policy),
            own_step: state.row.own_step(),
            step: state.usage.step,
            issued: used,
            remaining,
            rate,
            cover: cover(remaining, rate),
            in_use_for: state.usage.in_use_for(now),
            max_id: state.bounds.floor,
            limit: state.row.limit(),
            cursor: self.buffer.cursor(),
            segments: [first, second],
            reserves: state.usage.reserves,
            failures: state.failures.total,
            regressions: state.bounds.regressions,
            skipped: state.usage.skipped,
            last_took: state.usage.last_took,
            last_error: state.failures.last_error.as_ref().map(ToString::to_string),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a cover needs no 53 bits")]
fn cover(remaining: u64, rate: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(remaining as f64 / rate).ok()
}
