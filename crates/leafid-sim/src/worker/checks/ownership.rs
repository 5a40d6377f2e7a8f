//! Each id's tick lies completely in a range that the registry recorded for that very server, and
//! that the server had learned of before. Ranges of two servers never overlap: a claim of another's
//! row starts where that one's range ends.

use std::collections::BTreeMap;

use leafid::WorkerId;

use super::super::history::{Held, Identity};
use super::{Event, Plan, Tick, ends, tick};
use crate::violation::Violation;

pub(super) fn check(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    let mut owned: BTreeMap<(Identity, WorkerId), Owned> = BTreeMap::new();
    for event in events {
        match event {
            Event::Written { held, before } => {
                let owned = owned.entry((held.identity, held.worker)).or_default();
                owned.write(held, before.as_ref());
            }
            Event::Inherited { from, to, worker } => {
                // It stays there: a registry that forgot may let another copy inherit it too.
                let inherited = owned.entry((*from, *worker)).or_default().ranges.clone();
                let heir = owned.entry((*to, *worker)).or_default();
                for (start_ms, end_ms) in inherited {
                    heir.join(start_ms, end_ms);
                }
            }
            Event::Acknowledged { held } => {
                let owned = owned.entry((held.identity, held.worker)).or_default();
                owned.known_ms = owned.known_ms.max(held.until_ms);
            }
            Event::Issued {
                process,
                identity,
                ids,
                ..
            } => {
                for id in ends(ids) {
                    let tick = tick(plan, id);
                    let own = owned.entry((*identity, tick.worker)).or_default();
                    if !own.holds(tick) {
                        let message = format!(
                            "process {}: {id} ({tick:?}) was issued, but is not its own: {own:?}",
                            process.0
                        );
                        return Err(Violation::new("ownership", message));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a server owns of a worker id.
#[derive(Debug, Default)]
struct Owned {
    /// Where each range ends, by its start.
    ranges: BTreeMap<u64, u64>,
    /// How far the server knows.
    known_ms: u64,
}

impl Owned {
    fn write(&mut self, held: &Held, before: Option<&Held>) {
        match before {
            Some(before) if before.identity == held.identity => {
                if let Some(mut last) = self.ranges.last_entry() {
                    last.insert(held.until_ms);
                }
            }
            _ => {
                let start_ms = before.map_or(0, |before| before.until_ms);
                self.join(start_ms, held.until_ms);
            }
        }
    }

    /// A registry that forgot gives a range that touches others which it gave before.
    fn join(&mut self, mut start_ms: u64, mut end_ms: u64) {
        self.ranges.retain(|from_ms, to_ms| {
            let touches = *from_ms <= end_ms && *to_ms >= start_ms;
            if touches {
                (start_ms, end_ms) = (start_ms.min(*from_ms), end_ms.max(*to_ms));
            }
            !touches
        });
        self.ranges.insert(start_ms, end_ms);
    }

    fn holds(&self, tick: Tick) -> bool {
        let range = self.ranges.range(..=tick.start_ms).next_back();
        range.is_some_and(|(_, end_ms)| tick.end_ms <= *end_ms) && tick.end_ms <= self.known_ms
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    fn verdict(parts: &[&[Event]]) -> Result<(), Violation> {
        check(&parts.concat(), &plan())
    }

    #[test]
    fn a_foreign_id_is_seen() {
        let first = claimed(held(ONE, NOW_MS + 10), None);
        let second = claimed(held(TWO, NOW_MS + 30), Some(held(ONE, NOW_MS + 10)));
        let by = |identity, at| [issued(identity, &[id(NOW_MS + at, 0)])];
        assert!(verdict(&[&first, &by(ONE, 9)]).is_ok());
        assert!(verdict(&[&first, &by(ONE, 10)]).is_err());
        assert!(verdict(&[&by(ONE, 9), &first]).is_err());
        assert!(verdict(&[&first, &second, &by(ONE, 9), &by(TWO, 10)]).is_ok());
        assert!(verdict(&[&first, &second, &by(TWO, 9)]).is_err());
        assert!(verdict(&[&first[..1], &by(ONE, 9)]).is_err(), "not known");
    }

    #[test]
    fn what_was_given_back_is_no_longer_owned() {
        let first = claimed(held(ONE, NOW_MS + 10), None);
        let back = claimed(held(ONE, NOW_MS + 5), Some(held(ONE, NOW_MS + 10)));
        let at = |at| [issued(ONE, &[id(NOW_MS + at, 0)])];
        assert!(verdict(&[&first, &back, &at(4)]).is_ok());
        assert!(verdict(&[&first, &back, &at(5)]).is_err());
    }
}
