//! `Demands`: the callers that want ids of one tag which memory does not hold.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::allocator::demand::Demand;

/// The callers that want ids of one tag which memory does not hold.
pub(in crate::allocator) struct Demands {
    /// Callers that want more than the buffer holds, in order of arrival.
    pub(in crate::allocator) queue: VecDeque<Arc<Demand>>,
    /// When a caller last found no id.
    pub(in crate::allocator) missed_at: Duration,
    /// Whether a caller found no id since the row was read.
    has_missed: bool,
    /// The cursor when the row was read.
    read_cursor: u64,
}

impl Demands {
    pub(super) const fn new(now: Duration) -> Self {
        Self {
            queue: VecDeque::new(),
            missed_at: now,
            has_missed: false,
            read_cursor: 0,
        }
    }

    /// A caller found no id.
    pub(in crate::allocator) fn missed(&mut self, now: Duration) {
        self.has_missed = true;
        self.missed_at = now;
    }

    /// The row was read while the buffer's cursor stood there.
    pub(in crate::allocator) fn row_read(&mut self, cursor: u64) {
        self.has_missed = false;
        self.read_cursor = cursor;
    }

    /// Whether ids were taken, or requested in vain, since the row was read.
    pub(in crate::allocator) fn since_row_read(&self, cursor: u64) -> bool {
        self.has_missed || self.read_cursor != cursor
    }

    /// Drops the demands whose callers gave up.
    pub(in crate::allocator) fn prune(&mut self) {
        self.queue.retain(|demand| demand.is_open());
    }

    /// How many ids to reserve for demands: for as many of them, in order of arrival, as fit
    /// together.
    pub(in crate::allocator) fn total(&self, headroom: u64) -> u64 {
        let mut total = 0;
        for demand in &self.queue {
            let sum = total + demand.missing().min(headroom);
            if sum > headroom {
                break;
            }
            total = sum;
        }
        total
    }
}
