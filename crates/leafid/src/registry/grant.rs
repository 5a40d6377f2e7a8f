//! How far ids of a held worker id may go: what has to be in the journal before takers may use it.
//! [`decide`] is a pure function of the times that it is given; `hold.rs` carries its answer out.
//!
//! Five times are coupled, all in milliseconds since 1970:
//!
//! - `now_ms`, the time that the timeline shows;
//! - `next_ms`, the time of the next id, which is later than `now_ms` while ids borrow;
//! - the start and the end of the lease;
//! - the bound in the journal: no id carries it or a later time.
//!
//! *Invariant:* start of the lease <= ids issued < bound in the journal <= end of the lease. So the
//! journal is written before the bound of the takers is raised, and a restart that begins at the
//! bound in the journal repeats nothing.

use std::time::Duration;

use super::RegistryOptions;
use crate::layout::Layout;
use crate::lease::Lease;
use crate::snowflake::state::Grant;
use crate::store::JournalLease;

/// The journal must allow at least this much more than was used.
const SOME_MIN_MS: u64 = 10;

/// The state of the clocks and of the takers at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    /// The time of the timeline.
    pub(super) now_ms: u64,
    /// The time of the next id, or `now_ms` if that is later.
    pub(super) next_ms: u64,
    /// Whether takers have the bound that the journal holds.
    pub(super) is_granted: bool,
}

/// How far ahead of the clock the journal allows ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Margins {
    /// How far the journal is ahead, so that it need not be written for each id.
    journal_ahead_ms: u64,
    /// How far ids may be ahead of the clock.
    ahead_max_ms: u64,
    /// The minimum allowed beyond the next id, so that there are always some ids.
    some_ms: u64,
}

/// What to do about the journal and the takers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing: the journal holds enough, and the takers have it.
    Keep,
    /// Write this to the journal, and only then grant the takers what lies below its bound.
    WriteThenGrant(JournalLease),
}

impl Margins {
    pub(super) fn of(options: &RegistryOptions) -> Self {
        Self {
            journal_ahead_ms: millis(options.journal_ahead),
            ahead_max_ms: millis(options.snowflake.ahead_max),
            some_ms: SOME_MIN_MS.max(options.snowflake.layout.unit().ms() * 2),
        }
    }

    /// How far ids may go while the next one carries `next_ms`: ahead of the clock, and not of what
    /// a restart began with, so that restart upon restart does not run away from it; and always far
    /// enough for some ids.
    fn wanted_ms(&self, now_ms: u64, next_ms: u64) -> u64 {
        let borrowed_ms = next_ms.saturating_sub(now_ms).min(self.ahead_max_ms);
        (now_ms + borrowed_ms + self.journal_ahead_ms).max(next_ms + self.some_ms)
    }
}

/// Decides what to do while `lease` is held and the journal holds `journal`.
pub(super) fn decide(
    now: Now,
    lease: &Lease,
    journal: Option<&JournalLease>,
    margins: &Margins,
) -> Action {
    let next_ms = now.next_ms.max(lease.start_ms);
    let wanted_ms = margins.wanted_ms(now.now_ms, next_ms);
    // Never lower, even if the clock is: ids may go to the former bound until the new one is
    // granted.
    // granted.
    let of_worker = journal.filter(|last| last.worker == lease.worker);
    let noted_ms = of_worker.map_or(0, |last| last.below_ms);
    let below_ms = lease.until_ms.min(noted_ms.max(wanted_ms));
    let of_lease = of_worker.filter(|last| last.epoch == lease.epoch);
    let is_noted = of_lease.is_some_and(|last| {
        last.acknowledged && last.until_ms == lease.until_ms && last.below_ms >= below_ms
    });
    if is_noted && now.is_granted {
        return Action::Keep;
    }
    Action::WriteThenGrant(JournalLease {
        worker: lease.worker,
        epoch: lease.epoch,
        nonce: of_lease.map_or(0, |last| last.nonce),
        until_ms: lease.until_ms,
        acknowledged: true,
        below_ms,
        written_ms: now.now_ms,
    })
}

/// The ticks below a bound of a lease: only those that lie completely below it.
pub(super) fn grant_of(layout: Layout, lease: &Lease, below_ms: u64) -> Grant {
    let unit_ms = layout.unit().ms();
    let tick_of = |ms: u64| {
        layout
            .tick_of(ms.cast_signed())
            .unwrap_or(layout.ticks_max())
    };
    Grant {
        worker: lease.worker,
        start: tick_of(lease.start_ms.saturating_add(unit_ms - 1)),
        until: tick_of(below_ms),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_id::WorkerId;

    const MARGINS: Margins = Margins {
        journal_ahead_ms: 3_000,
        ahead_max_ms: 1_000,
        some_ms: 10,
    };
    const LEASE: Lease = Lease {
        worker: WorkerId::new(3),
        epoch: 5,
        start_ms: 100_000,
        until_ms: 200_000,
    };
    /// The content of the journal after the first grant, at the start of the lease.
    const NOTED: JournalLease = JournalLease {
        worker: WorkerId::new(3),
        epoch: 5,
        nonce: 77,
        until_ms: 200_000,
        acknowledged: true,
        below_ms: 103_000,
        written_ms: 100_000,
    };

    fn at(now_ms: u64, next_ms: u64) -> Now {
        Now {
            now_ms,
            next_ms,
            is_granted: true,
        }
    }

    /// The bound that is written and granted; `None` if there is nothing to do.
    #[track_caller]
    fn check(now: Now, lease: &Lease, journal: Option<JournalLease>, expected: Option<u64>) {
        let written = match decide(now, lease, journal.as_ref(), &MARGINS) {
            Action::Keep => None,
            Action::WriteThenGrant(noted) => {
                assert!(noted.below_ms <= lease.until_ms, "beyond the lease");
                assert_eq!((noted.worker, noted.epoch), (lease.worker, lease.epoch));
                assert_eq!(noted.until_ms, lease.until_ms);
                assert_eq!(noted.written_ms, now.now_ms);
                assert!(noted.acknowledged);
                Some(noted.below_ms)
            }
        };
        assert_eq!(written, expected, "{now:?} {lease:?} {journal:?}");
    }

    /// Guards that the bound is ahead of the clock and of the next id, and ends with the lease.
    #[test]
    fn the_bound_follows_the_clock_and_the_next_id() {
        let start = at(100_000, 100_000);
        check(start, &LEASE, None, Some(103_000));
        check(start, &LEASE, Some(NOTED), None);
        check(at(100_001, 100_001), &LEASE, Some(NOTED), Some(103_001));
        // Ids that borrow move the bound, as far as they may borrow.
        check(at(100_000, 100_600), &LEASE, Some(NOTED), Some(103_600));
        check(at(100_000, 101_600), &LEASE, Some(NOTED), Some(104_000));
        // A restart that begins far ahead of the clock gets some ids, and no more.
        check(at(100_000, 150_000), &LEASE, None, Some(150_010));
        check(at(90_000, 90_000), &LEASE, None, Some(100_010));
        check(at(199_000, 199_000), &LEASE, Some(NOTED), Some(200_000));
    }

    /// Guards that ids which takers may have issued stay below the bound in the journal.
    #[test]
    fn the_bound_never_goes_back() {
        check(at(80_000, 100_000), &LEASE, Some(NOTED), None);
        let granted_anew = Now {
            is_granted: false,
            ..at(80_000, 80_000)
        };
        check(granted_anew, &LEASE, Some(NOTED), Some(103_000));
        let unconfirmed = JournalLease {
            acknowledged: false,
            ..NOTED
        };
        check(at(80_000, 80_000), &LEASE, Some(unconfirmed), Some(103_000));
        let longer = Lease {
            until_ms: 300_000,
            ..LEASE
        };
        check(at(80_000, 80_000), &longer, Some(NOTED), Some(103_000));
        let next_epoch = Lease { epoch: 6, ..LEASE };
        check(at(80_000, 80_000), &next_epoch, Some(NOTED), Some(103_000));
    }

    /// Guards that the bound of one worker id never applies to another.
    #[test]
    fn the_bound_is_that_of_the_worker_id() {
        let other = Lease {
            worker: WorkerId::new(4),
            ..LEASE
        };
        let far = JournalLease {
            below_ms: 190_000,
            ..NOTED
        };
        check(at(100_000, 100_000), &other, Some(far), Some(103_000));
        check(at(100_000, 100_000), &LEASE, Some(far), None);
    }

    /// Guards that a row is recognised as this process's own as long as it is that of its claim.
    #[test]
    fn the_nonce_stays_with_its_claim() {
        let nonce =
            |lease: &Lease, journal| match decide(at(120_000, 120_000), lease, journal, &MARGINS) {
                Action::WriteThenGrant(noted) => noted.nonce,
                Action::Keep => unreachable!("the clock advanced"),
            };
        assert_eq!(nonce(&LEASE, Some(&NOTED)), 77);
        assert_eq!(nonce(&LEASE, None), 0);
        let next_epoch = Lease { epoch: 6, ..LEASE };
        assert_eq!(nonce(&next_epoch, Some(&NOTED)), 0);
    }
}
