//! `Usage`: the accounting of one tag: ids reserved, used and skipped, and their rate.

use std::time::Duration;

use crate::step::{History, Rate};

/// The accounting of one tag.
pub(in crate::allocator) struct Usage {
    /// Segments reserved.
    pub(in crate::allocator) reserves: u64,
    /// The length of the last segment, without demands.
    pub(in crate::allocator) step: u64,
    /// How long the last reservation took.
    pub(in crate::allocator) last_took: Duration,
    /// Ids that were skipped and never issued.
    pub(in crate::allocator) skipped: u64,
    /// Ids put into the buffer, including skipped ones.
    put: u64,
    /// Segments since the row was found.
    loads: u64,
    /// When the first of them was put in.
    first_loaded_at: Duration,
    /// The rate up to the last segment.
    rate: Rate,
    /// When the last segment was put in, and how many ids had been used then.
    loaded_at: Duration,
    loaded_used: u64,
}

impl Usage {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            reserves: 0,
            step: 0,
            last_took: Duration::ZERO,
            skipped: 0,
            put: 0,
            loads: 0,
            first_loaded_at: now,
            rate: Rate::default(),
            loaded_at: now,
            loaded_used: 0,
        }
    }

    /// A segment of this length was reserved; `remaining` ids are in the buffer without it.
    pub(in crate::allocator) fn reserved(&mut self, len: u64, now: Duration, remaining: u64) {
        let used = self.used(remaining);
        if self.loads > 0 {
            self.rate = self.rate_at(now, remaining);
        } else {
            self.first_loaded_at = now;
        }
        self.loads += 1;
        self.loaded_at = now;
        self.loaded_used = used;
        self.reserves += 1;
        self.put += len;
    }

    /// A segment of this length was reserved that may not be issued.
    pub(in crate::allocator) fn discarded(&mut self, len: u64) {
        self.put += len;
        self.skipped += len;
    }

    /// The row is gone: the rate of its successor is measured anew.
    pub(in crate::allocator) fn restart(&mut self) {
        self.loads = 0;
    }

    /// How long ago the first segment was reserved.
    pub(in crate::allocator) fn in_use_for(&self, now: Duration) -> Duration {
        match self.loads {
            0 => Duration::ZERO,
            _ => now.saturating_sub(self.first_loaded_at),
        }
    }

    /// Ids taken from the buffer, with the few that were lost between two segments.
    pub(in crate::allocator) fn used(&self, remaining: u64) -> u64 {
        self.put
            .saturating_sub(self.skipped)
            .saturating_sub(remaining)
            .max(self.loaded_used)
    }

    /// The rate, including what was used since the last segment.
    pub(in crate::allocator) fn rate_at(&self, now: Duration, remaining: u64) -> Rate {
        let used = self.used(remaining) - self.loaded_used;
        self.rate.observe(used, now.saturating_sub(self.loaded_at))
    }

    /// The input of the step policy.
    pub(in crate::allocator) fn history(
        &self,
        now: Duration,
        remaining: u64,
        headroom: u64,
    ) -> History {
        History {
            step: self.step,
            loads: self.loads,
            elapsed: now.saturating_sub(self.loaded_at),
            rate: self.rate_at(now, remaining).per_second(),
            headroom,
        }
    }
}
