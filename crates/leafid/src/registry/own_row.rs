//! What our own row in the registry says about our lease. It is read again every few seconds
//! (`hold.rs`), because a registry that was emptied, or restored from an older copy, gives our
//! worker id to the next server that asks, and only its holder can know.

use super::RegistryStage;
use super::driver::{DriverState, End, WorkerUntil};
use super::hold::Held;
use crate::error_kind::ErrorKind;
use crate::event::Event;
use crate::lease::Lease;
use crate::store::LeaseRecord;

/// Why a lease is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss {
    /// The reason, for people.
    pub(super) reason: String,
    /// The registry has forgotten what it had acknowledged.
    pub(super) is_forgotten: bool,
    /// The row exists, so another server may have the worker id by now.
    pub(super) is_taken: bool,
}

/// The meaning of a row that was read after `lease` was acknowledged; `None`: all is well.
fn loss(lease: &Lease, holder: &str, row: Option<&LeaseRecord>, now_ms: u64) -> Option<Loss> {
    let Some(row) = row else {
        return Some(Loss {
            reason: format!("its row is gone from the registry, {FORGOT}"),
            is_forgotten: true,
            is_taken: false,
        });
    };
    let is_own = row.holder == holder;
    // One less: a start without the registry is valid although its last claim never arrived.
    let is_known = row.epoch == lease.epoch || row.epoch + 1 == lease.epoch;
    if is_own && is_known && row.until_ms >= lease.until_ms {
        return None;
    }
    let who = format!("{} {}", row.holder, row.address);
    let who = who.trim();
    let is_over = now_ms >= lease.until_ms;
    let (reason, is_forgotten) = if row.holder.is_empty() && row.epoch > lease.epoch {
        ("an operator has released it".to_owned(), false)
    } else if is_own && row.epoch > lease.epoch {
        let reason = "another process with a copy of this server's journal claimed it";
        (reason.to_owned(), false)
    } else if is_own || row.holder.is_empty() {
        let reason = format!("its row has gone back to an earlier state of the registry, {FORGOT}");
        (reason, true)
    } else if is_over {
        (format!("it was claimed by {who}"), false)
    } else {
        let reason = format!(
            "it was claimed by {who} before its lease was over: an operator has released it, \
             or it is gone from the registry, {FORGOT}"
        );
        (reason, true)
    };
    Some(Loss {
        reason,
        is_forgotten,
        is_taken: !is_own,
    })
}

const FORGOT: &str = "which was emptied, or restored from an older copy";

impl DriverState {
    fn loss(&self, lease: Lease, row: Option<&LeaseRecord>) -> Option<Loss> {
        let now_ms = self.shared.core.timeline.now_ms();
        loss(&lease, &self.holder(), row, now_ms)
    }

    /// The consequence of a row that was read after `lease` was acknowledged, or of a refused
    /// change of it.
    pub(super) fn lost_or_adopted(
        &mut self,
        held: &mut Held,
        lease: Lease,
        row: Option<&LeaseRecord>,
        was_refused: bool,
    ) -> Option<End> {
        // Another lease is held since the read began.
        let is_past = lease.epoch != held.lease.epoch;
        // A row that is one claim behind is ours, but cannot be extended.
        let is_behind = row.is_some_and(|row| row.epoch != lease.epoch);
        let is_ours = self.loss(lease, row).is_none();
        if is_past || is_ours && !(was_refused && is_behind) {
            return None;
        }
        if let Some(lease) = row.and_then(|row| self.adopt(row)) {
            held.lease = lease;
            self.shared.set_leased(Some(lease));
            return None;
        }
        Some(self.lose_row(lease, row))
    }

    /// Stops issuing at once: the registry is another one.
    pub(super) fn lose_elsewhere(&mut self, lease: Lease) -> End {
        self.lose(lease, "the registry is not the one that it was leased from")
    }

    /// Stops issuing at once: the row is not as it was acknowledged.
    fn lose_row(&mut self, lease: Lease, row: Option<&LeaseRecord>) -> End {
        let loss = self.loss(lease, row).unwrap_or_else(|| Loss {
            reason: "the claim of it did not reach the registry".to_owned(),
            is_forgotten: false,
            is_taken: false,
        });
        // Before it is reported.
        let end = self.halt(lease, &loss.reason);
        if loss.is_forgotten {
            self.shared
                .emit(&Event::RegistryRegressed { lease, found: row });
        }
        self.emit_lost(lease, &loss.reason);
        if loss.is_forgotten && loss.is_taken {
            return End::Displaced;
        }
        end
    }

    /// Stops issuing at once.
    pub(super) fn lose(&mut self, lease: Lease, reason: &str) -> End {
        let end = self.halt(lease, reason);
        self.emit_lost(lease, reason);
        end
    }

    fn halt(&mut self, lease: Lease, reason: &str) -> End {
        let used_tick = self.shared.core.state.halt();
        let layout = self.shared.core.options.layout;
        let worker = lease.worker;
        if let Some(tick) = used_tick {
            let until_ms = layout.unix_ms_of(tick).unsigned_abs();
            self.lost.retain(|lost| lost.worker != worker);
            self.lost.push(WorkerUntil { worker, until_ms });
        }
        let shared = &self.shared;
        shared.core.close(reason, ErrorKind::Busy, None);
        shared.set_leased(None);
        let mut state = shared.lock();
        state.lease = None;
        state.stage = RegistryStage::Refused {
            reason: reason.to_owned(),
        };
        End::Another
    }

    fn emit_lost(&self, lease: Lease, reason: &str) {
        let worker = lease.worker;
        self.shared.emit(&Event::WorkerLost { worker, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_id::WorkerId;

    const LEASE: Lease = Lease {
        worker: WorkerId::new(3),
        epoch: 5,
        start_ms: 1000,
        until_ms: 4000,
    };

    fn check(row: Option<&LeaseRecord>, now_ms: u64, expected: Option<(bool, bool)>) {
        let found = loss(&LEASE, "me", row, now_ms);
        let kind = found
            .as_ref()
            .map(|loss| (loss.is_forgotten, loss.is_taken));
        assert_eq!(kind, expected, "{row:?} at {now_ms}: {found:?}");
    }

    /// Guards which rows end a lease, and which of those mean that the registry forgot it.
    #[test]
    fn what_a_row_means() {
        let row = |holder: &str, epoch, until_ms| {
            let lease = Lease {
                epoch,
                until_ms,
                ..LEASE
            };
            Some(lease.record(holder, "10.0.0.5:8080"))
        };
        check(row("me", 5, 4000).as_ref(), 2000, None);
        check(row("me", 5, 9000).as_ref(), 2000, None);
        check(row("me", 4, 4000).as_ref(), 2000, None);
        check(row("me", 4, 3999).as_ref(), 2000, Some((true, false)));
        check(row("me", 5, 3999).as_ref(), 2000, Some((true, false)));
        check(row("me", 3, 4000).as_ref(), 2000, Some((true, false)));
        // Another process with our journal.
        check(row("me", 6, 4000).as_ref(), 2000, Some((false, false)));
        check(row("other", 6, 9000).as_ref(), 4000, Some((false, true)));
        // An older copy in which our lease has ended lets others claim as usual.
        check(row("other", 6, 9000).as_ref(), 3999, Some((true, true)));
        check(row("", 6, 2000).as_ref(), 2000, Some((false, true)));
        check(row("other", 5, 9000).as_ref(), 2000, Some((true, true)));
        check(row("other", 1, 9000).as_ref(), 2000, Some((true, true)));
        check(None, 2000, Some((true, false)));
    }
}
