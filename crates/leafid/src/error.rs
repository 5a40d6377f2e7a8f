//! Why no id was issued: transient and permanent errors are different types.

use std::sync::Arc;
use std::time::Duration;

use crate::error_kind::ErrorKind;
use crate::format::Form;
use crate::limit::Limit;
use crate::store::{StoreError, TagKind};
use crate::tag::{Tag, TagError};

/// Why no id was issued: for now, or until somebody changes something. There is no third.
///
/// # Example
///
/// ```
/// use leafid::{Generators, IssueError, Permanent, Options, blocking, store::MemoryStore};
///
/// let (generators, driver) = Generators::open(MemoryStore::new(), Options::default());
/// let driver = blocking::spawn(driver)?;
/// match generators.next_blocking("nobody") {
///     Err(IssueError::Permanent(Permanent::UnknownTag { tag })) => assert_eq!(tag.as_str(), "nobody"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
pub enum IssueError {
    /// Not now; the same call may succeed later.
    #[error(transparent)]
    Transient(Box<Transient>),
    /// Not before something is changed.
    #[error(transparent)]
    Permanent(Permanent),
}

/// No id now. The tag's next segment is being reserved, or its store fails and is retried.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::{Transient, TransientReason, Tag};
///
/// let retry_after = Duration::from_millis(250);
/// let transient = Transient::new(Tag::new("order")?, retry_after, TransientReason::Loading);
/// assert_eq!(
///     transient.to_string(),
///     "no id of \"order\" available yet: its next segment is being reserved; try again in 250 ms"
/// );
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "no id of \"{tag}\" available yet: {reason}; try again in {} ms",
    retry_after.as_millis().max(1)
)]
#[non_exhaustive]
pub struct Transient {
    /// The tag of the call.
    pub tag: Tag,
    /// When to try again.
    pub retry_after: Duration,
    /// The reason.
    #[source]
    pub reason: TransientReason,
}

impl Transient {
    /// No id of this tag for now.
    #[must_use]
    pub const fn new(tag: Tag, retry_after: Duration, reason: TransientReason) -> Self {
        Self {
            tag,
            retry_after,
            reason,
        }
    }
}

/// What is in the way of an id for now.
///
/// # Example
///
/// ```
/// assert!(leafid::TransientReason::Busy.to_string().contains("too many"));
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TransientReason {
    /// A segment is being reserved.
    #[error("its next segment is being reserved")]
    Loading,
    /// The last attempt to reserve one failed; the driver retries automatically.
    #[error("its store failed ({0})")]
    StoreFailed(#[source] Arc<StoreError>),
    /// Too many callers already wait for long ranges of this tag.
    #[error("too many callers wait for long ranges of it")]
    Busy,
    /// As many tags as `tags_max` allows are loaded.
    #[error("{0} tags are loaded, which is the limit of this process")]
    TooManyTags(usize),
}

/// No id until something is changed.
///
/// # Example
///
/// ```
/// use leafid::{Limit, Permanent, Tag};
///
/// let permanent = Permanent::LimitReached { tag: Tag::new("order")?, limit: Limit::INT32 };
/// assert_eq!(
///     permanent.to_string(),
///     "tag \"order\" has issued its last id, 2147483647: raise its limit or use another tag"
/// );
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Permanent {
    /// The name is not a valid tag.
    #[error(transparent)]
    BadTag(#[from] TagError),
    /// The tag has no row in the store.
    #[error("tag \"{tag}\" does not exist: create it first")]
    UnknownTag {
        /// The tag.
        tag: Tag,
    },
    /// The tag has reached its limit, or a range of this length would exceed it.
    #[error(
        "tag \"{tag}\" has issued its last id, {}: raise its limit or use another tag",
        limit.largest()
    )]
    LimitReached {
        /// The tag.
        tag: Tag,
        /// The largest id it may issue.
        limit: Limit,
    },
    /// The tag's row cannot be used.
    #[error("tag \"{tag}\" cannot be used: {message}")]
    BadRow {
        /// The tag.
        tag: Tag,
        /// What is wrong with the row.
        message: String,
    },
    /// The store refuses this program until its set-up is changed, such as a password or a missing
    /// table. The driver continues to try.
    #[error("no id of \"{tag}\": its store is misconfigured ({source})")]
    Misconfigured {
        /// The tag.
        tag: Tag,
        /// The store's error.
        source: Arc<StoreError>,
    },
    /// The tag's ids do not come from segments.
    #[error("tag \"{tag}\" issues {} and has no segments: take its ids from {}", source_of(*kind).0, source_of(*kind).1)]
    NoSegments {
        /// The tag.
        tag: Tag,
        /// Its kind: segment for a calendar counter, whose periods have the segments.
        kind: TagKind,
        /// What its ids look like.
        form: Form,
        /// No snowflake id below this may be issued for the tag: a former tag of this name was a
        /// segment tag, and may have issued it. 1 if there was none.
        min_id: u64,
    },
    /// A call requested no ids, or more than 2^63 - 2.
    #[error("cannot issue {count} ids at once: ask for 1 to 9223372036854775806")]
    BadCount {
        /// How many it requested.
        count: u64,
    },
    /// The driver has ended, and memory holds no id.
    #[error("no id of \"{tag}\" in memory, and the driver that would fetch more has stopped")]
    Stopped {
        /// The tag.
        tag: Tag,
    },
}

/// The ids of a tag without segments, and where to take them.
fn source_of(kind: TagKind) -> (String, &'static str) {
    match kind {
        TagKind::Segment => (
            "numbers that restart with each period".to_owned(),
            "the tag of the period",
        ),
        TagKind::Snowflake => ("snowflake ids".to_owned(), "a snowflake generator"),
        TagKind::Family(family) => (format!("{family} ids"), "a generator of that family"),
    }
}

impl IssueError {
    pub(crate) fn transient(tag: &Tag, retry_after: Duration, reason: TransientReason) -> Self {
        Self::Transient(Box::new(Transient::new(tag.clone(), retry_after, reason)))
    }

    /// No id, because its store failed: transient, or permanent until the store's set-up is
    /// changed.
    pub(crate) fn store_failed(tag: &Tag, retry_after: Duration, error: Arc<StoreError>) -> Self {
        if error.kind() == ErrorKind::Misconfigured {
            let (tag, source) = (tag.clone(), error);
            return Permanent::Misconfigured { tag, source }.into();
        }
        Self::transient(tag, retry_after, TransientReason::StoreFailed(error))
    }

    /// What to do about it.
    ///
    /// # Example
    ///
    /// See [`ErrorKind`].
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Transient(transient) => match &transient.reason {
                TransientReason::StoreFailed(error) => error.kind(),
                TransientReason::Loading
                | TransientReason::Busy
                | TransientReason::TooManyTags(_) => ErrorKind::Busy,
            },
            Self::Permanent(permanent) => match permanent {
                Permanent::BadTag(_)
                | Permanent::BadCount { .. }
                | Permanent::NoSegments { .. } => ErrorKind::InvalidRequest,
                Permanent::UnknownTag { .. } => ErrorKind::NotFound,
                Permanent::LimitReached { .. } => ErrorKind::Exhausted,
                Permanent::BadRow { .. } | Permanent::Misconfigured { .. } => {
                    ErrorKind::Misconfigured
                }
                Permanent::Stopped { .. } => ErrorKind::Stopped,
            },
        }
    }

    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Transient(_))
    }

    /// Whether the tag has reached its limit.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        matches!(self, Self::Permanent(Permanent::LimitReached { .. }))
    }

    /// When to try again; `None` for never.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient(transient) => Some(transient.retry_after),
            Self::Permanent(_) => None,
        }
    }
}

impl From<Permanent> for IssueError {
    fn from(permanent: Permanent) -> Self {
        Self::Permanent(permanent)
    }
}
