//! The rate limit of creation on first use: a request for an id of an unknown tag creates the tag.
//!
//! Who may create tags that way, and how many per minute, is decided here, so that callers who
//! invent names neither fill the store nor delay others. Tags that an operator creates are not
//! counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leafid::store::TagSettings;
use leafid::{Clock, Tag};

use super::ServiceError;
use super::quota::Bucket;

/// Creation on first use, and its counters.
pub(super) struct FirstUse {
    /// The settings of tags created on first use; `None`: none are created.
    pub(super) settings: Option<TagSettings>,
    pub(super) per_minute: u32,
    rate: Bucket,
    clock: Arc<dyn Clock>,
    pub(super) created: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl FirstUse {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        settings: Option<TagSettings>,
        per_minute: u32,
    ) -> Self {
        Self {
            settings,
            per_minute,
            rate: Bucket::per_minute(per_minute.into()),
            clock,
            created: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    pub(super) fn check_rate(&self, tag: &Tag) -> Result<(), ServiceError> {
        let checked = self.rate.check(self.clock.now());
        checked.map_err(|retry_after| {
            // Relaxed, here and below: only the count matters.
            self.refused.fetch_add(1, Ordering::Relaxed);
            ServiceError::TooManyNewTags {
                tag: tag.clone(),
                per_minute: self.per_minute,
                retry_after,
            }
        })
    }

    pub(super) fn note_created(&self, tag: &Tag) {
        self.rate.charge(1, self.clock.now());
        self.created.fetch_add(1, Ordering::Relaxed);
        tracing::info!(target: "audit", tag = tag.to_string(), "tag created on first use");
    }
}
