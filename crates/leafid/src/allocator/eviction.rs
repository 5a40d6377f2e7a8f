//! `EvictionQueue`: the loaded tags that never drew a segment. They are the only ones that leave
//! memory: a tag that drew one stays, since it knows its floor.
//!
//! Names that callers invent are forgotten when their time is up, or earlier when there is need of
//! room, the oldest first. Who still holds an allocator that left looks the tag up again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::state::{LOADING_RETRY_MAX, RefillState, State, TagState};
use super::{Allocator, Shared};

/// How many tags without a segment are kept before the oldest is forgotten early.
const UNUSED_MAX: usize = 10_000;
/// How many are checked in one go, so that nobody who needs a segment waits for long.
const EVICTIONS_MAX: usize = 1000;
/// How many are checked to make room for one new tag.
const EVICTIONS_FOR_ROOM_MAX: usize = 64;

/// The tags that never drew a segment, each with the time to check it, the oldest first. A tag is in
/// it from when it is loaded until it was seen to have drawn one, or was evicted.
#[derive(Default)]
pub(crate) struct EvictionQueue {
    tags: Mutex<VecDeque<(Duration, Arc<Allocator>)>>,
    /// How many tags did draw one.
    used: AtomicUsize,
}

/// What came of the attempt to evict a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Eviction {
    /// It has left the map now.
    Evicted,
    /// It drew a segment, and stays.
    InUse,
    /// Somebody may want it still.
    Wanted,
}

impl EvictionQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Duration, Arc<Allocator>)>> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Takes note of a tag that was just loaded.
    pub(crate) fn track_unused(&self, allocator: Arc<Allocator>) {
        let at = self.unknown_until();
        self.eviction_queue.lock().push_back((at, allocator));
    }

    /// When to check the next one.
    pub(crate) fn next_eviction_at(&self) -> Option<Duration> {
        self.eviction_queue.lock().front().map(|(at, _)| *at)
    }

    /// Takes note of a tag that drew its first segment, and stays for good.
    pub(super) fn note_used(&self) {
        // Relaxed, here and below: only the count matters.
        self.eviction_queue.used.fetch_add(1, Ordering::Relaxed);
    }

    /// How many tags drew a segment.
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

    /// Evicts one, the oldest that nobody waits for; `false` if there is none.
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
        // The map and this.
        let is_held = Arc::strong_count(&allocator) > 2;
        let eviction = allocator.retire_if_unused(self, now, needs_room, is_held);
        match eviction {
            Eviction::Evicted => {
                let _former = self.tags.pin().remove(allocator.tag());
                allocator.notify();
            }
            Eviction::InUse => {}
            Eviction::Wanted => self.track_unused(allocator),
        }
        eviction
    }
}

impl State {
    /// Whether somebody may wait for it, or come back as told.
    fn is_wanted(&self, shared: &Shared, now: Duration) -> bool {
        let wait_max = shared.options.wait_max.saturating_add(LOADING_RETRY_MAX);
        now < self.demands.missed_at.saturating_add(wait_max)
    }
}

impl Allocator {
    /// Leaves the map if nothing is lost by it: whoever still holds this allocator must look the
    /// tag up again. One that `is_held` stays, unless its room is needed.
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
        let leaves = match state.tag_state {
            TagState::Retired => return Eviction::Evicted,
            // Nobody waits: all were told.
            TagState::Unknown { until } => {
                state.refill_state == RefillState::Idle && (needs_room || now >= until)
            }
            TagState::New | TagState::Unusable { .. } => is_idle,
            // A segment may be on its way.
            TagState::Live => is_idle && state.refill_state != RefillState::Queued,
            TagState::Exhausted => is_idle && needs_room && state.refill_state == RefillState::Idle,
            // Its ids need no store, and nor must its name.
            TagState::OtherKind => false,
        };
        if !leaves {
            return Eviction::Wanted;
        }
        state.tag_state = TagState::Retired;
        Eviction::Evicted
    }

    /// The driver comes to it: hands it back if it never drew a segment and nobody waits for it
    /// any more.
    pub(crate) fn is_abandoned(&self, shared: &Shared) -> bool {
        let mut state = self.lock();
        let is_over = state.tag_state == TagState::Retired
            || (state.bounds.is_unused() && !state.is_wanted(shared, shared.clock.now()));
        if is_over {
            state.refill_state = RefillState::Idle;
        }
        is_over
    }

    /// Has it taken for one that somebody waits for.
    pub(crate) fn touch(&self, shared: &Shared) {
        self.lock().demands.missed_at = shared.clock.now();
    }

    /// Whether it is not known if it has a row.
    pub(crate) fn is_new(&self) -> bool {
        self.lock().tag_state == TagState::New
    }

    /// Whether it was found to have no row, and is to be created.
    pub(crate) fn is_absent(&self) -> bool {
        self.lock().row.is_absent
    }
}
