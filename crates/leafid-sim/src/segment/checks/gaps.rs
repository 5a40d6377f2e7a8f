//! Where every number went. A tag's reservations follow each other without overlap, and without a
//! hole but where the tag was created anew; what a process reserved was issued, skipped, or still
//! in memory at its end; and what it issued its callers got, but for what was gathered for calls
//! that were under way at its end, or stayed in a thread's block.

use std::collections::{BTreeMap, BTreeSet};

use leafid::Segment;

use crate::executor::Process;
use crate::segment::history::{Event, TagNumber};
use crate::violation::Violation;

const NAME: &str = "gaps";

pub(super) fn check(events: &[Event]) -> Result<(), Violation> {
    check_reservations(events)?;
    check_processes(events)
}

fn check_reservations(events: &[Event]) -> Result<(), Violation> {
    let mut tags: BTreeMap<TagNumber, Vec<Segment>> = BTreeMap::new();
    let mut put_back = BTreeSet::new();
    let mut created = BTreeSet::new();
    for event in events {
        match event {
            Event::Reserved { tag, segment, .. } | Event::LeafReserved { tag, segment } => {
                tags.entry(*tag).or_default().push(*segment);
            }
            Event::Created { tag, max_id } => {
                created.insert((*tag, *max_id));
            }
            Event::PutBack { tag } | Event::Promoted { tag } => {
                put_back.insert(*tag);
            }
            _ => {}
        }
    }
    tags.retain(|tag, _| !put_back.contains(tag));
    for (tag, segments) in &mut tags {
        segments.sort_unstable_by_key(Segment::start);
        let torn = |pair: &&[Segment]| {
            let (end, start) = (pair[0].end(), pair[1].start());
            end > start || end < start && !created.contains(&(*tag, start))
        };
        if let Some(pair) = segments.windows(2).find(torn) {
            let message = format!("tag {tag}: {} was reserved after {}", pair[1], pair[0]);
            return Err(Violation::new(NAME, message));
        }
    }
    Ok(())
}

/// The numbers of one tag of one process.
#[derive(Debug, Default)]
struct Sums {
    reserved: u64,
    received: u64,
    /// What may have been gathered for calls in progress.
    at_risk: u64,
}

fn check_processes(events: &[Event]) -> Result<(), Violation> {
    let mut tags: BTreeMap<(Process, TagNumber), Sums> = BTreeMap::new();
    let mut calls = BTreeMap::new();
    for event in events {
        match event {
            Event::Began {
                call,
                process,
                tag,
                at_risk,
                ..
            } => {
                calls.insert(*call, ((*process, *tag), *at_risk));
                tags.entry((*process, *tag)).or_default().at_risk += at_risk;
            }
            Event::Acknowledged {
                process,
                tag,
                segment,
                ..
            } => tags.entry((*process, *tag)).or_default().reserved += segment.len(),
            Event::Issued { call, ranges } => {
                let len: u64 = ranges.iter().map(Segment::len).sum();
                let (key, at_risk) = calls[call];
                let sums = tags.entry(key).or_default();
                sums.received += len;
                sums.at_risk -= at_risk;
            }
            // What was gathered for it counts as skipped.
            Event::Refused { call } | Event::Abandoned { call } => {
                let (key, at_risk) = calls[call];
                tags.entry(key).or_default().at_risk -= at_risk;
            }
            Event::Ended {
                process,
                tag,
                issued,
                remaining,
                skipped,
                in_blocks,
            } => {
                let sums = tags.entry((*process, *tag)).or_default();
                let is_complete = issued + remaining + skipped == sums.reserved;
                let at_most = sums.received + sums.at_risk + in_blocks;
                if !is_complete || !(sums.received..=at_most).contains(issued) {
                    let message = format!(
                        "tag {tag} of process {}: {sums:?} do not add up with {event:?}",
                        process.0
                    );
                    return Err(Violation::new(NAME, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn a_hole_and_an_overlap_between_reservations_are_seen() {
        assert!(check(&[reserved(5, 9), reserved(1, 5)]).is_ok());
        assert!(check(&[reserved(1, 5), reserved(6, 9)]).is_err());
        assert!(check(&[reserved(1, 5), reserved(4, 9)]).is_err());
        let anew = Event::Created { tag: 0, max_id: 6 };
        assert!(check(&[reserved(1, 5), anew, reserved(6, 9)]).is_ok());
        let back = Event::PutBack { tag: 0 };
        assert!(check(&[reserved(1, 5), back, reserved(4, 9)]).is_ok());
    }

    #[test]
    fn numbers_that_vanish_are_seen() {
        let ended = |issued, remaining, skipped| Event::Ended {
            process: ONE,
            tag: 0,
            issued,
            remaining,
            skipped,
            in_blocks: 0,
        };
        let life = [acknowledged(ONE, 1, 11), began(1, ONE), issued(1, 1, 4)];
        let with = |more: &[Event]| [life.as_slice(), more].concat();
        assert!(check(&with(&[ended(3, 7, 0)])).is_ok());
        assert!(check(&with(&[ended(3, 5, 2)])).is_ok());
        assert!(check(&with(&[ended(3, 6, 0)])).is_err(), "one is nowhere");
        assert!(
            check(&with(&[ended(4, 6, 0)])).is_err(),
            "one was issued to nobody"
        );
        let unanswered = Event::Began {
            call: 3,
            process: ONE,
            tag: 0,
            block: None,
            at_risk: 1,
        };
        assert!(check(&with(&[unanswered, ended(4, 6, 0)])).is_ok());
        assert!(
            check(&with(&[ended(2, 8, 0)])).is_err(),
            "one came from nowhere"
        );
    }
}
