//! `AdminSlots`: the few places beyond all others, which nobody keeps for nothing. Once half
//! of them are taken, each connection that comes makes the oldest finish what it is at and go:
//! those that are idle go at once, and so never take them all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::net::shutdown::{Alone, Shutdown};

pub(super) struct AdminSlots {
    free: Arc<Semaphore>,
    /// So many may rest.
    rest_max: usize,
    /// Those who were not told to go yet, the oldest first. Also some that have gone.
    rest: Mutex<VecDeque<Arc<Alone>>>,
}

impl AdminSlots {
    pub(super) fn new(count: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            rest_max: count / 2,
            rest: Mutex::default(),
        }
    }

    /// A place, and what its connection is told to finish by; `None`: there is none.
    pub(super) fn acquire(&self, shutdown: &Shutdown) -> Option<(OwnedSemaphorePermit, Shutdown)> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        let (shutdown, alone) = shutdown.for_one();
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        // Who has gone has dropped its own.
        rest.retain(|alone| Arc::strong_count(alone) > 1);
        if rest.len() >= self.rest_max
            && let Some(oldest) = rest.pop_front()
        {
            oldest.ask();
        }
        rest.push_back(alone);
        Some((permit, shutdown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_asked(shutdown: &Shutdown) -> bool {
        use std::pin::pin;
        use std::task::{Context, Waker};
        let mut context = Context::from_waker(Waker::noop());
        pin!(shutdown.asked()).poll(&mut context).is_ready()
    }

    /// Guards that the oldest of those who are there is told to go, once half are taken, and that
    /// who has gone does not count.
    #[test]
    fn the_oldest_is_told_to_go() {
        let shutdown = Shutdown::new();
        let places = AdminSlots::new(4);
        let first = places.acquire(&shutdown).unwrap();
        drop(places.acquire(&shutdown).unwrap());
        drop(places.acquire(&shutdown).unwrap());
        let second = places.acquire(&shutdown).unwrap();
        assert!(!is_asked(&first.1) && !is_asked(&second.1));
        let third = places.acquire(&shutdown).unwrap();
        assert!(is_asked(&first.1) && !is_asked(&second.1));
        let fourth = places.acquire(&shutdown).unwrap();
        assert!(is_asked(&second.1) && !is_asked(&third.1));
        // They are there until they have gone.
        assert!(places.acquire(&shutdown).is_none());
        drop(first);
        let fifth = places.acquire(&shutdown).unwrap();
        assert!(!is_asked(&fourth.1) && !is_asked(&fifth.1));
        shutdown.ask();
        assert!(is_asked(&fifth.1));
    }
}
