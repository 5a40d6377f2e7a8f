//! `Availability`: whether the store answers, as far as driver and callers know.
//!
//! It goes down when a reservation or a probe fails, and comes up when one of them succeeds. Other
//! calls prove neither: a replica answers reads, and a list may fail for being long. Such a failure
//! makes the driver probe the store at once. Nor does a tag prove anything that continues to fail
//! while reservations of others succeed: its row may be locked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::allocator::Shared;
use crate::event::Event;
use crate::store::{StoreError, StoreState};

/// The state of the store.
#[derive(Debug, Default)]
pub(crate) struct Availability {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    state: StoreState,
    /// The server that the last probe went to.
    location: Option<String>,
    /// When a reservation last succeeded; as good as a probe.
    reserved_at: Option<Duration>,
    /// It came up, and the driver has not woken the waiting tags yet.
    has_returned: bool,
    /// A call that proves nothing has failed: the driver must probe at once.
    is_suspect: bool,
}

impl Availability {
    pub(crate) fn state(&self) -> StoreState {
        self.lock().state.clone()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.lock().state.is_up()
    }

    pub(crate) fn reserved_at(&self) -> Option<Duration> {
        self.lock().reserved_at
    }

    /// Whether a reservation succeeded after this time, and none of a tag that counts has failed
    /// since.
    pub(crate) fn has_reserved_since(&self, time: Duration) -> bool {
        self.reserved_at().is_some_and(|at| at > time)
    }

    /// Whether it came up since this was last asked.
    pub(crate) fn take_returned(&self) -> bool {
        std::mem::take(&mut self.lock().has_returned)
    }

    pub(crate) fn is_suspect(&self) -> bool {
        self.lock().is_suspect
    }

    /// A probe begins.
    pub(crate) fn clear_suspicion(&self) {
        self.lock().is_suspect = false;
    }

    /// A probe reached this server. The driver decides whether the store is up.
    pub(crate) fn located(&self, at: String) {
        self.lock().location = Some(at);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// A reservation succeeded.
    pub(crate) fn store_reserved(&self) {
        self.availability.lock().reserved_at = Some(self.clock.now());
        self.store_up();
    }

    /// A reservation succeeded, or a probe did and no waiting tag could tell more.
    pub(crate) fn store_up(&self) {
        let mut known = self.availability.lock();
        let location = known.location.clone();
        let up = StoreState::Up {
            location: location.clone(),
        };
        let StoreState::Down { since, .. } = std::mem::replace(&mut known.state, up) else {
            return;
        };
        known.has_returned = true;
        drop(known);
        self.emit(&Event::StoreUp {
            down_for: self.clock.now().saturating_sub(since),
            location: location.as_deref(),
        });
    }

    /// A reservation or a probe failed, other than by a conflict, or for a tag that fails while
    /// others are served.
    pub(crate) fn store_down(&self, error: &StoreError) {
        if matches!(error, StoreError::Conflict { .. }) {
            return;
        }
        let mut known = self.availability.lock();
        known.reserved_at = None;
        let message = error.to_string();
        if let StoreState::Down { message: last, .. } = &mut known.state {
            *last = message;
            return;
        }
        let since = self.clock.now();
        known.state = StoreState::Down { since, message };
        // The next server may be another one.
        let location = known.location.take();
        drop(known);
        self.emit(&Event::StoreDown {
            error,
            location: location.as_deref(),
        });
    }

    /// Another call has failed: makes the driver probe, unless it knows already.
    pub(crate) fn store_suspect(&self, error: &StoreError) {
        let mut known = self.availability.lock();
        if error.may_recover() && known.state.is_up() && !known.is_suspect {
            known.is_suspect = true;
            drop(known);
            self.work.notify(1);
        }
    }
}
