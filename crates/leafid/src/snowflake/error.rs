//! Why no snowflake id was issued.

use std::sync::Arc;
use std::time::Duration;

use crate::error_kind::ErrorKind;
use crate::layout::Layout;
use crate::store::StoreError;

/// Why no snowflake id was issued.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::SnowflakeError;
///
/// let error = SnowflakeError::Ahead {
///     max: Duration::from_secs(1),
///     retry_after: Duration::from_millis(3),
/// };
/// assert!(error.is_retryable());
/// assert_eq!(error.retry_after(), Some(Duration::from_millis(3)));
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SnowflakeError {
    /// This process holds no worker id, or its lease is exhausted.
    #[error("no worker id to issue with: {reason}{}", retry_advice(*kind, *retry_after))]
    NoWorker {
        /// The reason.
        reason: Arc<str>,
        /// What to do about it.
        kind: ErrorKind,
        /// When to try again.
        retry_after: Duration,
        /// What the registry or the journal said, if it was one of them.
        source: Option<Arc<StoreError>>,
    },
    /// More ids were taken than the layout has for the elapsed time.
    #[error(
        "ids are {} ms ahead of the clock, which is the limit; try again in {} ms, or use the layout wide",
        max.as_millis(),
        retry_after.as_millis().max(1)
    )]
    Ahead {
        /// How far ids may run ahead.
        max: Duration,
        /// When to try again.
        retry_after: Duration,
    },
    /// The clock is behind the last id, and the policy is not to borrow.
    #[error("the clock is {} ms behind the last id; the policy borrow would continue", by.as_millis().max(1))]
    ClockBehind {
        /// How far it is behind.
        by: Duration,
    },
    /// The layout's time has run out, or has not begun.
    #[error("the layout {layout} has no bits for the present time: use another epoch or layout")]
    Ended {
        /// The layout.
        layout: Layout,
    },
    /// A call requested no ids, or more than can ever be taken at once.
    #[error("cannot issue {count} snowflake ids at once: ask for 1 to {max}")]
    BadCount {
        /// How many it requested.
        count: u64,
        /// The maximum.
        max: u64,
    },
    /// The worker id was given back.
    #[error("snowflake ids have been stopped in this process")]
    Stopped,
}

impl SnowflakeError {
    /// What to do about it.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use leafid::{ErrorKind, SnowflakeError};
    ///
    /// let error = SnowflakeError::ClockBehind { by: Duration::from_millis(3) };
    /// assert_eq!(error.kind(), ErrorKind::Busy);
    /// ```
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoWorker { kind, .. } => *kind,
            Self::Ahead { .. } | Self::ClockBehind { .. } => ErrorKind::Busy,
            Self::Ended { .. } => ErrorKind::Exhausted,
            Self::BadCount { .. } => ErrorKind::InvalidRequest,
            Self::Stopped => ErrorKind::Stopped,
        }
    }

    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// When to try again; `None` for never. The registry is retried even while its set-up has to be
    /// changed.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::NoWorker { retry_after, .. } | Self::Ahead { retry_after, .. } => {
                Some(*retry_after)
            }
            Self::ClockBehind { by } => Some(*by),
            Self::Ended { .. } | Self::BadCount { .. } | Self::Stopped => None,
        }
    }
}

/// Nothing where a retry alone does not help: the reason says what to change.
fn retry_advice(kind: ErrorKind, retry_after: Duration) -> String {
    match kind.is_retryable() {
        true => format!("; try again in {} ms", retry_after.as_millis().max(1)),
        false => String::new(),
    }
}
