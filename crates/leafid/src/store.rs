//! `SegmentStore`: the contract of a durable store: what it must promise, and its errors.
//!
//! Implementations live elsewhere (`leafid-stores`, or your own); [`MemoryStore`] is here for
//! tests and examples. The suites in `store/conformance.rs` and
//! `store/lease/conformance.rs` prove an implementation.

mod arc;
#[cfg(feature = "conformance")]
mod check;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod journal;
mod kind;
mod lease;
mod memory;
mod period;
mod record;
mod state;
mod tag_field;
mod transport;
mod weak;

use std::future::Future;
use std::pin::Pin;

use crate::limit::Limit;
use crate::segment::Segment;
use crate::tag::Tag;

pub use error::StoreError;
pub use journal::{
    Journal, JournalClaim, JournalLease, JournalRecord, JournalRegistry, MemoryJournal,
};
#[cfg(feature = "conformance")]
pub use lease::conformance as lease_conformance;
pub use lease::{IDENTITY_LEN_MAX, LeaseKey, LeaseRecord, LeaseStore, LeaseSwap, new_identity};
pub use memory::{MemoryLeaseStore, MemoryStore};
pub use record::{ParseTagKindError, TagKind, TagPatch, TagRecord, TagSettings, TagSpec};
pub use state::StoreState;
pub use tag_field::{TagField, TagFieldError};
pub use transport::{Security, Transport};
pub use weak::WeakStore;

/// A boxed future, so that stores can be trait objects. One allocation per call to a store, and
/// there is one call per thousands of ids.
///
/// # Example
///
/// ```
/// use leafid::{blocking::block_on, store::BoxFuture};
///
/// let future: BoxFuture<'_, u32> = Box::pin(async { 7 });
/// assert_eq!(block_on(future), 7);
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a call to a store.
///
/// # Example
///
/// ```
/// use leafid::store::StoreResult;
///
/// let answer: StoreResult<'_, ()> = Box::pin(async { Ok(()) });
/// # drop(answer);
/// ```
pub type StoreResult<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A durable place from which segments are reserved. **Thread-safe**; many processes share one.
///
/// The contract, checked by the conformance suite:
///
/// - An answer to [`reserve`](Self::reserve) is given only once the reservation is **durable**,
///   and no two answers, to whichever process, overlap.
/// - A store translates. It does not retry, cache or log; the driver does, in one place.
/// - [`StoreError::Conflict`] is returned only if nothing was changed; the call is repeated at
///   once.
/// - Every call ends in bounded time, with an error if need be.
/// - After an error the outcome may be unknown; the caller then counts the segment as lost.
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryStore, Reserve, SegmentStore, TagSpec};
/// use leafid::{Limit, Tag, blocking::block_on};
///
/// let store = MemoryStore::new();
/// let tag = Tag::new("order")?;
/// block_on(store.create(&TagSpec::new(tag.clone())))?;
/// let reserve = Reserve { tag, count: 1000, floor: None, margin: 0, limit: Limit::INT64, is_longest: false };
/// let reserved = block_on(store.reserve(&reserve))?;
/// assert_eq!((reserved.segment.start(), reserved.segment.end()), (1, 1001));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SegmentStore: Send + Sync + 'static {
    /// Reserves `count` ids of a tag, durably:
    /// `start = max(max_id, 1)`, or `floor + margin` if `max_id` is below the floor; then
    /// `max_id = start + count`, the segment being `[start, start + count)`, in one transaction.
    /// As for [`read`](Self::read), `max_id` is not below what [`delete`](Self::delete) recorded
    /// for the tag, however its row was created again.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownTag`] when the tag has no row, or is no segment tag;
    /// [`StoreError::LimitReached`] when the segment would pass the limit (nothing is reserved
    /// then); [`StoreError::Unavailable`] when the outcome is unknown or the store cannot be used
    /// now.
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved>;

    /// Reads the rows of these tags, in one statement for up to [`READ_LEN_MAX`] of them. Tags
    /// without a row are missing from the answer, which has any order. If a tag was deleted and its
    /// row created again past the store, [`TagRecord::max_id`] is not below what
    /// [`delete`](Self::delete) recorded: it is the floor of the next reservation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>>;

    /// Lists up to `count` rows in ascending byte order of their tags, from the first one after
    /// `after`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>>;

    /// Creates a tag. One that was deleted through [`delete`](Self::delete) starts at the larger of
    /// `spec.start` and the max id it had: its former ids never repeat.
    ///
    /// # Errors
    ///
    /// [`StoreError::TagExists`], [`StoreError::FormerKind`] and [`StoreError::FormerFormat`] if a
    /// former tag of this name had a kind or a format that this one may not follow
    /// ([`TagSpec::check_former`]), [`StoreError::Unsupported`] if the store cannot keep all
    /// settings, [`StoreError::Unavailable`].
    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord>;

    /// Changes what the patch names; the rest stays as it is.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownTag`], [`StoreError::Unsupported`], [`StoreError::Unavailable`].
    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord>;

    /// Deletes a tag, and records its kind, its format and how far it went.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownTag`], [`StoreError::Unsupported`] if the store cannot record how far
    /// it went, [`StoreError::Unavailable`].
    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()>;

    /// Reports what the store is, and which of its settings could lose an acknowledged reservation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    fn inspect(&self) -> StoreResult<'_, StoreReport>;

    /// Checks, cheaply, whether a reservation could succeed now, and returns the server that it
    /// would use, without a password. Changes nothing, needs no tag, and succeeds only where the
    /// rows can be written: not on a replica, and not in a database without them. It is called
    /// every few seconds.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], which gives the reason.
    fn probe(&self) -> StoreResult<'_, String>;
}

/// The most tags in one call to [`SegmentStore::read`].
///
/// # Example
///
/// ```
/// assert_eq!(leafid::store::READ_LEN_MAX, 500);
/// ```
pub const READ_LEN_MAX: usize = 500;

/// A request for a segment.
///
/// # Example
///
/// ```
/// use leafid::{Limit, Tag, store::Reserve};
///
/// let tag = Tag::new("order")?;
/// let (floor, limit) = (Some(40_001), Limit::INT64);
/// let reserve = Reserve { tag, count: 2000, floor, margin: 4000, limit, is_longest: false };
/// assert_eq!((reserve.start(50_001), reserve.start(30_001)), (50_001, 44_001));
/// assert_eq!(reserve.start_max(), Some(9_223_372_036_854_773_807));
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserve {
    /// The tag.
    pub tag: Tag,
    /// The number of ids; at least 1.
    pub count: u64,
    /// The highest max id of the tag that this caller has ever seen. The segment starts there or
    /// above, even if the store went back in time.
    pub floor: Option<u64>,
    /// How many ids to skip above the floor if the store holds less than that: others may have come
    /// further than this caller before the store went back.
    pub margin: u64,
    /// The largest id that may be issued.
    pub limit: Limit,
    /// Set if no known segment of the tag was as long. A store that has a place for it records
    /// `count` as [`TagRecord::segment_max`], durably, before the segment is issued.
    pub is_longest: bool,
}

impl Reserve {
    /// The largest start at which `count` ids stay within the limit; `None` if there is none.
    /// Stores compare with it, so that no sum in a statement can overflow.
    #[must_use]
    pub const fn start_max(&self) -> Option<u64> {
        (self.limit.largest() + 1).checked_sub(self.count)
    }

    /// Where the segment starts, given the max id in the store.
    #[must_use]
    pub fn start(&self, max_id: u64) -> u64 {
        match self.floor {
            Some(floor) if max_id < floor => floor.saturating_add(self.margin).max(1),
            _ => max_id.max(1),
        }
    }

    /// The answer to this request if the store held `previous` and the reservation is durable. For
    /// stores whose statement returns the value before the change.
    ///
    /// # Errors
    ///
    /// [`StoreError::LimitReached`] if the segment would exceed the limit.
    pub fn reserved(&self, previous: u64) -> Result<Reserved, StoreError> {
        let start = self.start(previous);
        if self.start_max().is_none_or(|start_max| start > start_max) {
            return Err(StoreError::LimitReached { max_id: start });
        }
        let segment = Segment::new(start, start + self.count)
            .ok_or(StoreError::LimitReached { max_id: start })?;
        Ok(Reserved { previous, segment })
    }
}

/// A durable reservation.
///
/// # Example
///
/// ```
/// use leafid::{Segment, store::Reserved};
///
/// let reserved = Reserved { previous: 1, segment: Segment::new(1, 1001).unwrap() };
/// assert_eq!(reserved.segment.len(), 1000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// The max id that the store held before. If it is below the caller's floor, the store went
    /// back in time.
    pub previous: u64,
    /// The reserved ids.
    pub segment: Segment,
}

/// What a store is, and whether it is durable.
///
/// # Example
///
/// ```
/// use leafid::blocking::block_on;
/// use leafid::store::{MemoryStore, SegmentStore};
///
/// let report = block_on(MemoryStore::new().inspect())?;
/// assert_eq!(report.product, "memory");
/// assert_eq!(report.weaknesses.len(), 1);
/// # Ok::<(), leafid::store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreReport {
    /// Product and version, such as `MariaDB 10.11.6`.
    pub product: String,
    /// Where it is, without a password, such as `mysql://leaf@db1:3306/leaf`.
    pub location: String,
    /// The server or file, by its own name; a change means that another one answers.
    pub identity: String,
    /// Whether the store has a place for policies, limits and deleted tags.
    pub has_own_table: bool,
    /// Missing columns of our own tables, such as `leafid_tag.segment_max` in a store that an older
    /// version created. The store works without them; `leafid store init` adds them.
    pub missing: Vec<String>,
    /// The transport security; `None` if it is unknown, or nothing leaves the machine.
    pub transport: Option<Transport>,
    /// Settings that could lose an acknowledged reservation.
    pub weaknesses: Vec<Weakness>,
}

/// A setting of a store under which an acknowledged reservation can be lost, so that ids repeat.
///
/// # Example
///
/// ```
/// use leafid::store::Weakness;
///
/// let weakness = Weakness {
///     setting: "innodb_flush_log_at_trx_commit".into(),
///     value: "2".into(),
///     wanted: "1".into(),
///     danger: "a power cut loses up to a second of commits".into(),
/// };
/// assert!(weakness.to_string().contains("set innodb_flush_log_at_trx_commit to 1"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weakness {
    /// The setting.
    pub setting: String,
    /// Its value.
    pub value: String,
    /// The safe value.
    pub wanted: String,
    /// What can happen.
    pub danger: String,
}

impl std::fmt::Display for Weakness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            setting,
            value,
            wanted,
            danger,
        } = self;
        write!(
            f,
            "{setting} is {value}: {danger}; set {setting} to {wanted}"
        )
    }
}
