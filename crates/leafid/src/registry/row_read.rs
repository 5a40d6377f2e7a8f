//! Reads of our own row, at least every half of `check_interval`, and what follows from each. The
//! meaning of a row is in `own_row.rs`.
//!
//! A read that takes longer than that counts as failed, and the next one begins, so that one that
//! hangs delays nothing. Yet it is waited for: a registry that is only slow gives our worker id to
//! another server, and tells us late. Its connection is the only one that is already established,
//! and a slow registry may not be able to establish another one in time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortRegistration, Abortable, Either, select};

use super::Shared;
use super::calls::{Access, CallOutcome, no_answer_within};
use super::driver::{DriverState, End};
use super::hold::Held;
use super::late_reads::LateReads;
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{BoxFuture, LeaseRecord, StoreError};

/// From one read of our own row that failed to the next, if that is sooner than the usual interval.
const RETRY: Duration = Duration::from_secs(1);

/// The reads of our own row while a worker id is held.
pub(super) struct RowReads {
    /// When the next one is due; `None` while one is under way that is not late.
    pub(super) due_at: Option<Duration>,
    late: LateReads,
    /// The last one failed for good, which was reported.
    fail: bool,
}

impl Default for RowReads {
    fn default() -> Self {
        Self {
            due_at: Some(Duration::ZERO),
            late: LateReads::default(),
            fail: false,
        }
    }
}

type Row = Result<Option<LeaseRecord>, StoreError>;

/// What became of a read of our own row.
pub(super) struct RowRead {
    /// The lease when the read began.
    lease: Lease,
    /// When that was, on the boot clock.
    began: Duration,
    outcome: ReadOutcome,
}

enum ReadOutcome {
    InTime(Row),
    /// It goes on if it is waited for. Exits: `Late`.
    Overdue(BoxFuture<'static, Row>),
    Late(Row),
    /// Others are waited for in its place.
    GivenUp,
}

/// Reads our own row, until the next read is due.
pub(super) fn read_own_row(shared: Arc<Shared>, lease: Lease) -> BoxFuture<'static, CallOutcome> {
    Box::pin(async move {
        let clock = shared.core.timeline.clock();
        let began = clock.now();
        let interval = shared.options.row_read_interval();
        let reader = Arc::clone(&shared);
        let read: BoxFuture<'static, Row> =
            Box::pin(async move { reader.store()?.lease(lease.worker).await });
        let outcome = match select(read, clock.sleep(interval)).await {
            Either::Left((row, _)) => {
                shared.note(Access::Read, row.as_ref().err());
                ReadOutcome::InTime(row)
            }
            Either::Right((_, read)) => {
                shared.note(Access::Read, Some(&no_answer_within(interval)));
                ReadOutcome::Overdue(read)
            }
        };
        CallOutcome::RowRead(RowRead {
            lease,
            began,
            outcome,
        })
    })
}

/// Waits for a late read.
fn await_late(
    shared: Arc<Shared>,
    (lease, began): (Lease, Duration),
    read: BoxFuture<'static, Row>,
    end: AbortRegistration,
) -> BoxFuture<'static, CallOutcome> {
    Box::pin(async move {
        let left = shared.options.late_read_max;
        let left = left.saturating_sub(shared.options.row_read_interval());
        let outcome = match Abortable::new(shared.within(left, read), end).await {
            Ok(row) => ReadOutcome::Late(row),
            Err(_) => ReadOutcome::GivenUp,
        };
        CallOutcome::RowRead(RowRead {
            lease,
            began,
            outcome,
        })
    })
}

impl DriverState {
    pub(super) fn on_row_read(&mut self, held: &mut Held, read: RowRead) -> Option<End> {
        let RowRead {
            lease,
            began,
            outcome,
        } = read;
        let interval = self.shared.options.row_read_interval();
        match outcome {
            ReadOutcome::InTime(Ok(row)) => {
                // From its beginning: it may have shown the state of that moment.
                held.row_reads.due_at = Some(began + interval);
                held.row_reads.fail = false;
                if self.shared.lock().failed_writes.swap {
                    // It can be read again; perhaps it can be written, too.
                    let now = self.shared.core.timeline.clock().now();
                    held.extend_at = held.extend_at.map(|at| at.min(now));
                }
                self.lost_or_adopted(held, lease, row.as_ref(), false)
            }
            ReadOutcome::InTime(Err(error)) => {
                let retry_after = RETRY.min(interval);
                // From its beginning: the registry may have come back while this read got no
                // answer, and the next one must end within `check_interval` of that.
                held.row_reads.due_at = Some(began + retry_after);
                self.on_unreadable_row(held, lease, &error, retry_after)
            }
            ReadOutcome::Overdue(read) => {
                held.row_reads.due_at = Some(began + interval);
                let shared = Arc::clone(&self.shared);
                let now = shared.core.timeline.clock().now();
                let end = held.row_reads.late.begin(began, now);
                let late = await_late(shared, (lease, began), read, end);
                held.calls.push(late);
                None
            }
            ReadOutcome::GivenUp => None,
            ReadOutcome::Late(row) => {
                held.row_reads.late.end(began);
                match row {
                    Ok(row) => self.lost_or_adopted(held, lease, row.as_ref(), false),
                    Err(StoreError::Unsupported { message }) => Some(self.lose(lease, &message)),
                    Err(_) => None,
                }
            }
        }
    }

    /// A registry that does not answer may come back with our row. One that refuses, such as a file
    /// that was replaced, will not.
    fn on_unreadable_row(
        &mut self,
        held: &mut Held,
        lease: Lease,
        error: &StoreError,
        retry_after: Duration,
    ) -> Option<End> {
        if let StoreError::Unsupported { message } = error {
            return Some(self.lose(lease, message));
        }
        if !error.may_recover() && !held.row_reads.fail {
            held.row_reads.fail = true;
            self.shared
                .emit(&Event::RegistryFailed { error, retry_after });
        }
        None
    }
}
