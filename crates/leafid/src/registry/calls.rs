//! Calls to the registry: each has a time-out, and its outcome is recorded, with one event when the
//! registry stops answering and one when it answers again.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::claim::{self, Extended};
use super::clock_check::SecondSource;
use super::row_read::RowRead;
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{BoxFuture, StoreError};

/// Whether the registry answers, as the last call to it showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Reachability {
    /// No call was made yet. Exits: `Reachable`, `Unreachable`.
    #[default]
    Unknown,
    /// Exits: `Unreachable`.
    Reachable,
    /// Exits: `Reachable`.
    Unreachable {
        /// When the first call in a row failed, on the boot clock.
        since: Duration,
    },
}

impl Reachability {
    pub(super) fn is_reachable(self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Reachable => Some(true),
            Self::Unreachable { .. } => Some(false),
        }
    }
}

/// What a call does at the registry. A registry that can be read may still refuse writes: it is
/// read-only or full, or a permission was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Swap,
    Report,
}

/// The changes that have failed since the last success: while there are some, a read does not prove
/// that the registry works.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FailedWrites {
    pub(super) swap: bool,
    report: bool,
}

impl FailedWrites {
    const fn note(&mut self, access: Access, failed: bool) {
        match access {
            Access::Read => {}
            Access::Swap => self.swap = failed,
            Access::Report => self.report = failed,
        }
    }
}

/// The result of a call that was made while a worker id is held.
pub(super) enum CallOutcome {
    Extended(Result<Extended, StoreError>),
    Reported(Result<(), StoreError>),
    ClockChecked(Option<SecondSource>),
    RowRead(RowRead),
}

pub(super) fn extend(
    shared: Arc<Shared>,
    lease: Lease,
    until_ms: u64,
    (identity, holder): (String, String),
) -> BoxFuture<'static, CallOutcome> {
    Box::pin(async move {
        let Ok(store) = shared.store() else {
            return CallOutcome::Extended(Ok(Extended::Until(lease)));
        };
        let address = &shared.options.address;
        let extended = claim::extend(store, lease, until_ms, (&identity, &holder), address);
        CallOutcome::Extended(shared.changing(extended).await)
    })
}

pub(super) fn report(
    shared: Arc<Shared>,
    lease: Lease,
    holder: String,
) -> BoxFuture<'static, CallOutcome> {
    Box::pin(async move {
        let Ok(store) = shared.store() else {
            return CallOutcome::Reported(Ok(()));
        };
        let record = lease.record(&holder, &shared.options.address);
        let now_ms = shared.core.timeline.now_ms();
        let report = store.report(&record, now_ms);
        let reported = shared.within(shared.options.call_max, report).await;
        match &reported {
            Err(error) => shared.note(Access::Report, Some(error)),
            // If no one reads reports, the report succeeds without a call.
            Ok(()) => shared.lock().failed_writes.note(Access::Report, false),
        }
        CallOutcome::Reported(reported)
    })
}

impl Shared {
    /// Makes a call that reads, gives up on it after `call_max`, and records whether it was
    /// answered.
    pub(super) async fn bounded<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = self.within(self.options.call_max, call).await;
        self.note(Access::Read, answer.as_ref().err());
        answer
    }

    /// The same for a call that swaps a row.
    pub(super) async fn changing<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = self.within(self.options.call_max, call).await;
        self.note(Access::Swap, answer.as_ref().err());
        answer
    }

    /// Makes a call, and gives up on it after `max`. The caller records whether it was answered, as
    /// it knows whether such a call reaches the registry at all.
    pub(super) async fn within<T>(
        &self,
        max: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timer = self.core.timeline.clock().sleep(max);
        match futures_util::future::select(std::pin::pin!(call), timer).await {
            futures_util::future::Either::Left((answer, _)) => answer,
            futures_util::future::Either::Right(_) => Err(no_answer_within(max)),
        }
    }

    /// Records the outcome of a call that reaches the registry.
    pub(super) fn note(&self, access: Access, error: Option<&StoreError>) {
        let error = error.filter(|error| error.may_recover());
        self.lock().failed_writes.note(access, error.is_some());
        match error {
            Some(error) => self.note_unreachable(error),
            None => self.note_reachable(),
        }
    }

    fn note_reachable(&self) {
        let now = self.core.timeline.clock().now();
        let mut state = self.lock();
        if state.failed_writes.swap || state.failed_writes.report {
            return;
        }
        let before = std::mem::replace(&mut state.reachability, Reachability::Reachable);
        drop(state);
        if let Reachability::Unreachable { since } = before {
            let after = now.saturating_sub(since);
            self.emit(&Event::RegistryUp { after });
        }
    }

    fn note_unreachable(&self, error: &StoreError) {
        let since = self.core.timeline.clock().now();
        let mut state = self.lock();
        state.failures += 1;
        if matches!(state.reachability, Reachability::Unreachable { .. }) {
            return;
        }
        state.reachability = Reachability::Unreachable { since };
        drop(state);
        self.emit(&Event::RegistryDown { error });
    }
}

pub(super) fn no_answer_within(max: Duration) -> StoreError {
    StoreError::unavailable(format!("no answer within {max:?}"), "timed out")
}
