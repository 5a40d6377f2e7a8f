//! Which stable code each error of the service has.

use leafid::format::FormatError;
use leafid::store::{StoreError, TagKind};
use leafid::{IssueError, LayoutError, Permanent, SnowflakeError, TransientReason};

use super::ServiceError;
use super::code::Code;

impl ServiceError {
    /// The stable code of the error, the same on all front ends.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Issue(error) => of_issue(error),
            Self::SegmentOff | Self::SnowflakeOff => Code::ModeOff,
            Self::Snowflake(error) => of_snowflake(error),
            Self::UnknownWorker { .. } => Code::UnknownWorker,
            Self::WorkerAlive { .. } => Code::WorkerAlive,
            Self::WorkerHeld { .. } => Code::WorkerHeld,
            Self::WorkerChanged { .. } => Code::WorkerChanged,
            Self::ClockAhead(_) => Code::ClockAhead,
            Self::NotStarted { .. } | Self::StoreTimeout => Code::StoreUnavailable,
            Self::BadCount { .. } => Code::BadCount,
            Self::UnknownTag { .. } => Code::UnknownTag,
            Self::TagExists { .. } => Code::TagExists,
            Self::NoSegments { kind, .. } => of_kind(*kind),
            Self::NoShards { .. } | Self::Shard(LayoutError::NoShards { .. }) => Code::NoShards,
            Self::NotOfTag { .. } | Self::Shard(_) => Code::BadField,
            Self::TextTag { .. } => Code::TextTag,
            Self::Format { error, .. } => of_format(error),
            Self::Overloaded { .. } | Self::TooManyConnections | Self::TooMuchHeld => {
                Code::Overloaded
            }
            Self::ShuttingDown => Code::ShuttingDown,
            Self::OverQuota { .. } => Code::OverQuota,
            Self::NoToken => Code::NoToken,
            Self::BadToken => Code::BadToken,
            Self::NotAdmin { .. } | Self::MayNotCreate { .. } => Code::NotAdmin,
            Self::TooManyNewTags { .. } => Code::TooManyNewTags,
            Self::NotAllowed { .. } => Code::NotAllowed,
            Self::UnknownToken { .. } => Code::UnknownToken,
            Self::TooManyQuotas { .. } => Code::TooManyQuotas,
            Self::PeriodSpent { .. } => Code::LimitReached,
            Self::NextBehind { .. } => Code::NextBehind,
            Self::Decompose(_) => Code::BadField,
            Self::Store(error) => of_store(error),
        }
    }
}

const fn of_issue(error: &IssueError) -> Code {
    match error {
        IssueError::Transient(transient) => match transient.reason {
            TransientReason::StoreFailed(_) => Code::StoreUnavailable,
            TransientReason::TooManyTags(_) => Code::Overloaded,
            _ => Code::NotYet,
        },
        IssueError::Permanent(permanent) => match permanent {
            Permanent::BadTag(_) => Code::BadTag,
            Permanent::UnknownTag { .. } => Code::UnknownTag,
            Permanent::LimitReached { .. } => Code::LimitReached,
            Permanent::BadRow { .. } => Code::BadRow,
            Permanent::NoSegments { kind, .. } => of_kind(*kind),
            Permanent::BadCount { .. } => Code::BadCount,
            Permanent::Stopped { .. } => Code::ShuttingDown,
            // Misconfigured, or a reason that is new.
            _ => Code::StoreUnavailable,
        },
    }
}

const fn of_kind(kind: TagKind) -> Code {
    match kind {
        TagKind::Snowflake => Code::SnowflakeTag,
        // A calendar counter, or a family.
        _ => Code::TextTag,
    }
}

const fn of_format(error: &FormatError) -> Code {
    match error {
        FormatError::TooLong(_) => Code::LimitReached,
        FormatError::Unavailable(_) => Code::NoWorker,
        FormatError::MissingKey(_) => Code::MissingKey,
        _ => Code::BadRow,
    }
}

const fn of_snowflake(error: &SnowflakeError) -> Code {
    match error {
        SnowflakeError::NoWorker { .. } => Code::NoWorker,
        SnowflakeError::ClockBehind { .. } => Code::ClockBehind,
        SnowflakeError::Ended { .. } => Code::LayoutEnded,
        SnowflakeError::BadCount { .. } => Code::BadCount,
        SnowflakeError::Stopped => Code::ShuttingDown,
        // Ahead of the clock, or a reason that is new.
        _ => Code::NotYet,
    }
}

const fn of_store(error: &StoreError) -> Code {
    match error {
        StoreError::UnknownTag => Code::UnknownTag,
        StoreError::TagExists => Code::TagExists,
        StoreError::FormerKind { former } => of_kind(*former),
        StoreError::FormerFormat { .. } => Code::FormerFormat,
        StoreError::LimitReached { .. } | StoreError::NextBeyond { .. } => Code::LimitReached,
        StoreError::BadRow { .. } => Code::BadRow,
        StoreError::BadField(_) => Code::BadField,
        StoreError::NextBehind { .. } => Code::NextBehind,
        StoreError::Unsupported { .. } => Code::Unsupported,
        // Unavailable, in conflict, or a reason that is new.
        _ => Code::StoreUnavailable,
    }
}
