//! `Probe`: asks the store, from time to time, whether a reservation could go through now.
//!
//! A reservation that succeeded is as good as a probe, and one under way will be, so a busy store
//! is not probed at all.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Fuse, FusedFuture as _, FutureExt as _};

use crate::allocator::{Shared, within};
use crate::store::{BoxFuture, StoreError};

/// The minimum interval between probes, or the driver would do nothing else.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

pub(super) type Answer = Result<String, StoreError>;

pub(super) struct Probe {
    /// The probe under way.
    pub(super) call: Fuse<BoxFuture<'static, Answer>>,
    /// When the next one is due.
    at: Duration,
    /// Whether the last one succeeded, and no call for a tag has failed since.
    pub(super) went_well: bool,
}

impl Probe {
    /// The first one is due at once.
    pub(super) fn new(now: Duration) -> Self {
        Self {
            call: Fuse::terminated(),
            at: now,
            went_well: false,
        }
    }

    /// Begins one if it is due. `asked_at` is when the oldest reservation under way began.
    pub(super) fn start_if_due(&mut self, shared: &Arc<Shared>, asked_at: Option<Duration>) {
        if !self.call.is_terminated() {
            return;
        }
        let now = shared.clock.now();
        let interval = shared.options.probe_interval.max(INTERVAL_MIN);
        if !shared.availability.is_suspect() {
            let reserved_at = shared.availability.reserved_at();
            let asked_at = asked_at.filter(|_| shared.availability.is_up());
            let spared_until = reserved_at
                .max(asked_at)
                .map(|at| at.saturating_add(interval));
            self.at = self.at.max(spared_until.unwrap_or_default());
            if now < self.at {
                return;
            }
        }
        shared.availability.clear_suspicion();
        self.at = now.saturating_add(interval);
        let shared = Arc::clone(shared);
        let call: BoxFuture<'static, Answer> = Box::pin(async move {
            // A store that hangs is probed again, on another connection.
            let wait_max = interval.min(shared.options.call_max);
            within(&shared, wait_max, shared.store.probe()).await
        });
        self.call = call.fuse();
    }

    /// When the next one is due; `None` while one is under way.
    pub(super) fn next_at(&self) -> Option<Duration> {
        self.call.is_terminated().then_some(self.at)
    }
}
