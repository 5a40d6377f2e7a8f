//! `Queue`: the tags that ask for the driver, in two lines. Each tag is in one of them once at the
//! most: its `RefillState` says so.
//!
//! Tags that are known to have a row come first. Names of which nobody knows yet whether there is
//! such a tag stand in a line of their own, so that callers who invent names hold up nobody else.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Allocator, Shared};

type Line = Mutex<VecDeque<Arc<Allocator>>>;

/// The tags that ask for the driver.
#[derive(Default)]
pub(crate) struct Queue {
    /// Tags with a row.
    known: Line,
    /// Tags of which nothing is known.
    new: Line,
}

impl Queue {
    pub(crate) fn pop_known(&self) -> Option<Arc<Allocator>> {
        lock(&self.known).pop_front()
    }

    pub(crate) fn pop_new(&self) -> Option<Arc<Allocator>> {
        lock(&self.new).pop_front()
    }

    /// Puts a new tag back to where it was taken from.
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
