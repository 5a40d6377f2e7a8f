//! `EvictionQueue`: the loaded tags that never reserved a segment, which are evicted from memory. A
//! tag with a segment stays while it has a row, since it knows its floor (`idle.rs`).
//!
//! Names that callers invent are forgotten after a time, or earlier if room is needed, oldest
//! first. A caller with an evicted allocator looks the tag up again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::state::{LOADING_RETRY_MAX, RefillState, State, TagState};
use super::{Allocator, Shared};

/// How many tags without a segment are kept before the oldest is forgotten early.
const UNUSED_MAX: usize = 10_000;
/// How many are checked in one go, so that tags which need a segment do not wait for long.
const EVICTIONS_MAX: usize = 1000;
/// How many are checked to make room for one new tag.
const EVICTIONS_FOR_ROOM_MAX: usize = 64;

/// The tags that never reserved a segment, each with the time to check it, oldest first. A tag is
/// in it from loading until it was seen with a segment, or was evicted.
#[derive(Default)]
pub(crate) struct EvictionQueue {
    tags: Mutex<VecDeque<(Duration, Arc<Allocator>)>>,
    /// The number of tags with a segment.
    pub(super) used: AtomicUsize,
}

/// The outcome of trying to evict a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Eviction {
    /// It has been removed from the map.
    Evicted,
    /// It has a segment, and is no longer in this queue.
    InUse,
    /// It may still be wanted.
    Wanted,
}

impl EvictionQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Duration, Arc<Allocator>)>> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Adds a tag that was just loaded.
    pub(crate) fn track_unused(&self, allocator: Arc<Allocator>) {
        let at = self.unknown_until();
        self.eviction_queue.lock().push_back((at, allocator));
    }

    /// When to check the next one.
    pub(crate) fn next_eviction_at(&self) -> Option<Duration> {
        self.eviction_queue.lock().front().map(|(at, _)| *at)
    }

    /// Counts a tag that got its first segment.
    pub(super) fn note_used(&self) {
        // Relaxed, here and below: only the count matters.
        self.eviction_queue.used.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of tags with a segment.
    pub(crate) fn used_len(&self) -> usize {
        self.eviction_queue.used.load(Ordering::Relaxed)
    }

    /// Evicts those whose time is up.
    pub(crate) fn evict_expired(&self) {
        let now = self.clock.now();
        for _ in 0..EVICTIONS_MAX {
            let mut queue = self.eviction_queue.lock();
            let is_many = queue.len() > UNUSED_MAX;
            let next = queue.pop_front_if(|(at, _)| is_many || *at <= now);
            drop(queue);
            let Some((_, allocator)) = next else { return };
            self.try_evict(allocator, now, is_many);
        }
    }

    /// Evicts the oldest one that no caller waits for; `false` if there is none.
    pub(crate) fn make_room(&self) -> bool {
        let now = self.clock.now();
        for _ in 0..EVICTIONS_FOR_ROOM_MAX {
            let next = self.eviction_queue.lock().pop_front();
            let Some((_, allocator)) = next else { break };
            if self.try_evict(allocator, now, true) == Eviction::Evicted {
                return true;
            }
        }
        false
    }

    fn try_evict(&self, allocator: Arc<Allocator>, now: Duration, needs_room: bool) -> Eviction {
        // The map and this function hold one reference each.
        let is_held = Arc::strong_count(&allocator) > 2;
        let eviction = allocator.retire_if_unused(self, now, needs_room, is_held);
        match eviction {
            Eviction::Evicted => {
                let _former = self.tags.pin().remove(allocator.tag());
                allocator.notify();
            }
            Eviction::InUse => self.track_used(allocator),
            Eviction::Wanted => self.track_unused(allocator),
        }
        eviction
    }
}

impl State {
    /// Whether a caller may wait for it, or retry as it was told.
    pub(super) fn is_wanted(&self, shared: &Shared, now: Duration) -> bool {
        let wait_max = shared.options.wait_max.saturating_add(LOADING_RETRY_MAX);
        now < self.demands.missed_at.saturating_add(wait_max)
    }
}

impl Allocator {
    /// Removes the tag from the map if that loses nothing: callers that still hold this allocator
    /// must look the tag up again. One that `is_held` stays, unless its room is needed.
    fn retire_if_unused(
        &self,
        shared: &Shared,
        now: Duration,
        needs_room: bool,
        is_held: bool,
    ) -> Eviction {
        let mut state = self.lock();
        if !state.bounds.is_unused() {
            return Eviction::InUse;
        }
        let is_idle = !state.is_wanted(shared, now) && (needs_room || !is_held);
        // Its ids need no store, so neither must its name; and it must not become a segment tag.
        if state.row.was_snowflake && state.tag_state != TagState::Retired {
            return Eviction::Wanted;
        }
        let leaves = match state.tag_state {
            TagState::Retired => return Eviction::Evicted,
            // No caller waits: all were answered.
            TagState::Unknown { until } => {
                state.refill_state == RefillState::Idle && (needs_room || now >= until)
            }
            TagState::New | TagState::Unusable { .. } => is_idle,
            // A segment may be on its way.
            TagState::Live => is_idle && state.refill_state != RefillState::Queued,
            TagState::Exhausted => is_idle && needs_room && state.refill_state == RefillState::Idle,
            // Kept above.
            TagState::OtherKind { .. } => false,
        };
        if !leaves {
            return Eviction::Wanted;
        }
        state.tag_state = TagState::Retired;
        Eviction::Evicted
    }

    /// The driver takes it up: hands it back if it never had a segment and no caller waits for it.
    pub(crate) fn is_abandoned(&self, shared: &Shared) -> bool {
        let mut state = self.lock();
        let is_over = state.tag_state == TagState::Retired
            || (state.bounds.is_unused() && !state.is_wanted(shared, shared.clock.now()));
        if is_over {
            state.refill_state = RefillState::Idle;
        }
        is_over
    }

    /// Marks it as wanted by a caller.
    pub(crate) fn touch(&self, shared: &Shared) {
        self.lock().demands.missed_at = shared.clock.now();
    }

    /// Whether it is unknown if it has a row.
    pub(crate) fn is_new(&self) -> bool {
        self.lock().tag_state == TagState::New
    }

    /// Whether it has no row, and is to be created.
    pub(crate) fn is_absent(&self) -> bool {
        self.lock().row.is_absent
    }
}
