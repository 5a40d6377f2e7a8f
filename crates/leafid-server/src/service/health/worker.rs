//! `WorkerReadiness`: the state of the worker id and the clock, as lines for people.

use std::fmt;

use leafid::store::LeaseRecord;
use leafid::{RegistryStage, RegistryStatus};

use crate::wall_clock::date;

/// The state of the worker id and the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkerReadiness {
    stage: RegistryStage,
    is_ready: bool,
    /// The journal of this server alone is the problem.
    pub(super) journal_fails: bool,
    /// `None`: forever, as it is not leased.
    left_s: Option<u64>,
    store_answers: Option<bool>,
    clock_offset_ms: i64,
    borrowed_ms: u64,
    end_ms: i64,
}

impl WorkerReadiness {
    pub(super) fn of(status: &RegistryStatus) -> Self {
        let is_leased = |until_ms| until_ms != LeaseRecord::FOREVER;
        let leased = status.lease.filter(|lease| is_leased(lease.until_ms));
        Self {
            stage: status.stage.clone(),
            is_ready: status.is_ready(),
            journal_fails: status.journal_fails,
            left_s: leased.map(|_| status.left_ms / 1000),
            store_answers: status.store_answers,
            clock_offset_ms: status.clock_offset_ms,
            borrowed_ms: status.borrowed_ms,
            end_ms: status.end_ms,
        }
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }
}

/// How far the wall clock may be off before it counts as wrong; the library's own bound.
const OFFSET_MAX_MS: u64 = 1000;

impl fmt::Display for WorkerReadiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |is_good: bool| if is_good { '+' } else { '-' };
        write!(f, "[{}]worker: {}", mark(self.is_ready), self.stage)?;
        match self.left_s {
            Some(left_s) => writeln!(f, ", leased for {left_s} s")?,
            None => writeln!(f)?,
        }
        match self.store_answers {
            Some(true) => writeln!(f, "[+]registry: answers")?,
            Some(false) => writeln!(f, "[-]registry: does not answer")?,
            None => {}
        }
        let is_near = self.clock_offset_ms.unsigned_abs() <= OFFSET_MAX_MS;
        writeln!(
            f,
            "[{}]clock: the wall clock is {} ms ahead of the time in ids, which has borrowed {} ms",
            mark(is_near),
            self.clock_offset_ms,
            self.borrowed_ms
        )?;
        writeln!(f, "[+]layout: lasts until {}", date(self.end_ms))
    }
}
