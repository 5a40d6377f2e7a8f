//! `Failures`: the failed calls for one tag.

use std::sync::Arc;
use std::time::Duration;

use crate::store::StoreError;

/// The failed calls for one tag.
#[derive(Default)]
pub(in crate::allocator) struct Failures {
    /// How many calls failed.
    pub(in crate::allocator) total: u64,
    /// How many in a row, since the last success.
    pub(in crate::allocator) in_row: u32,
    /// The tag fails while the store serves others, so that its failures say nothing about the
    /// store. Until one call for it succeeds.
    pub(in crate::allocator) fails_alone: bool,
    /// The last error; `None` after a success.
    pub(in crate::allocator) last_error: Option<Arc<StoreError>>,
    /// When the last call began.
    called_at: Duration,
    /// When the first of the failed calls in a row began.
    since: Option<Duration>,
}

impl Failures {
    /// A call begins.
    pub(in crate::allocator) fn call_begins(&mut self, now: Duration) {
        self.called_at = now;
    }

    /// A call failed; `has_served_since` returns whether the store has served others since a time.
    pub(in crate::allocator) fn note(
        &mut self,
        error: Arc<StoreError>,
        has_served_since: impl Fn(Duration) -> bool,
    ) {
        self.total += 1;
        self.in_row = self.in_row.saturating_add(1);
        self.last_error = Some(error);
        // A call that hung says nothing about a store that has served others since it began.
        let since = *self.since.get_or_insert(self.called_at);
        self.fails_alone |= has_served_since(since);
    }

    /// The store has answered: earlier failures no longer count.
    pub(in crate::allocator) fn forget(&mut self) {
        self.in_row = 0;
        self.since = None;
        self.fails_alone = false;
        self.last_error = None;
    }
}
