//! `Demand`: a caller's wish for more ids than the buffer holds, answered by the driver.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::IssueError;
use crate::segment::TakenMany;

/// A wish for `count` ids, adjacent ones if `is_run`.
pub(super) struct Demand {
    pub(super) count: u64,
    pub(super) is_run: bool,
    answer: Mutex<Answer>,
}

/// The life of a demand.
enum Answer {
    /// Exits: `Given`, `Cancelled`.
    Open,
    /// Exits: `Cancelled`, once it is fetched.
    Given(Result<TakenMany, IssueError>),
    /// Nobody wants it any more. No exit.
    Cancelled,
}

impl Demand {
    pub(super) fn new(count: u64, is_run: bool) -> Arc<Self> {
        Arc::new(Self {
            count,
            is_run,
            answer: Mutex::new(Answer::Open),
        })
    }

    /// Whether somebody still waits for it.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.lock(), Answer::Open)
    }

    /// Answers it, unless nobody wants it any more: then the ids are a gap.
    pub(super) fn give(&self, answer: Result<TakenMany, IssueError>) {
        let mut slot = self.lock();
        if matches!(*slot, Answer::Open) {
            *slot = Answer::Given(answer);
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Answer> {
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
