//! Tags that have drawn segments and are idle. Their rows are read again each hour, hundreds per
//! statement: a row that is gone, as that of a calendar counter's period that is over, lets its tag
//! be evicted, or such tags would fill `tags_max` in time.
//!
//! # Why no number comes twice
//!
//! *From memory.* A tag leaves only without a row: then the buffer is closed, and its cursor is past
//! all that it held. Being retired is final, so nothing is put into it again.
//!
//! *From the store.* The floor is kept in [`Floors`](super::floors::Floors) under the lock that
//! retires the allocator, and before the name is free for another one. That one takes the floor
//! over when it reads its row, which it must do before it reserves anything; a reservation past
//! memory takes it over, too. So a row that comes back lower is noticed as if the tag had stayed.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::state::{RefillState, State, TagState};
use super::{Allocator, Shared};
use crate::store::{READ_LEN_MAX, StoreError};

/// How often an idle tag is looked at. Periods are kept for a day and longer.
const CHECK_INTERVAL: Duration = Duration::from_secs(3600);

/// The tags that have drawn segments, each with the time of the next look, the earliest first.
/// Each loaded tag is in this queue, or in the eviction queue, or being looked at.
#[derive(Default)]
pub(crate) struct UsedTags(Mutex<VecDeque<(Duration, Arc<Allocator>)>>);

impl UsedTags {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Duration, Arc<Allocator>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Adds a tag that was found to have drawn a segment.
    pub(super) fn track_used(&self, allocator: Arc<Allocator>) {
        let at = self.clock.now().saturating_add(CHECK_INTERVAL);
        self.used_tags.lock().push_back((at, allocator));
    }

    /// Up to a statement's worth of the tags to look at now.
    fn used_tags_due(&self) -> Vec<Arc<Allocator>> {
        let now = self.clock.now();
        let mut queue = self.used_tags.lock();
        let next = || queue.pop_front_if(|(at, _)| *at <= now);
        let due = std::iter::from_fn(next).take(READ_LEN_MAX);
        due.map(|(_, allocator)| allocator).collect()
    }

    /// Reads the rows of idle tags again whose time has come, and evicts those that have none.
    pub(crate) async fn check_idle(&self) -> Result<(), StoreError> {
        loop {
            let due = self.used_tags_due();
            if due.is_empty() {
                return Ok(());
            }
            self.check_some(due).await?;
        }
    }

    async fn check_some(&self, due: Vec<Arc<Allocator>>) -> Result<(), StoreError> {
        let (used, idle): (Vec<_>, Vec<_>) = due.into_iter().partition(|one| one.is_in_use());
        let read = match idle.is_empty() {
            true => Ok(()),
            false => Allocator::refresh_all(self, &idle).await,
        };
        for allocator in used.into_iter().chain(idle) {
            if !self.evict_used(&allocator) {
                self.track_used(allocator);
            }
        }
        read
    }

    fn evict_used(&self, allocator: &Arc<Allocator>) -> bool {
        // The map and the caller hold one reference each.
        let is_held = Arc::strong_count(allocator) > 2;
        if !allocator.retire_if_gone(self, is_held) {
            return false;
        }
        let _former = self.tags.pin().remove(allocator.tag());
        // Relaxed: as in `note_used`.
        self.eviction_queue.used.fetch_sub(1, Ordering::Relaxed);
        allocator.notify();
        true
    }
}

impl Allocator {
    /// Retires a tag that has no row, and that nobody uses or holds, once its floor is kept.
    fn retire_if_gone(&self, shared: &Shared, is_held: bool) -> bool {
        let mut state = self.lock();
        let is_gone = matches!(state.tag_state, TagState::Unknown { .. })
            && state.refill_state == RefillState::Idle
            && !state.bounds.is_suspect
            && !state.row.was_snowflake
            && state.row.is_plain()
            && self.buffer.remaining() == 0;
        let is_idle = !is_held && !state.is_wanted(shared, shared.clock.now());
        if !is_gone || !is_idle || !shared.floors.keep(&self.tag, state.kept_floor()) {
            return false;
        }
        state.tag_state = TagState::Retired;
        true
    }

    /// Takes over how far an evicted tag of this name had come.
    pub(super) fn recall(&self, shared: &Shared, state: &mut State) {
        if let Some(kept) = shared.floors.of(&self.tag) {
            state.bounds.recall(kept);
            state.row.recall(kept);
        }
    }

    /// A call past memory may end after its allocator was retired: the successor must learn of it.
    pub(super) fn keep_if_retired(&self, shared: &Shared, state: &State) {
        if state.tag_state == TagState::Retired {
            // Without a place there, it is as after a restart.
            let _is_kept = shared.floors.keep(&self.tag, state.kept_floor());
        }
    }
}
