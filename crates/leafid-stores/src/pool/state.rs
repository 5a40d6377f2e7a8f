//! `State`: connections at rest, and the calls that wait for one.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot;

/// All connections but those in use.
pub(super) struct State<C> {
    /// Connections at rest, the most recently used last.
    pub(super) resting: Vec<Resting<C>>,
    /// Calls that wait for one: reservations, then the longest wait first.
    pub(super) waiting: VecDeque<oneshot::Sender<Resting<C>>>,
}

/// Who waits for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// A reservation, without which ids end.
    Reserving,
    Other,
}

pub(super) struct Resting<C> {
    pub(super) connection: C,
    pub(super) age: Age,
    pub(super) since: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Age {
    pub(super) born: Duration,
    /// When its server was found to be one that can be trusted.
    pub(super) judged: Duration,
}

impl<C> State<C> {
    pub(super) const fn new() -> Self {
        Self {
            resting: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// A connection at rest, or where one that is given back will come.
    pub(super) fn pop(
        &mut self,
        urgency: Urgency,
    ) -> Result<Resting<C>, oneshot::Receiver<Resting<C>>> {
        if let Some(resting) = self.resting.pop() {
            return Ok(resting);
        }
        let (waiter, returned) = oneshot::channel();
        // Calls that found another, or were given up, wait no more.
        self.waiting.retain(|waiter| !waiter.is_closed());
        match urgency {
            Urgency::Reserving => self.waiting.push_front(waiter),
            Urgency::Other => self.waiting.push_back(waiter),
        }
        Err(returned)
    }

    /// Gives a connection to the next call that waits, or lets it rest.
    pub(super) fn put(&mut self, mut resting: Resting<C>) {
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(resting) {
                Ok(()) => return,
                Err(back) => resting = back,
            }
        }
        self.resting.push(resting);
    }
}
