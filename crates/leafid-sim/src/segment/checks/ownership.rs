//! Each issued id lies in a segment that the store acknowledged to that very process, and none
//! lies above the largest limit its tag ever had.

use std::collections::BTreeMap;

use leafid::Segment;

use crate::executor::Process;
use crate::segment::history::{Event, TagNumber};
use crate::violation::Violation;

const NAME: &str = "ownership";

pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    let mut owned: BTreeMap<(Process, TagNumber), Pieces> = BTreeMap::new();
    let mut limits: BTreeMap<TagNumber, u64> = BTreeMap::new();
    let mut calls = BTreeMap::new();
    for event in events {
        match event {
            Event::LimitSet { tag, largest } => {
                let limit = limits.entry(*tag).or_default();
                *limit = (*largest).max(*limit);
            }
            Event::Acknowledged {
                process,
                tag,
                segment,
                ..
            } => owned.entry((*process, *tag)).or_default().add(*segment),
            Event::Began {
                call, process, tag, ..
            } => {
                calls.insert(*call, (*process, *tag));
            }
            Event::Issued { call, ranges } => {
                let key = calls[call];
                let pieces = owned.entry(key).or_default();
                if let Some(range) = ranges.iter().find(|range| !pieces.hold(**range)) {
                    let message = format!(
                        "tag {} of process {}: {range} was issued, but is not its own",
                        key.1, key.0.0
                    );
                    return Err(Violation::new(NAME, message));
                }
                let largest = limits.get(&key.1).copied().unwrap_or(u64::MAX);
                if let Some(range) = ranges.iter().find(|range| range.end() - 1 > largest) {
                    let message = format!("tag {}: {range} is above its limit {largest}", key.1);
                    return Err(Violation::new(NAME, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a process owns of a tag: adjacent segments as one piece, by start.
#[derive(Default)]
struct Pieces(BTreeMap<u64, u64>);

impl Pieces {
    fn add(&mut self, segment: Segment) {
        let before = self.0.range_mut(..=segment.start()).next_back();
        match before {
            Some((_, end)) if *end >= segment.start() => *end = segment.end().max(*end),
            _ => {
                self.0.insert(segment.start(), segment.end());
            }
        }
    }

    fn hold(&self, range: Segment) -> bool {
        let piece = self.0.range(..=range.start()).next_back();
        piece.is_some_and(|(_, end)| range.end() <= *end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn a_foreign_id_is_seen() {
        let own = [
            acknowledged(ONE, 1, 5),
            acknowledged(ONE, 5, 9),
            began(2, ONE),
        ];
        let with = |event: Event| [own.as_slice(), &[event]].concat();
        assert!(check(&with(issued(2, 4, 9))).is_ok());
        assert!(check(&with(issued(2, 4, 10))).is_err());
        let foreign = [acknowledged(ONE, 1, 5), began(1, TWO), issued(1, 1, 2)];
        assert!(check(&foreign).is_err());
        let early = [began(0, ONE), issued(0, 1, 2), acknowledged(ONE, 1, 5)];
        assert!(check(&early).is_err());
    }

    #[test]
    fn an_id_above_the_limit_is_seen() {
        let limit = Event::LimitSet { tag: 0, largest: 3 };
        let with = |end| {
            [
                limit.clone(),
                acknowledged(ONE, 1, 9),
                began(2, ONE),
                issued(2, 1, end),
            ]
        };
        assert!(check(&with(4)).is_ok());
        assert!(check(&with(5)).is_err());
    }
}
