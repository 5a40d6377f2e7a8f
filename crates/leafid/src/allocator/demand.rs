//! `Demand`: a caller's wish for more ids than the buffer holds, answered by the driver.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::IssueError;
use crate::segment::{Segment, TakenMany};

/// A wish for `count` ids, adjacent ones if `is_run`.
pub(super) struct Demand {
    count: u64,
    pub(super) is_run: bool,
    answer: Mutex<Answer>,
}

/// The life of a demand.
enum Answer {
    /// Some ids are there, not all. Exits: `Given`, `Cancelled`.
    Open(TakenMany),
    /// Exits: `Cancelled`, once it is fetched.
    Given(Result<TakenMany, IssueError>),
    /// Nobody wants it any more; its ids are a gap. No exit.
    Cancelled,
}

impl Demand {
    pub(super) fn new(count: u64, is_run: bool) -> Arc<Self> {
        Arc::new(Self {
            count,
            is_run,
            answer: Mutex::new(Answer::Open(TakenMany::default())),
        })
    }

    /// How many ids it still lacks; none if nobody waits for it.
    pub(super) fn missing(&self) -> u64 {
        match &*self.lock() {
            Answer::Open(taken) => self.count - taken.len(),
            _ => 0,
        }
    }

    /// Whether somebody still waits for it.
    pub(super) fn is_open(&self) -> bool {
        self.missing() > 0
    }

    /// Adds ids, which ascend from call to call, and gives the answer once there are enough.
    pub(super) fn add(&self, run: Segment) {
        let mut slot = self.lock();
        if let Answer::Open(taken) = &mut *slot {
            taken.push(run);
            if taken.len() >= self.count {
                *slot = Answer::Given(Ok(std::mem::take(taken)));
            }
        }
    }

    /// Refuses it.
    pub(super) fn refuse(&self, error: IssueError) {
        let mut slot = self.lock();
        if matches!(*slot, Answer::Open(_)) {
            *slot = Answer::Given(Err(error));
        }
    }

    /// Fetches the answer, if it is there. An answer is fetched once.
    pub(super) fn answer(&self) -> Option<Result<TakenMany, IssueError>> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Answer::Cancelled) {
            Answer::Given(answer) => Some(answer),
            other => {
                *slot = other;
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a demand when its caller goes away.
pub(super) struct CancelOnDrop<'a>(pub(super) &'a Demand);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.lock() = Answer::Cancelled;
    }
}
