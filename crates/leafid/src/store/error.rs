//! `StoreError`: why a call to a store failed. What kind of error each is, is in `error_kind.rs`.

use std::error::Error as StdError;
use std::sync::Arc;

use super::record::format_in_words;
use super::{TagFieldError, TagKind};
use crate::limit::Limit;
use crate::tag::Tag;

/// Why a call to a store failed. The vendor's error, if any, is the source.
///
/// # Example
///
/// ```
/// use leafid::store::StoreError;
///
/// let error = StoreError::unavailable("cannot reach mysql://db1:3306/leaf", "timed out");
/// assert!(error.is_retryable());
/// assert_eq!(error.to_string(), "cannot reach mysql://db1:3306/leaf");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The tag has no row.
    #[error("the tag has no row in the store")]
    UnknownTag,
    /// The tag has a row already.
    #[error("the tag exists already")]
    TagExists,
    /// A deleted tag of this name had a kind that no other may follow; nothing was created.
    #[error(
        "a deleted tag of this name had the kind {former}, and its ids could repeat: choose \
        another name, or create it with that kind"
    )]
    FormerKind {
        /// That kind.
        former: TagKind,
    },
    /// A deleted tag of this name had another format; nothing was created.
    #[error(
        "a deleted tag of this name had {}, and its ids could repeat: choose another name, or \
        create it {}",
        format_in_words(former.as_deref()),
        if former.is_some() { "with that format" } else { "without a format" }
    )]
    FormerFormat {
        /// That format; `None` for plain ids.
        former: Option<Arc<str>>,
    },
    /// The segment would exceed the tag's limit; nothing was reserved.
    #[error("the tag's limit is reached at {max_id}")]
    LimitReached {
        /// The first id not yet given to any segment.
        max_id: u64,
    },
    /// The tag has come that far already, and can only be raised; it was not.
    #[error(
        "the next segment of tag \"{tag}\" starts at {max_id}, which can only be raised: choose a \
        larger number"
    )]
    NextBehind {
        /// The tag.
        tag: Tag,
        /// Where its next segment starts, as far as this process knows.
        max_id: u64,
    },
    /// The tag ends before that number; it was not raised.
    #[error(
        "the next segment of tag \"{tag}\" cannot start at {next}: its limit is {}, and {} leaves \
        it no number",
        limit.largest(),
        limit.largest() + 1
    )]
    NextBeyond {
        /// The tag.
        tag: Tag,
        /// Where it was to start.
        next: u64,
        /// The tag's limit.
        limit: Limit,
    },
    /// The row holds an invalid value, such as a step of 0.
    #[error("{message}")]
    BadRow {
        /// Which tag and what is wrong with it.
        message: String,
    },
    /// A setting of the tag is not what it may be; nothing was changed.
    #[error(transparent)]
    BadField(#[from] TagFieldError),
    /// The store cannot do this as it is configured; the message says what to do.
    #[error("{message}")]
    Unsupported {
        /// What is missing and what to do.
        message: String,
    },
    /// Another transaction was in the way (a deadlock, a conflict between nodes, a lock held for
    /// too long). Nothing was changed, and the store is well: the same call may succeed at once.
    #[error("{message}")]
    Conflict {
        /// What failed, and where; never a password.
        message: String,
        /// The vendor's error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The store cannot be used now, or the outcome of a call is unknown.
    #[error("{message}")]
    Unavailable {
        /// What failed, and where; never a password.
        message: String,
        /// The vendor's error.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl StoreError {
    /// The store cannot be used now, or the outcome of a call is unknown.
    pub fn unavailable(
        message: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Unavailable {
            message: message.into(),
            source: source.into(),
        }
    }
}
