//! The checkers: each reads the history of a run and knows one promise. None shares code with the
//! system but the layout, which decodes ids; none looks into it. Linear in the length of the
//! history, but for sorting ids.

mod ascending;
mod awareness;
mod journal;
mod ownership;
mod promptness;
mod stop_after_loss;
mod time_bounds;
mod unique;

use super::history::Event;
use super::plan::Plan;
use crate::violation::Violation;

type Check = fn(&[Event], &Plan) -> Result<(), Violation>;

const CHECKS: [Check; 7] = [
    unique::check,
    ascending::check,
    ownership::check,
    journal::check,
    promptness::check,
    stop_after_loss::check,
    time_bounds::check,
];

/// Runs every checker; returns the first broken promise.
pub(crate) fn check_all(events: &[Event], plan: &Plan) -> Result<(), Violation> {
    CHECKS.iter().try_for_each(|check| check(events, plan))
}

/// When a tick begins and ends, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tick {
    worker: leafid::WorkerId,
    start_ms: u64,
    end_ms: u64,
}

/// The tick in which an id lies.
fn tick(plan: &Plan, id: u64) -> Tick {
    let layout = plan.options.snowflake.layout;
    let parts = layout.decompose(id);
    let start_ms = parts.unix_ms.unsigned_abs();
    Tick {
        worker: parts.worker,
        start_ms,
        end_ms: start_ms + layout.unit().ms(),
    }
}

/// The first and the last id of a call: those between lie between.
fn ends(ids: &[u64]) -> impl Iterator<Item = u64> {
    ids.first().into_iter().chain(ids.last()).copied()
}

/// Helpers of the checkers' own tests.
#[cfg(test)]
mod samples {
    use std::time::Duration;

    use leafid::{Fields, Layout, WorkerId};

    use super::super::history::{Event, Held, Identity};
    use super::super::plan::Plan;
    use crate::executor::Process;

    pub(super) const ONE: Identity = Identity(1);
    pub(super) const TWO: Identity = Identity(2);
    /// A worker id.
    pub(super) const SEVEN: WorkerId = WorkerId::new(7);
    /// 2026-01-01, in milliseconds since 1970.
    pub(super) const NOW_MS: u64 = 1_767_225_600_000;

    /// Leaf's layout, of a millisecond a tick.
    pub(super) fn plan() -> Plan {
        let mut plan = Plan::new(&mut fastrand::Rng::with_seed(1));
        plan.options.snowflake.layout = Layout::LEAF;
        plan
    }

    /// An id of worker 7.
    pub(super) fn id(unix_ms: u64, sequence: u64) -> u64 {
        let tick = Layout::LEAF.tick_of(unix_ms.cast_signed());
        let fields = Fields {
            tick: tick.expect("within the layout's time"),
            worker: SEVEN,
            sequence,
            shard: 0,
        };
        Layout::LEAF.compose(fields).get()
    }

    pub(super) fn issued(identity: Identity, ids: &[u64]) -> Event {
        Event::Issued {
            process: Process(identity.0),
            identity,
            ids: ids.to_vec(),
            at: Duration::ZERO,
            now_ms: NOW_MS,
        }
    }

    pub(super) fn held(identity: Identity, until_ms: u64) -> Held {
        Held {
            identity,
            worker: SEVEN,
            until_ms,
        }
    }

    /// A claim that was written and acknowledged.
    pub(super) fn claimed(held: Held, before: Option<Held>) -> [Event; 2] {
        [
            Event::Written { held, before },
            Event::Acknowledged { held },
        ]
    }
}
