//! `LateRows`: rows of tags that were read when their callers had given up.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use leafid::Tag;
use leafid::store::TagRecord;

/// Rows that were read when their callers had given up: where the store always needs longer than
/// `wait_max`, no call would ever succeed.
#[derive(Debug, Default)]
pub(super) struct LateRows(Mutex<HashMap<Tag, (Option<TagRecord>, Duration)>>);

impl LateRows {
    pub(super) const KEPT_FOR: Duration = Duration::from_secs(5);
    const LEN_MAX: usize = 1000;

    pub(super) fn keep(&self, tag: Tag, row: Option<TagRecord>, now: Duration) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() >= Self::LEN_MAX {
            rows.clear();
        }
        rows.insert(tag, (row, now.saturating_add(Self::KEPT_FOR)));
    }

    /// The row of a tag, once.
    pub(super) fn take(&self, tag: &Tag, now: Duration) -> Option<Option<TagRecord>> {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (row, until) = rows.remove(tag)?;
        (now < until).then_some(row)
    }
}
