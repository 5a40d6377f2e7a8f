//! `Queue`: the tags that wait for the driver, in two queues. Each tag is in at most one of them,
//! once, as its `RefillState` says.
//!
//! Tags with a known row come first. Names that may not exist wait in a queue of their own, so that
//! callers who invent names delay no others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Allocator, Shared};

type Line = Mutex<VecDeque<Arc<Allocator>>>;

/// The tags that wait for the driver.
#[derive(Default)]
pub(crate) struct Queue {
    /// Tags with a row.
    known: Line,
    /// Tags of which nothing is known yet.
    new: Line,
}

impl Queue {
    pub(crate) fn pop_known(&self) -> Option<Arc<Allocator>> {
        lock(&self.known).pop_front()
    }

    pub(crate) fn pop_new(&self) -> Option<Arc<Allocator>> {
        lock(&self.new).pop_front()
    }

    /// Puts a new tag back to the front.
    pub(crate) fn put_back_new(&self, allocator: Arc<Allocator>) {
        lock(&self.new).push_front(allocator);
    }

    pub(crate) fn new_len(&self) -> usize {
        lock(&self.new).len()
    }
}

impl Shared {
    /// Puts a tag into the driver's queue.
    pub(crate) fn enqueue(&self, allocator: Arc<Allocator>, is_new: bool) {
        let Queue { known, new } = &self.queue;
        lock(if is_new { new } else { known }).push_back(allocator);
        self.work.notify(1);
    }
}

fn lock(line: &Line) -> std::sync::MutexGuard<'_, VecDeque<Arc<Allocator>>> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
