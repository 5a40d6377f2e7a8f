//! `ServiceError`: why a call to [`Service`](super::Service) failed.

use std::time::Duration;

use leafid::format::FormatError;
use leafid::store::{StoreError, TagFieldError, TagKind};
use leafid::{
    ClockAhead, DecomposeError, IssueError, LayoutError, Permanent, SnowflakeError, Tag, WorkerId,
};

use crate::config::QuotaScope;

/// When to retry a store that just failed.
const STORE_RETRY: Duration = Duration::from_secs(1);
/// When to retry a server that is overloaded.
const OVERLOAD_RETRY: Duration = Duration::from_secs(1);

/// Why a call failed. Front ends map each variant to their protocol.
///
/// # Example
///
/// ```
/// let error = leafid_server::ServiceError::SegmentOff;
/// assert!(error.to_string().contains("segment = true"));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No id was issued.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// Segment ids are disabled.
    #[error("segment ids are off on this server: set segment = true, or ask another server")]
    SegmentOff,
    /// Snowflake ids are not served.
    #[error("snowflake ids are off on this server: set snowflake = true, or ask another server")]
    SnowflakeOff,
    /// No snowflake id was issued.
    #[error(transparent)]
    Snowflake(#[from] SnowflakeError),
    /// The registry has no row of that worker id.
    #[error("worker id {worker} has no row in the registry: it is not held")]
    UnknownWorker {
        /// The worker id.
        worker: WorkerId,
    },
    /// The holder of a worker id is alive.
    #[error(
        "worker id {worker} is in use: {holder}; stop that server, and it gives the worker id back"
    )]
    WorkerAlive {
        /// The worker id.
        worker: WorkerId,
        /// The holder, and how it is known to be alive.
        holder: String,
    },
    /// The worker id is leased, and nothing proves that its holder is dead.
    #[error("worker id {worker} stays leased until {until}: {why}")]
    WorkerHeld {
        /// The worker id.
        worker: WorkerId,
        /// When its lease ends.
        until: String,
        /// Why it is not released before.
        why: String,
    },
    /// The row of a worker id changed while it was being released.
    #[error("the row of worker id {worker} has just changed: look at it again")]
    WorkerChanged {
        /// The worker id.
        worker: WorkerId,
    },
    /// The wall clock was not accepted.
    #[error("the wall clock is not accepted: {0}")]
    ClockAhead(#[from] ClockAhead),
    /// The store was not reached since the start, so its settings are unknown.
    #[error("no id can be issued before the store is reached: {reason}")]
    NotStarted {
        /// The store's last error.
        reason: String,
    },
    /// A requested number is 0 or too large.
    #[error("{field} is {count}: ask for 1 to {max}")]
    BadCount {
        /// The name of the number.
        field: &'static str,
        /// Its value.
        count: u64,
        /// The largest allowed.
        max: u64,
    },
    /// The tag has no row.
    #[error("tag \"{tag}\" does not exist: create it first")]
    UnknownTag {
        /// The tag.
        tag: Tag,
    },
    /// The tag has a row already.
    #[error("tag \"{tag}\" exists already: change it, or choose another name")]
    TagExists {
        /// The tag.
        tag: Tag,
    },
    /// The tag's ids do not come from segments, so that it lacks this.
    #[error("tag \"{tag}\" issues {kind} ids and has no {what}")]
    NoSegments {
        /// The tag.
        tag: Tag,
        /// Its kind.
        kind: TagKind,
        /// What it lacks.
        what: &'static str,
    },
    /// The text is no id of the tag.
    #[error("this is no id of tag \"{tag}\": {why}")]
    NotOfTag {
        /// The tag.
        tag: Tag,
        /// Why not.
        why: String,
    },
    /// The ids of the tag have no shard.
    #[error("the ids of tag \"{tag}\" have no shard: only snowflake ids have one")]
    NoShards {
        /// The tag.
        tag: String,
    },
    /// The layout of this server has no such shard.
    #[error(transparent)]
    Shard(#[from] LayoutError),
    /// The tag's ids are texts, and ranges are of numbers.
    #[error("tag \"{tag}\" issues texts and has no ranges of numbers")]
    TextTag {
        /// The tag.
        tag: String,
    },
    /// The tag's format cannot write the number that was taken, which is lost.
    #[error("no id of tag \"{tag}\": {error}")]
    Format {
        /// The tag.
        tag: String,
        /// Why not.
        error: FormatError,
    },
    /// The maximum number of calls is waiting.
    #[error("{max} calls are already waiting for ids, which is the limit")]
    Overloaded {
        /// The maximum number of waiting calls.
        max: u64,
    },
    /// All connections are taken.
    #[error("the server has reached connections-max, its limit on connections")]
    TooManyConnections,
    /// The process holds as much for its peers as it may.
    #[error("the server holds as many bytes for its connections as unread-max allows")]
    TooMuchHeld,
    /// The store did not answer within the time limit of an answer.
    #[error("the store did not answer in time")]
    StoreTimeout,
    /// The server is shutting down.
    #[error("this server is shutting down")]
    ShuttingDown,
    /// More ids per second were requested than a quota allows.
    #[error(
        "the quota of {scope}, {per_second} ids a second, is exhausted; try again in {} ms",
        retry_after.as_millis().max(1)
    )]
    OverQuota {
        /// The scope of the quota.
        scope: QuotaScope,
        /// The quota, in ids per second.
        per_second: u64,
        /// When to try again.
        retry_after: Duration,
    },
    /// The call has no token, and this server requires one.
    #[error("this server requires a token, and the call has none")]
    NoToken,
    /// The caller's token is unknown to this server.
    #[error("the token is unknown, or does not have that name")]
    BadToken,
    /// The caller's token is not an admin's.
    #[error("the token \"{token}\" may not change anything: that needs an admin's token")]
    NotAdmin {
        /// The name of the token.
        token: String,
    },
    /// The caller's token does not allow this call or this tag.
    #[error("the token \"{token}\" may not {what}")]
    NotAllowed {
        /// The name of the token.
        token: String,
        /// The forbidden action.
        what: String,
    },
    /// The tag has no row, and the caller's token may not create it on first use.
    #[error(
        "tag \"{tag}\" does not exist, and the token \"{token}\" may not create it: only an \
         admin's token creates tags"
    )]
    MayNotCreate {
        /// The tag.
        tag: Tag,
        /// The name of the token.
        token: String,
    },
    /// The tag has no row, and the limit of tags created on first use is reached.
    #[error(
        "tag \"{tag}\" does not exist, and {per_minute} tags a minute are created on first use at \
         the most: create it, or try again in {} ms",
        retry_after.as_millis().max(1)
    )]
    TooManyNewTags {
        /// The tag.
        tag: Tag,
        /// The limit per minute.
        per_minute: u32,
        /// When to try again.
        retry_after: Duration,
    },
    /// No token has that name.
    #[error("there is no token named \"{name}\"")]
    UnknownToken {
        /// The name.
        name: String,
    },
    /// The maximum number of tags has quotas.
    #[error("{max} tags already have quotas, which is the limit")]
    TooManyQuotas {
        /// The maximum number.
        max: usize,
    },
    /// The period of a calendar counter has too few numbers left, or none.
    #[error(
        "tag \"{counter}\" has too few numbers left in its period {label}, whose last is {last}, or \
        none: they were issued, or spent by a restore; it goes on in the next period"
    )]
    PeriodSpent {
        /// The name of the counter.
        counter: Tag,
        /// The label of the period.
        label: String,
        /// The last number of the period's tag.
        last: u64,
    },
    /// The tag is already at or above that number, and can only be raised.
    #[error("the next segment of tag \"{tag}\" starts at {max_id}, which can only be raised")]
    NextBehind {
        /// The tag.
        tag: Tag,
        /// The start of its next segment.
        max_id: u64,
    },
    /// The number is not an id of the layout.
    #[error(transparent)]
    Decompose(#[from] DecomposeError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServiceError {
    /// When to try again; `None` if it cannot succeed before something is changed.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Issue(IssueError::Transient(transient)) => Some(transient.retry_after),
            Self::OverQuota { retry_after, .. } | Self::TooManyNewTags { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::Overloaded { .. } | Self::TooManyConnections | Self::TooMuchHeld => {
                Some(OVERLOAD_RETRY)
            }
            Self::NotStarted { .. }
            | Self::StoreTimeout
            | Self::ShuttingDown
            | Self::Store(StoreError::Unavailable { .. } | StoreError::Conflict { .. })
            | Self::Issue(IssueError::Permanent(
                Permanent::Stopped { .. } | Permanent::Misconfigured { .. },
            ))
            | Self::Snowflake(SnowflakeError::Stopped) => Some(STORE_RETRY),
            Self::Snowflake(error) => error.retry_after(),
            _ => None,
        }
    }

    /// Whether memory held no ids, so that a call that waits may succeed.
    #[must_use]
    pub const fn is_worth_waiting(&self) -> bool {
        match self {
            Self::Issue(error) => error.is_retryable(),
            Self::Snowflake(error) => error.retry_after().is_some(),
            _ => false,
        }
    }

    /// Whether the refusal concerns the caller, whatever the request was.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoToken
                | Self::BadToken
                | Self::NotAllowed { .. }
                | Self::MayNotCreate { .. }
                | Self::TooManyNewTags { .. }
                | Self::OverQuota { .. }
                | Self::Overloaded { .. }
        )
    }

    /// Whether the tag issues snowflake ids, so that its ids do not come from segments.
    #[must_use]
    pub const fn has_no_segments(&self) -> bool {
        matches!(
            self,
            Self::Issue(IssueError::Permanent(Permanent::NoSegments { .. }))
        )
    }

    /// Refuses a number above `max`.
    pub(super) const fn check_max(field: &'static str, count: u64, max: u64) -> Result<(), Self> {
        match count > max {
            true => Err(Self::BadCount { field, count, max }),
            false => Ok(()),
        }
    }

    /// Refuses a number above `max`, and 0.
    pub(super) const fn check_count(field: &'static str, count: u64, max: u64) -> Result<(), Self> {
        match count {
            0 => Err(Self::BadCount { field, count, max }),
            count => Self::check_max(field, count, max),
        }
    }

    /// Why no range was issued.
    pub(super) fn of_range(self) -> Self {
        match self {
            Self::Issue(IssueError::Permanent(Permanent::NoSegments {
                tag,
                kind: TagKind::Segment,
                ..
            })) => Self::TextTag {
                tag: tag.as_str().to_owned(),
            },
            Self::Issue(IssueError::Permanent(Permanent::NoSegments { tag, kind, .. })) => {
                let what = "ranges";
                Self::NoSegments { tag, kind, what }
            }
            other => other,
        }
    }

    /// The meaning of a store's error for the tag of the call.
    pub(super) fn of_tag(error: StoreError, tag: &Tag) -> Self {
        let tag = tag.clone();
        match error {
            StoreError::UnknownTag => Self::UnknownTag { tag },
            StoreError::TagExists => Self::TagExists { tag },
            StoreError::NextBehind { tag, max_id } => Self::NextBehind { tag, max_id },
            other => Self::Store(other),
        }
    }
}

impl From<TagFieldError> for ServiceError {
    fn from(error: TagFieldError) -> Self {
        Self::Store(error.into())
    }
}
