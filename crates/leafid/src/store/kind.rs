//! What to do about an error of a store, and how a store reports that it is misconfigured.

use std::error::Error as StdError;

use super::StoreError;
use crate::error_kind::ErrorKind;

/// The store's set-up has to be changed. The source of a [`StoreError::Unavailable`], because that
/// can be done while programs wait.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Misconfiguration(Box<dyn StdError + Send + Sync>);

impl StoreError {
    /// The store answers, and refuses this program until a password, a permission or a table is
    /// changed.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{ErrorKind, store::StoreError};
    ///
    /// let error = StoreError::misconfigured("user or password is wrong", "28P01");
    /// assert_eq!(error.kind(), ErrorKind::Misconfigured);
    /// assert!(!error.is_retryable() && error.may_recover());
    /// ```
    pub fn misconfigured(
        message: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::unavailable(message, Misconfiguration(source.into()))
    }

    /// What to do about it.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{ErrorKind, store::StoreError};
    ///
    /// let error = StoreError::unavailable("cannot reach mysql://db1:3306/leaf", "timed out");
    /// assert_eq!(error.kind(), ErrorKind::StoreDown);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownTag => ErrorKind::NotFound,
            Self::TagExists => ErrorKind::AlreadyExists,
            Self::LimitReached { .. } => ErrorKind::Exhausted,
            Self::BadField(_)
            | Self::FormerKind { .. }
            | Self::FormerFormat { .. }
            | Self::NextBehind { .. }
            | Self::NextBeyond { .. } => ErrorKind::InvalidRequest,
            Self::BadRow { .. } | Self::Unsupported { .. } => ErrorKind::Misconfigured,
            Self::Conflict { .. } => ErrorKind::Busy,
            Self::Unavailable { source, .. } => {
                if source.is::<Misconfiguration>() || self.weak_store().is_some() {
                    ErrorKind::Misconfigured
                } else {
                    ErrorKind::StoreDown
                }
            }
        }
    }

    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// Whether the store may answer the same call later: it is down, there was a conflict, or its
    /// set-up may be corrected meanwhile. Drivers continue to try such a store.
    #[must_use]
    pub const fn may_recover(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Conflict { .. })
    }
}
