//! Which worker id to claim next: an ordered list of rules. The first rule that finds a worker id
//! decides.
//!
//! No rule is needed for safety: whichever worker id is claimed, its lease starts at or above the
//! end of the last one (`claim.rs`). The rules keep worker ids with their servers, and keep servers
//! that start at once from trying the same one.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::WorkerChoice;
use super::claim::Claimant;
use crate::store::LeaseRecord;
use crate::worker_id::WorkerId;

/// In the first round the best worker id is chosen, in the next one of the best two, then four, and
/// so on up to 2 to the power of this, so that many servers that start at once separate.
const CHOICES_LOG_MAX: u32 = 8;

/// A worker id that may be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) worker: WorkerId,
    /// Its row; `None` if it has none.
    pub(super) seen: Option<LeaseRecord>,
    /// Before this time its ids may belong to another server.
    pub(super) start_ms: u64,
}

/// The input of the rules.
struct Round<'a> {
    claimant: &'a Claimant<'a>,
    rows: &'a [LeaseRecord],
    /// The rows of the allowed worker ids whose leases have ended, oldest first.
    ended: Vec<&'a LeaseRecord>,
    /// How many of the best worker ids to choose from at random.
    choices: usize,
}

type Rule = fn(&Round<'_>, &mut Rng) -> Option<Candidate>;

/// The rules, the preferred one first.
const RULES: [Rule; 6] = [
    own,
    forgotten,
    at_own_address,
    hinted,
    oldest_ended,
    never_held,
];

/// Chooses the worker id to try in this round; `None` if none can be claimed.
pub(super) fn choose(
    claimant: &Claimant<'_>,
    rows: &[LeaseRecord],
    round: u32,
    rng: &mut Rng,
) -> Option<Candidate> {
    let round = Round::new(claimant, rows, 1 << round.min(CHOICES_LOG_MAX));
    RULES.iter().find_map(|rule| rule(&round, rng))
}

/// Our own row, if no server has claimed it since we wrote our journal: then all ids issued with it
/// lie below the journal's bound. The journal may be one claim ahead of the registry, because it is
/// written first.
fn own(round: &Round<'_>, _: &mut Rng) -> Option<Candidate> {
    let claimant = round.claimant;
    let may_be_had =
        |row: &&LeaseRecord| claimant.wants(row.worker) && !claimant.avoided.contains(&row.worker);
    round.rows.iter().filter(may_be_had).find_map(|row| {
        let start_ms = claimant.journal.owned_from_ms(row)?;
        Some(Candidate {
            worker: row.worker,
            start_ms,
            seen: Some(row.clone()),
        })
    })
}

/// The worker id that we had, if its row is gone. In a registry that was emptied every other one
/// may still be in use by a holder that has not noticed yet; ours is not. Only in the first round:
/// a registry that shares its numbers with others may be unable to create it.
fn forgotten(round: &Round<'_>, _: &mut Rng) -> Option<Candidate> {
    let claimant = round.claimant;
    let lost = claimant.lost.last().map(|lost| lost.worker);
    let worker = lost.or_else(|| claimant.journal.lease.map(|lease| lease.worker))?;
    let may_be_had = round.choices == 1
        && round.row(worker).is_none()
        && claimant.wants(worker)
        && !claimant.avoided.contains(&worker);
    may_be_had.then(|| without_row(worker))
}

/// A worker id that was held under our address, oldest first.
fn at_own_address(round: &Round<'_>, rng: &mut Rng) -> Option<Candidate> {
    let address = round.claimant.address;
    let is_ours = |row: &&&LeaseRecord| row.address == address && !row.address.is_empty();
    let ours: Vec<&LeaseRecord> = round.ended.iter().filter(is_ours).copied().collect();
    one_of(&ours, 1, rng).map(|row| ended(row))
}

/// The worker id from the hint, for a server that never had one.
fn hinted(round: &Round<'_>, _: &mut Rng) -> Option<Candidate> {
    let claimant = round.claimant;
    let is_new = claimant.journal.lease.is_none() && claimant.journal.floor_ms == 0;
    let worker = claimant.preferred.filter(|_| is_new)?;
    if !claimant.wants(worker) {
        return None;
    }
    match round.row(worker) {
        Some(row) if row.until_ms > claimant.now_ms => None,
        Some(row) => Some(ended(row)),
        None => Some(without_row(worker)),
    }
}

/// A worker id whose lease has ended, oldest first.
fn oldest_ended(round: &Round<'_>, rng: &mut Rng) -> Option<Candidate> {
    one_of(&round.ended, round.choices, rng).map(|row| ended(row))
}

/// A worker id that was never claimed, smallest first.
fn never_held(round: &Round<'_>, rng: &mut Rng) -> Option<Candidate> {
    one_of(&round.absent(), round.choices, rng).map(|worker| without_row(*worker))
}

/// Picks one of the first few at random; `None` if there are none.
fn one_of<'a, T>(best_first: &'a [T], choices: usize, rng: &mut Rng) -> Option<&'a T> {
    let len = best_first.len().min(choices);
    (len > 0).then(|| &best_first[rng.usize(..len)])
}

/// A worker id whose lease has ended.
fn ended(row: &LeaseRecord) -> Candidate {
    Candidate {
        worker: row.worker,
        start_ms: row.until_ms,
        seen: Some(row.clone()),
    }
}

/// A worker id without a row.
const fn without_row(worker: WorkerId) -> Candidate {
    Candidate {
        worker,
        seen: None,
        start_ms: 0,
    }
}

impl<'a> Round<'a> {
    fn new(claimant: &'a Claimant<'a>, rows: &'a [LeaseRecord], choices: usize) -> Self {
        let is_ended =
            |row: &&LeaseRecord| claimant.wants(row.worker) && row.until_ms <= claimant.now_ms;
        let mut ended: Vec<&LeaseRecord> = rows.iter().filter(is_ended).collect();
        ended.sort_by_key(|row| row.until_ms);
        Self {
            claimant,
            rows,
            ended,
            choices,
        }
    }

    fn row(&self, worker: WorkerId) -> Option<&'a LeaseRecord> {
        self.rows.iter().find(|row| row.worker == worker)
    }

    /// The smallest worker ids without a row, as many as there are choices.
    fn absent(&self) -> Vec<WorkerId> {
        if let WorkerChoice::Exactly(worker) = self.claimant.choice {
            let is_absent = self.row(worker).is_none();
            return is_absent.then_some(worker).into_iter().collect();
        }
        let present: BTreeSet<WorkerId> = self.rows.iter().map(|row| row.worker).collect();
        (0..=self.claimant.worker_max)
            .map(WorkerId::new)
            .filter(|worker| !present.contains(worker) && !self.claimant.avoided.contains(worker))
            .take(self.choices)
            .collect()
    }
}

impl Claimant<'_> {
    fn wants(&self, worker: WorkerId) -> bool {
        match self.choice {
            WorkerChoice::Any => worker.get() <= self.worker_max,
            WorkerChoice::Exactly(exactly) => worker == exactly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::driver::WorkerUntil;
    use crate::store::{JournalLease, JournalRecord};

    const NOW_MS: u64 = 10_000;
    const HERE: &str = "10.0.0.5:8080";

    fn claimant(journal: &JournalRecord) -> Claimant<'_> {
        Claimant {
            choice: WorkerChoice::Any,
            preferred: None,
            worker_max: 7,
            address: HERE,
            journal,
            nonce: 77,
            avoided: &[],
            lost: &[],
            now_ms: NOW_MS,
            lease_ms: 3_600_000,
        }
    }

    fn row(worker: u32, address: &str, until_ms: u64) -> LeaseRecord {
        LeaseRecord {
            worker: WorkerId::new(worker),
            epoch: 5,
            holder: "other".into(),
            address: address.into(),
            until_ms,
        }
    }

    /// The journal of a server that holds, or held, a worker id.
    fn journal_of(worker: u32) -> JournalRecord {
        JournalRecord::new("me", "leaf").with_lease(JournalLease {
            worker: WorkerId::new(worker),
            epoch: 5,
            nonce: 70,
            until_ms: 90_000,
            acknowledged: true,
            below_ms: 12_000,
            written_ms: 9_000,
        })
    }

    fn own_row(worker: u32, journal: &JournalRecord) -> LeaseRecord {
        LeaseRecord {
            holder: journal.row_holder(70),
            ..row(worker, HERE, 90_000)
        }
    }

    #[track_caller]
    fn check(claimant: &Claimant<'_>, rows: &[LeaseRecord], expected: Option<(u32, u64)>) {
        let chosen = choose(claimant, rows, 0, &mut Rng::with_seed(7));
        let found = chosen.map(|one| (one.worker.get(), one.start_ms));
        assert_eq!(found, expected, "{claimant:?} {rows:?}");
    }

    /// Guards the order of the rules: each row of this test removes the best choice of the one
    /// before.
    #[test]
    fn the_first_rule_that_knows_a_worker_id_decides() {
        let journal = journal_of(3);
        let ended = [row(0, "", 4_000), row(1, "", 2_000), row(2, HERE, 3_000)];
        let held = [row(4, "", 50_000), row(5, HERE, 50_000)];
        let rows = [&ended[..], &held[..]].concat();
        // Our own, though its lease has not ended.
        let with_own = [&rows[..], &[own_row(3, &journal)]].concat();
        check(&claimant(&journal), &with_own, Some((3, 12_000)));
        // The previous one, whose row is gone.
        check(&claimant(&journal), &rows, Some((3, 0)));
        // Not if another server has claimed it: then the one that was held at our address.
        let taken = [&rows[..], &[row(3, "", 50_000)]].concat();
        check(&claimant(&journal), &taken, Some((2, 3_000)));
        // The hint comes after that, and only for a server that never had one.
        let new = JournalRecord::new("me", "leaf");
        let hinted = |journal| Claimant {
            preferred: Some(WorkerId::new(0)),
            ..claimant(journal)
        };
        check(&hinted(&new), &rows, Some((2, 3_000)));
        let elsewhere = [&ended[..2], &held[..]].concat();
        check(&hinted(&new), &elsewhere, Some((0, 4_000)));
        let taken = [&ended[..2], &[row(3, "", 50_000)]].concat();
        check(&hinted(&journal), &taken, Some((1, 2_000)));
        // The lease that ended first; if none has ended, the smallest worker id without a row.
        check(&claimant(&new), &elsewhere, Some((1, 2_000)));
        check(&claimant(&new), &held, Some((0, 0)));
        let all: Vec<LeaseRecord> = (0..=7).map(|worker| row(worker, "", 50_000)).collect();
        check(&claimant(&new), &all, None);
    }

    /// Guards that no rule overrides the configured choice, or the layout.
    #[test]
    fn only_wanted_worker_ids_are_chosen() {
        let journal = JournalRecord::new("me", "leaf");
        let exactly = Claimant {
            choice: WorkerChoice::Exactly(WorkerId::new(6)),
            preferred: Some(WorkerId::new(1)),
            ..claimant(&journal)
        };
        let ended = row(1, HERE, 2_000);
        check(&exactly, std::slice::from_ref(&ended), Some((6, 0)));
        check(&exactly, &[ended, row(6, "", 3_000)], Some((6, 3_000)));
        check(&exactly, &[row(6, "", 50_000)], None);
        let beyond = Claimant {
            preferred: Some(WorkerId::new(8)),
            ..claimant(&journal)
        };
        check(&beyond, &[row(8, HERE, 2_000)], Some((0, 0)));
    }

    /// Guards that a worker id is left unused as long as its ids may lie ahead of the clock.
    #[test]
    fn avoided_worker_ids_are_left_alone() {
        let journal = journal_of(3);
        let avoided = [WorkerId::new(3), WorkerId::new(0)];
        let claimant = Claimant {
            avoided: &avoided,
            ..claimant(&journal)
        };
        check(&claimant, &[own_row(3, &journal)], Some((1, 0)));
        check(&claimant, &[], Some((1, 0)));
    }

    /// Guards that the previous worker id is claimed from a registry that was emptied.
    #[test]
    fn the_last_one_that_was_lost_comes_before_that_of_the_journal() {
        let journal = journal_of(3);
        let lost = [4, 5].map(|worker| WorkerUntil {
            worker: WorkerId::new(worker),
            until_ms: 11_000,
        });
        let claimant = Claimant {
            lost: &lost,
            ..claimant(&journal)
        };
        check(&claimant, &[], Some((5, 0)));
        // In later rounds another server may be faster at the same one.
        let mut random = Rng::with_seed(7);
        let chosen = choose(&claimant, &[], 1, &mut random).map(|one| one.worker.get());
        assert!(chosen < Some(2), "one of the best two: {chosen:?}");
    }

    /// Guards that many servers that start at once separate.
    #[test]
    fn each_round_draws_from_twice_as_many() {
        let journal = JournalRecord::new("me", "leaf");
        let claimant = Claimant {
            worker_max: 1023,
            ..claimant(&journal)
        };
        for (round, expected) in [(0, 1), (1, 2), (3, 8)] {
            let mut random = Rng::with_seed(7);
            let chosen: BTreeSet<u32> = (0..200)
                .filter_map(|_| choose(&claimant, &[], round, &mut random))
                .map(|one| one.worker.get())
                .collect();
            assert_eq!(chosen.len(), expected, "round {round}: {chosen:?}");
            assert_eq!(chosen.last().copied(), u32::try_from(expected - 1).ok());
        }
    }
}
