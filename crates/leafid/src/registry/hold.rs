//! Holds a worker id: once a second it compares the clocks, writes the journal, and extends the
//! lease (heartbeat).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::calls::{CallOutcome, extend, report};
use super::claim::Extended;
use super::clock_check::{self, Verdict};
use super::driver::{DriverState, End, WorkerUntil};
use super::grant::{self, Action, Margins, Now};
use super::row_read::{RowReads, read_own_row};
use super::{RegistryStage, Shared};
use crate::error_kind::ErrorKind;
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{BoxFuture, StoreError};
use crate::timeline::Comparison;

/// How often the server reports to others that it is alive. Source: Leaf.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);
/// How often a second source is asked while the clocks disagree.
const CLOCK_CHECK_INTERVAL_MIN: Duration = Duration::from_secs(1);
const CLOCK_CHECK_INTERVAL_MAX: Duration = Duration::from_secs(30);

/// A worker id, while it is held.
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) calls: FuturesUnordered<BoxFuture<'static, CallOutcome>>,
    pub(super) row_reads: RowReads,
    /// When each kind of call is due; `None` while one is under way.
    pub(super) extend_at: Option<Duration>,
    report_at: Option<Duration>,
    clock_check_at: Option<Duration>,
    clock_check_interval: Duration,
    disagrees: bool,
    journal_fails: bool,
    reports_fail: bool,
}

impl DriverState {
    /// Issues with a worker id until it ends.
    pub(super) async fn hold(&mut self, lease: Lease) -> End {
        let mut held = Held::new(lease);
        if let Some(claimed) = self.claimed_at.take() {
            held.row_reads.due_at = Some(claimed + self.shared.options.row_read_interval());
        }
        self.on_claimed(lease);
        loop {
            let shared = Arc::clone(&self.shared);
            let mut called = shared.core.driver_wake.listen().fuse();
            if shared.is_stopped() {
                self.release(held.lease).await;
                return End::Stopped;
            }
            if let Some(end) = self.step(&mut held).await {
                return end;
            }
            let pause = held.pause(&shared);
            let mut timer = std::pin::pin!(shared.sleep(pause).fuse());
            futures_util::select_biased! {
                done = held.calls.select_next_some() => {
                    if let Some(end) = self.on_call_done(&mut held, done) {
                        return end;
                    }
                }
                () = called => {}
                () = timer => {}
            }
        }
    }

    fn on_claimed(&self, lease: Lease) {
        let mut state = self.shared.lock();
        state.claims += 1;
        state.lease = Some(lease);
        state.ahead_until_ms = None;
        drop(state);
        self.shared.set_leased(Some(lease));
        self.shared.emit(&Event::WorkerClaimed { lease });
    }

    async fn step(&mut self, held: &mut Held) -> Option<End> {
        if let Some(end) = self.compare_clocks(held) {
            return Some(end);
        }
        let next_ms = self.shared.ahead_ms();
        if next_ms >= held.lease.until_ms {
            return Some(self.lose(held.lease, "its lease ended and could not be extended"));
        }
        self.call_registry(held, next_ms);
        self.write_and_grant(held, next_ms).await;
        None
    }

    fn compare_clocks(&mut self, held: &mut Held) -> Option<End> {
        let shared = Arc::clone(&self.shared);
        let timeline = &shared.core.timeline;
        if shared.takes_accepted_clock() {
            return self.accept_wall(held);
        }
        let comparison = timeline.compare();
        let disagrees = comparison != Comparison::Agrees;
        if disagrees != held.disagrees {
            held.disagrees = disagrees;
            held.clock_check_at = Some(Duration::ZERO);
            held.clock_check_interval = CLOCK_CHECK_INTERVAL_MIN;
            if let Comparison::Disagrees { offset_ms } = comparison {
                shared.lock().clock_steps += 1;
                shared.emit(&Event::ClockStepped { offset_ms });
            } else {
                shared.emit(&Event::ClockAgrees);
            }
        }
        None
    }

    /// Accepts the wall clock. Ids that were issued far ahead of it put their worker id in
    /// quarantine: it is left unused until that time.
    fn accept_wall(&mut self, held: &mut Held) -> Option<End> {
        let shared = Arc::clone(&self.shared);
        let timeline = &shared.core.timeline;
        let issued_ms = shared.ahead_ms();
        let offset_ms = timeline.wall_ms().cast_signed() - timeline.now_ms().cast_signed();
        timeline.accept_wall();
        held.disagrees = false;
        shared.emit(&Event::ClockAccepted { offset_ms });
        let ahead_ms = issued_ms.saturating_sub(timeline.now_ms());
        if Duration::from_millis(ahead_ms) <= shared.accepted_ahead_max() {
            return None;
        }
        shared.core.state.halt();
        let Lease {
            worker, until_ms, ..
        } = held.lease;
        self.quarantined.push(WorkerUntil { worker, until_ms });
        shared.lock().lease = None;
        shared.emit(&Event::Quarantined { worker, until_ms });
        Some(End::Another)
    }

    /// Starts the calls that are due.
    fn call_registry(&self, held: &mut Held, now_ms: u64) {
        let shared = &self.shared;
        if shared.store.is_none() {
            return;
        }
        let clock_now = shared.core.timeline.clock().now();
        let is_due = |at: Option<Duration>| at.is_some_and(|at| at <= clock_now);
        // After a start without the registry the row is read as soon as the registry answers.
        let is_wanted = self.is_weak || held.lease.left_ms(now_ms) < shared.lease_ms() / 2;
        if is_wanted && is_due(held.extend_at) {
            held.extend_at = None;
            let until_ms = now_ms + shared.lease_ms();
            let names = (self.identity(), self.holder());
            held.calls
                .push(extend(Arc::clone(shared), held.lease, until_ms, names));
        }
        if is_due(held.row_reads.due_at) {
            held.row_reads.due_at = None;
            let read = read_own_row(Arc::clone(shared), held.lease);
            held.calls.push(read);
        }
        if is_due(held.report_at) {
            held.report_at = None;
            held.calls
                .push(report(Arc::clone(shared), held.lease, self.holder()));
        }
        if held.disagrees && is_due(held.clock_check_at) {
            held.clock_check_at = None;
            let shared = Arc::clone(shared);
            held.calls.push(Box::pin(async move {
                CallOutcome::ClockChecked(clock_check::ask(&shared).await)
            }));
        }
    }

    /// Writes to the journal how far ids may go, and only then grants it.
    async fn write_and_grant(&mut self, held: &mut Held, next_ms: u64) {
        let shared = Arc::clone(&self.shared);
        let lease = held.lease;
        let now = Now {
            now_ms: shared.core.timeline.now_ms(),
            next_ms,
            is_granted: shared.lock().stage.is_holding(),
        };
        let journal = self.journal.as_ref().and_then(|journal| journal.lease);
        let margins = Margins::of(&shared.options);
        let noted = match grant::decide(now, &lease, journal.as_ref(), &margins) {
            Action::Keep => return,
            Action::WriteThenGrant(noted) => noted,
        };
        if let Err(error) = self.write_journal(noted).await {
            self.journal_failed(held, &Arc::new(error));
            return;
        }
        held.journal_fails = false;
        let layout = shared.core.options.layout;
        let grant = grant::grant_of(layout, &lease, noted.below_ms);
        shared.core.state.grant(grant);
        shared.core.open(noted.below_ms >= lease.until_ms);
        let mut state = shared.lock();
        state.lease = Some(lease);
        state.journal_fails = false;
        state.stage = RegistryStage::Holding {
            worker: lease.worker,
        };
    }

    /// Without its journal a server issues what it has allowed already, and no more.
    fn journal_failed(&self, held: &mut Held, error: &Arc<StoreError>) {
        let reason = format!("the journal of this server cannot be written: {error}");
        let source = Some(Arc::clone(error));
        let core = &self.shared.core;
        core.close(reason.as_str(), ErrorKind::Misconfigured, source);
        let mut state = self.shared.lock();
        state.stage = RegistryStage::Refused { reason };
        state.journal_fails = true;
        drop(state);
        if !held.journal_fails {
            held.journal_fails = true;
            self.shared.emit(&Event::JournalFailed { error });
        }
    }

    fn on_call_done(&mut self, held: &mut Held, done: CallOutcome) -> Option<End> {
        let now = self.shared.core.timeline.clock().now();
        match done {
            CallOutcome::Extended(Ok(Extended::Until(lease))) => {
                held.lease = lease;
                held.extend_at = Some(now);
                self.failures = 0;
                self.is_weak = false;
                self.shared.set_leased(Some(lease));
                self.shared.emit(&Event::WorkerExtended { lease });
            }
            CallOutcome::Extended(Ok(Extended::Lost(row))) => {
                held.extend_at = Some(now);
                return self.lost_or_adopted(held, held.lease, row.as_ref(), true);
            }
            CallOutcome::Extended(Ok(Extended::Elsewhere)) => {
                return Some(self.lose_elsewhere(held.lease));
            }
            CallOutcome::RowRead(read) => return self.on_row_read(held, read),
            CallOutcome::Extended(Err(error)) => {
                let retry_after = self.retry_after();
                held.extend_at = Some(now + retry_after);
                let error = Arc::new(error);
                self.shared.emit(&Event::RegistryFailed {
                    error: &error,
                    retry_after,
                });
                self.shared.core.not_extended(error);
            }
            CallOutcome::Reported(reported) => self.on_reported(held, reported, now),
            CallOutcome::ClockChecked(second) => {
                held.clock_check_at = Some(now + held.clock_check_interval);
                held.clock_check_interval =
                    (held.clock_check_interval * 2).min(CLOCK_CHECK_INTERVAL_MAX);
                if held.disagrees && second.is_some_and(|second| second.verdict() == Verdict::Wall)
                {
                    return self.accept_wall(held);
                }
            }
        }
        None
    }

    /// The first of several failures in a row is reported.
    fn on_reported(&self, held: &mut Held, reported: Result<(), StoreError>, now: Duration) {
        held.report_at = Some(now + REPORT_INTERVAL);
        let failed = reported.is_err();
        if let Err(error) = reported
            && !held.reports_fail
        {
            let retry_after = REPORT_INTERVAL;
            self.shared.emit(&Event::RegistryFailed {
                error: &error,
                retry_after,
            });
        }
        held.reports_fail = failed;
    }
}

impl Held {
    fn new(lease: Lease) -> Self {
        Self {
            lease,
            calls: FuturesUnordered::new(),
            row_reads: RowReads::default(),
            extend_at: Some(Duration::ZERO),
            report_at: Some(Duration::ZERO),
            clock_check_at: Some(Duration::ZERO),
            clock_check_interval: CLOCK_CHECK_INTERVAL_MIN,
            disagrees: false,
            journal_fails: false,
            reports_fail: false,
        }
    }

    /// How long there is nothing to do, unless a call completes.
    fn pause(&self, shared: &Shared) -> Duration {
        let step = shared.options.step_interval;
        let now = shared.core.timeline.clock().now();
        // What has become due meanwhile, such as while the journal was written, begins at once.
        let row_read_at = self.row_reads.due_at.filter(|_| shared.store.is_some());
        row_read_at.map_or(step, |at| at.saturating_sub(now).min(step))
    }
}

impl Shared {
    /// The length of a lease; never shorter than what the journal allows.
    pub(super) fn lease_ms(&self) -> u64 {
        millis(self.options.lease.max(self.options.journal_ahead * 2))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
