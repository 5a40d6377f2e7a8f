//! `Spare`: the loaded tags that never drew a segment. They are the only ones that leave memory: a
//! tag that drew one stays, since it knows its floor.
//!
//! Names that callers invent are forgotten when their time is up, or earlier when there is need of
//! room, the oldest first. Who still holds an allocator that left looks the tag up again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::state::{LOADING_RETRY_MAX, Standing, State, Supply};
use super::{Allocator, Shared};

/// How many tags without a segment are kept before the oldest is forgotten early.
const SPARE_MAX: usize = 10_000;
/// How many are looked at in one go, so that nobody who needs a segment waits for long.
const LOOKS_MAX: usize = 1000;
/// How many are looked at for the sake of one that comes.
const LOOKS_FOR_ROOM_MAX: usize = 64;

/// The tags that never drew a segment, each with the time to look at it, the oldest first. A tag
/// is in it from when it is loaded until it was seen to have drawn one, or left.
#[derive(Default)]
pub(crate) struct Spare {
    tags: Mutex<VecDeque<(Duration, Arc<Allocator>)>>,
    /// How many tags did draw one.
    used: AtomicUsize,
}

/// What was seen of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// It has left the map now.
    Left,
    /// It drew a segment, and stays.
    Drawn,
    /// Somebody may want it still.
    Wanted,
}

impl Spare {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Duration, Arc<Allocator>)>> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Takes note of a tag that was just loaded.
    pub(crate) fn put_spare(&self, allocator: Arc<Allocator>) {
        let at = self.unknown_until();
        self.spare.lock().push_back((at, allocator));
    }

    /// When to look at the next one.
    pub(crate) fn next_spare_at(&self) -> Option<Duration> {
        self.spare.lock().front().map(|(at, _)| *at)
    }

    /// Takes note of a tag that drew its first segment, and stays for good.
    pub(super) fn note_used(&self) {
        // Relaxed, here and below: only the count matters.
        self.spare.used.fetch_add(1, Ordering::Relaxed);
    }

    /// How many tags drew a segment.
    pub(crate) fn used_len(&self) -> usize {
        self.spare.used.load(Ordering::Relaxed)
    }

    /// Lets go of those whose time is up.
    pub(crate) fn forget_spare(&self) {
        let now = self.clock.now();
        for _ in 0..LOOKS_MAX {
            let mut spare = self.spare.lock();
            let is_many = spare.len() > SPARE_MAX;
            let next = spare.pop_front_if(|(at, _)| is_many || *at <= now);
            drop(spare);
            let Some((_, allocator)) = next else { return };
            self.look_at(allocator, now, is_many);
        }
    }

    /// Lets go of one, the oldest that nobody waits for; `false` if there is none.
    pub(crate) fn make_room(&self) -> bool {
        let now = self.clock.now();
        for _ in 0..LOOKS_FOR_ROOM_MAX {
            let next = self.spare.lock().pop_front();
            let Some((_, allocator)) = next else { break };
            if self.look_at(allocator, now, true) == Look::Left {
                return true;
            }
        }
        false
    }

    fn look_at(&self, allocator: Arc<Allocator>, now: Duration, needs_room: bool) -> Look {
        // The map and this.
        let is_held = Arc::strong_count(&allocator) > 2;
        let look = allocator.leave(self, now, needs_room, is_held);
        match look {
            Look::Left => {
                let _former = self.tags.pin().remove(allocator.tag());
                allocator.notify();
            }
            Look::Drawn => {}
            Look::Wanted => self.put_spare(allocator),
        }
        look
    }
}

impl State {
    /// Whether somebody may wait for it, or come back as told.
    fn is_wanted(&self, shared: &Shared, now: Duration) -> bool {
        let wait_max = shared.options.wait_max.saturating_add(LOADING_RETRY_MAX);
        now < self.asked_at.saturating_add(wait_max)
    }
}

impl Allocator {
    /// Leaves the map if nothing is lost by it: whoever still holds this allocator must look the
    /// tag up again. One that `is_held` stays, unless its room is needed.
    fn leave(&self, shared: &Shared, now: Duration, needs_room: bool, is_held: bool) -> Look {
        let mut state = self.lock();
        if !state.lengths.is_unused() {
            return Look::Drawn;
        }
        let is_idle = !state.is_wanted(shared, now) && (needs_room || !is_held);
        let leaves = match state.standing {
            Standing::Retired => return Look::Left,
            // Nobody waits: all were told.
            Standing::Unknown { until } => {
                state.supply == Supply::Idle && (needs_room || now >= until)
            }
            Standing::New | Standing::Unusable { .. } => is_idle,
            // A segment may be on its way.
            Standing::Live => is_idle && state.supply != Supply::Queued,
            Standing::Exhausted => is_idle && needs_room && state.supply == Supply::Idle,
            // Its ids need no store, and nor must its name.
            Standing::OtherKind => false,
        };
        if !leaves {
            return Look::Wanted;
        }
        state.standing = Standing::Retired;
        Look::Left
    }

    /// The driver comes to it: hands it back if it never drew a segment and nobody waits for it
    /// any more.
    pub(crate) fn is_given_up(&self, shared: &Shared) -> bool {
        let mut state = self.lock();
        let is_over = state.standing == Standing::Retired
            || (state.lengths.is_unused() && !state.is_wanted(shared, shared.clock.now()));
        if is_over {
            state.supply = Supply::Idle;
        }
        is_over
    }

    /// Has it taken for one that somebody waits for.
    pub(crate) fn touch(&self, shared: &Shared) {
        self.lock().asked_at = shared.clock.now();
    }

    /// Whether it is not known if it has a row.
    pub(crate) fn is_new(&self) -> bool {
        self.lock().standing == Standing::New
    }

    /// Whether it was found to have no row, and is to be created.
    pub(crate) fn is_absent(&self) -> bool {
        self.lock().is_absent
    }
}
