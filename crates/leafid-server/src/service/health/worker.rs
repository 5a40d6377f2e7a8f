//! `WorkerReadiness`: the state of the worker id and the clock, as lines for people.

use std::fmt;

use leafid::RegistryStatus;
use leafid::store::LeaseRecord;

use crate::wall_clock::date;

/// The state of the worker id and the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkerReadiness(pub(super) RegistryStatus);

/// How far the wall clock may be off before it counts as wrong; the library's own bound.
const OFFSET_MAX_MS: u64 = 1000;

impl fmt::Display for WorkerReadiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |is_good: bool| if is_good { '+' } else { '-' };
        let Self(status) = self;
        write!(f, "[{}]worker: {}", mark(status.is_ready()), status.stage)?;
        match status.lease {
            Some(lease) if lease.until_ms != LeaseRecord::FOREVER => {
                writeln!(f, ", leased for {} s", status.left_ms / 1000)?;
            }
            _ => writeln!(f)?,
        }
        match status.store_answers {
            Some(true) => writeln!(f, "[+]registry: answers")?,
            Some(false) => writeln!(f, "[-]registry: does not answer")?,
            None => {}
        }
        let is_near = status.clock_offset_ms.unsigned_abs() <= OFFSET_MAX_MS;
        writeln!(
            f,
            "[{}]clock: the wall clock is {} ms ahead of the time in ids, which has borrowed {} ms",
            mark(is_near),
            status.clock_offset_ms,
            status.borrowed_ms
        )?;
        writeln!(f, "[+]layout: lasts until {}", date(status.end_ms))
    }
}
