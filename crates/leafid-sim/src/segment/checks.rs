//! The checkers: each reads the history of a run and knows one promise. None shares code with the
//! system, none looks into it. Linear in the length of the history, but for sorting segments.

mod ascending;
mod availability;
mod conflicts;
mod floors;
mod gaps;
mod ownership;
mod unique;

use crate::segment::history::Event;
use crate::segment::plan::Plan;
use crate::violation::Violation;

type Check = fn(&[Event]) -> Result<(), Violation>;

const CHECKS: [Check; 6] = [
    unique::check,
    ascending::check,
    ownership::check,
    floors::check,
    gaps::check,
    availability::check,
];

/// Runs every checker; returns the first broken promise.
pub(crate) fn check_all(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    CHECKS.iter().try_for_each(|check| check(events))?;
    conflicts::check(events, plan.options.call_max)
}

/// Helpers of the checkers' own tests.
#[cfg(test)]
mod samples {
    use leafid::Segment;

    use crate::executor::Process;
    use crate::segment::history::Event;

    pub(super) const ONE: Process = Process(1);
    pub(super) const TWO: Process = Process(2);

    pub(super) fn segment(start: u64, end: u64) -> Segment {
        Segment::new(start, end).expect("the bounds are in order")
    }

    pub(super) fn began(call: usize, process: Process) -> Event {
        Event::Began {
            call,
            process,
            tag: 0,
            block: None,
            at_risk: 0,
        }
    }

    pub(super) fn issued(call: usize, start: u64, end: u64) -> Event {
        Event::Issued {
            call,
            ranges: vec![segment(start, end)],
        }
    }

    pub(super) fn acknowledged(process: Process, start: u64, end: u64) -> Event {
        Event::Acknowledged {
            process,
            tag: 0,
            floor: None,
            previous: start,
            segment: segment(start, end),
        }
    }

    pub(super) fn reserved(start: u64, end: u64) -> Event {
        Event::Reserved {
            tag: 0,
            segment: segment(start, end),
            is_noticed: false,
        }
    }
}
