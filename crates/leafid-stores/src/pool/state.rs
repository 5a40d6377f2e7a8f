//! `State`: the idle connections of a pool, and the calls that wait for one.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot;

/// All connections but those in use.
pub(super) struct State<C> {
    /// Idle connections, the most recently used last.
    pub(super) idle: Vec<Idle<C>>,
    /// Calls that wait for one: reservations, then the longest wait first.
    pub(super) waiting: VecDeque<oneshot::Sender<Idle<C>>>,
}

/// The priority of a call for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// A reservation, without which ids run out.
    Reserving,
    Other,
}

pub(super) struct Idle<C> {
    pub(super) connection: C,
    pub(super) age: Age,
    pub(super) since: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Age {
    pub(super) born: Duration,
    /// When its server last passed the durability check.
    pub(super) checked: Duration,
}

impl<C> State<C> {
    pub(super) const fn new() -> Self {
        Self {
            idle: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// An idle connection, or the channel on which a returned one arrives.
    pub(super) fn pop(&mut self, urgency: Urgency) -> Result<Idle<C>, oneshot::Receiver<Idle<C>>> {
        if let Some(idle) = self.idle.pop() {
            return Ok(idle);
        }
        let (waiter, returned) = oneshot::channel();
        // Calls that found another one, or gave up, no longer wait.
        self.waiting.retain(|waiter| !waiter.is_closed());
        match urgency {
            Urgency::Reserving => self.waiting.push_front(waiter),
            Urgency::Other => self.waiting.push_back(waiter),
        }
        Err(returned)
    }

    /// Gives a connection to the next call that waits, or keeps it idle.
    pub(super) fn put(&mut self, mut idle: Idle<C>) {
        while let Some(waiter) = self.waiting.pop_front() {
            match waiter.send(idle) {
                Ok(()) => return,
                Err(back) => idle = back,
            }
        }
        self.idle.push(idle);
    }

    /// How many calls wait.
    pub(super) fn waiting_len(&self) -> usize {
        let waits = self.waiting.iter().filter(|waiter| !waiter.is_closed());
        waits.count()
    }
}
