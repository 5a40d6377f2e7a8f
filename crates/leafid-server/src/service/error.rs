//! `ServiceError`: why a call to [`Service`](super::Service) was not done, as meanings.

use leafid::store::StoreError;
use leafid::{DecomposeError, IssueError, Never, SnowflakeError, Tag, WorkerId};

/// Why a call was not done. Front ends map each meaning to their wire.
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
    /// Segment ids are switched off.
    #[error("segment ids are off on this server: set segment = true, or ask another server")]
    SegmentOff,
    /// Snowflake ids are not served.
    #[error("snowflake ids are off on this server: set snowflake = true, or ask another server")]
    SnowflakeOff,
    /// No snowflake id was issued.
    #[error(transparent)]
    Snowflake(#[from] SnowflakeError),
    /// The registry has no row of that worker id.
    #[error("worker id {worker} has no row in the registry: nobody holds it")]
    UnknownWorker {
        /// The worker id.
        worker: WorkerId,
    },
    /// The holder of a worker id lives.
    #[error(
        "worker id {worker} is in use: {holder}; stop that server, and it gives the worker id back"
    )]
    WorkerAlive {
        /// The worker id.
        worker: WorkerId,
        /// Who holds it, and how that is known.
        holder: String,
    },
    /// The row of a worker id changed while it was being released.
    #[error("the row of worker id {worker} has just changed: look at it again")]
    WorkerChanged {
        /// The worker id.
        worker: WorkerId,
    },
    /// The store was not reached since the start, so its settings are unknown.
    #[error("no id can be issued before the store is reached: {reason}")]
    NotStarted {
        /// What the store said last.
        reason: String,
    },
    /// A number asked for is 0 or too large.
    #[error("{field} is {count}: ask for 1 to {max}")]
    BadCount {
        /// Which number.
        field: &'static str,
        /// What it was.
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
    /// The tag issues snowflake ids, and has no such thing.
    #[error("tag \"{tag}\" issues snowflake ids and has no {what}")]
    SnowflakeTag {
        /// The tag.
        tag: Tag,
        /// What it does not have.
        what: &'static str,
    },
    /// The number is no id of the layout.
    #[error(transparent)]
    Decompose(#[from] DecomposeError),
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServiceError {
    /// Whether the tag issues snowflake ids, so that its ids do not come from segments.
    #[must_use]
    pub const fn has_no_segments(&self) -> bool {
        matches!(
            self,
            Self::Issue(IssueError::Never(Never::NoSegments { .. }))
        )
    }

    /// Why no run was given.
    pub(super) fn of_run(error: IssueError) -> Self {
        match error {
            IssueError::Never(Never::NoSegments { tag }) => {
                let what = "runs";
                Self::SnowflakeTag { tag, what }
            }
            other => Self::Issue(other),
        }
    }

    /// What a store's error means for the tag that it was asked about.
    pub(super) fn of_tag(error: StoreError, tag: &Tag) -> Self {
        let tag = tag.clone();
        match error {
            StoreError::UnknownTag => Self::UnknownTag { tag },
            StoreError::TagExists => Self::TagExists { tag },
            other => Self::Store(other),
        }
    }
}
