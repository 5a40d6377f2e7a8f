//! No id of a tag is issued twice: by any server, any tag of this name, or another writer.
//!
//! Where the store went back in time, a server can promise that only for what it has seen itself:
//! there the ids of each process are compared among themselves. Where a replica was promoted, the
//! promise holds for all, if whoever drew first had come further than the replica: it notices, and
//! goes above what others may have. If nobody notices, only witnesses could tell. Neither is it kept
//! for one that had not heard of another's leap after an earlier promotion: the margin is for what
//! others draw, and not for another margin.

use std::collections::{BTreeMap, BTreeSet};

use leafid::Segment;

use crate::executor::Process;
use crate::segment::history::{Event, TagNumber};
use crate::violation::Violation;

/// The ids among which none may repeat.
type Scope = (TagNumber, Option<Process>);

pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    let put_back = gone_back_unnoticed(events);
    for (scope, mut ranges) in ranges_by_scope(events, &put_back) {
        ranges.sort_unstable_by_key(Segment::start);
        if let Some(pair) = ranges
            .windows(2)
            .find(|pair| pair[0].end() > pair[1].start())
        {
            let message = format!(
                "tag {}: {} and {} were both issued",
                scope.0, pair[0], pair[1]
            );
            return Err(Violation::new("unique", message));
        }
    }
    Ok(())
}

/// The tags whose store went back undetectably.
fn gone_back_unnoticed(events: &[Event]) -> BTreeSet<TagNumber> {
    let (mut unnoticed, mut promoted) = (BTreeSet::new(), BTreeSet::new());
    // Where the last leap above a margin went.
    let mut leaps: BTreeMap<TagNumber, u64> = BTreeMap::new();
    for event in events {
        match event {
            Event::PutBack { tag } => {
                unnoticed.insert(*tag);
            }
            Event::Promoted { tag } => {
                promoted.insert(*tag);
            }
            Event::Reserved {
                tag,
                segment,
                is_noticed,
            } => {
                let leap = leaps.entry(*tag).or_default();
                let knows_all = *is_noticed && segment.start() > *leap;
                if promoted.remove(tag) && !knows_all {
                    unnoticed.insert(*tag);
                }
                if *is_noticed {
                    *leap = (*leap).max(segment.start());
                }
            }
            Event::LeafReserved { tag, .. } if promoted.contains(tag) => {
                unnoticed.insert(*tag);
            }
            _ => {}
        }
    }
    unnoticed
}

fn ranges_by_scope(
    events: &[Event],
    put_back: &BTreeSet<TagNumber>,
) -> BTreeMap<Scope, Vec<Segment>> {
    let mut calls = BTreeMap::new();
    let mut scopes: BTreeMap<Scope, Vec<Segment>> = BTreeMap::new();
    for event in events {
        match event {
            Event::Began {
                call, process, tag, ..
            } => {
                let own = put_back.contains(tag).then_some(*process);
                calls.insert(*call, (*tag, own));
            }
            Event::Issued { call, ranges } => {
                let scope = calls[call];
                scopes.entry(scope).or_default().extend(ranges);
            }
            Event::LeafReserved { tag, segment } if !put_back.contains(tag) => {
                scopes.entry((*tag, None)).or_default().push(*segment);
            }
            _ => {}
        }
    }
    scopes
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn a_repeat_is_seen() {
        let apart = [
            began(0, ONE),
            issued(0, 1, 3),
            began(2, TWO),
            issued(2, 3, 4),
        ];
        assert!(check(&apart).is_ok());
        let twice = [
            began(0, ONE),
            issued(0, 1, 3),
            began(2, TWO),
            issued(2, 2, 4),
        ];
        assert!(check(&twice).is_err());
        let leaf = Event::LeafReserved {
            tag: 0,
            segment: segment(2, 9),
        };
        assert!(check(&[began(0, ONE), issued(0, 1, 3), leaf]).is_err());
    }

    #[test]
    fn after_a_promotion_that_was_noticed_all_answer_together() {
        let reserved = |is_noticed| Event::Reserved {
            tag: 0,
            segment: segment(1, 3),
            is_noticed,
        };
        let twice = |is_noticed| {
            [
                began(0, ONE),
                issued(0, 1, 3),
                Event::Promoted { tag: 0 },
                reserved(is_noticed),
                began(4, TWO),
                issued(4, 1, 3),
            ]
        };
        assert!(check(&twice(true)).is_err());
        assert!(check(&twice(false)).is_ok());
    }

    #[test]
    fn after_a_store_went_back_each_process_answers_for_itself() {
        let back = Event::PutBack { tag: 0 };
        let two = [
            began(0, ONE),
            issued(0, 1, 3),
            began(2, TWO),
            issued(2, 1, 3),
            back.clone(),
        ];
        assert!(check(&two).is_ok());
        let one = [
            began(0, ONE),
            issued(0, 1, 3),
            began(2, ONE),
            issued(2, 1, 3),
            back,
        ];
        assert!(check(&one).is_err());
    }
}
