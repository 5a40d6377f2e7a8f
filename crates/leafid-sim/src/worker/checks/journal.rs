//! No id lies above what its server's journal allows at that moment.

use std::collections::BTreeMap;

use super::{Event, Plan, ends, tick};
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut bounds = BTreeMap::new();
    for event in events {
        match event {
            Event::Journaled { identity, bound } => {
                bounds.insert(*identity, *bound);
            }
            Event::Issued {
                process,
                identity,
                ids,
                ..
            } => {
                let bound = bounds.get(identity).copied().flatten();
                for id in ends(ids) {
                    let tick = tick(plan, id);
                    let allows =
                        |(worker, below_ms)| worker == tick.worker && tick.end_ms <= below_ms;
                    if !bound.is_some_and(allows) {
                        let message = format!(
                            "process {}: {id} ({tick:?}) was issued, and the journal allows {bound:?}",
                            process.0
                        );
                        return Err(Violation::new("journal", message));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use leafid::WorkerId;

    use super::super::samples::*;
    use super::*;

    fn journaled(worker: WorkerId, below_ms: u64) -> Event {
        Event::Journaled {
            identity: ONE,
            bound: Some((worker, below_ms)),
        }
    }

    #[test]
    fn an_id_above_the_journal_is_seen() {
        let at = |at| issued(ONE, &[id(NOW_MS, 0), id(NOW_MS + at, 0)]);
        let bound = journaled(SEVEN, NOW_MS + 5);
        assert!(check(&[bound.clone(), at(4)], &plan()).is_ok());
        assert!(check(&[bound.clone(), at(5)], &plan()).is_err());
        assert!(check(&[at(4), bound.clone()], &plan()).is_err());
        let other = journaled(WorkerId::new(8), NOW_MS + 5);
        assert!(check(&[bound, other, at(4)], &plan()).is_err());
    }
}
