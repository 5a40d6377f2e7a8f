//! `AdminSlots`: a few slots beyond the connection limit, which no connection keeps for long. Once
//! half of them are taken, each new connection asks the oldest to finish its request and close:
//! idle ones close at once, and so never take all slots.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::net::shutdown::{Alone, Shutdown};

pub(super) struct AdminSlots {
    free: Arc<Semaphore>,
    /// How many may stay idle.
    rest_max: usize,
    /// The connections that were not asked to close yet, oldest first; some may have closed.
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

    /// Acquires a slot, with the signal that asks its connection to close; `None`: all are taken.
    pub(super) fn acquire(&self, shutdown: &Shutdown) -> Option<(OwnedSemaphorePermit, Shutdown)> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        let (shutdown, alone) = shutdown.for_one();
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed connection has dropped its end.
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

    /// Guards that the oldest open connection is asked to close once half are taken, and that
    /// closed ones do not count.
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
        // They hold their slots until they close.
        assert!(places.acquire(&shutdown).is_none());
        drop(first);
        let fifth = places.acquire(&shutdown).unwrap();
        assert!(!is_asked(&fourth.1) && !is_asked(&fifth.1));
        shutdown.ask();
        assert!(is_asked(&fifth.1));
    }
}
