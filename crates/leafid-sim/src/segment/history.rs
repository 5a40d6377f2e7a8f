//! `History`: what happened, in order, for the checkers. The system under test knows nothing of it.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use leafid::Segment;

use crate::executor::{Process, TaskNumber, fold, lock};

/// A tag, by its place in the plan.
pub(crate) type TagNumber = usize;
/// A call for ids, by its place in time.
pub(crate) type CallNumber = usize;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A caller asked for ids.
    Began {
        call: CallNumber,
        process: Process,
        tag: TagNumber,
        /// The thread-local block it came through; those have an order of their own.
        block: Option<usize>,
        /// How many ids are lost at most when it ends without an answer: those that were gathered
        /// for it. A call for one id loses none.
        at_risk: u64,
    },
    /// A call got ids.
    Issued {
        call: CallNumber,
        ranges: Vec<Segment>,
    },
    /// A call was refused until later.
    Refused {
        call: CallNumber,
    },
    /// A caller gave up before its answer came.
    Abandoned {
        call: CallNumber,
    },
    /// A server asked the store for a segment.
    Asked {
        process: Process,
        task: TaskNumber,
        tag: TagNumber,
        floor: Option<u64>,
        at: Duration,
    },
    /// It got a conflict: another transaction was in the way, and nothing was changed.
    Conflicted {
        process: Process,
        task: TaskNumber,
        tag: TagNumber,
        at: Duration,
    },
    /// A process is paused until then.
    Paused {
        process: Process,
        until: Duration,
    },
    /// A probe was answered by a server that accepts reservations.
    Probed {
        process: Process,
    },
    /// The server reported that its store is down, or that it is back.
    ToldDown {
        process: Process,
    },
    ToldUp {
        process: Process,
    },
    /// The store made a reservation durable, whether or not its caller learns of it.
    Reserved {
        tag: TagNumber,
        segment: Segment,
        /// It held less than the caller had known of.
        is_noticed: bool,
    },
    /// The server learned of its reservation.
    Acknowledged {
        process: Process,
        tag: TagNumber,
        /// What it knew at the request; two of its calls may be in progress at once.
        floor: Option<u64>,
        previous: u64,
        segment: Segment,
    },
    /// The server reported that the store went back in time.
    ToldRegressed {
        process: Process,
        tag: TagNumber,
    },
    /// Another writer drew a segment with Leaf's own statements.
    LeafReserved {
        tag: TagNumber,
        segment: Segment,
    },
    /// A tag was created, or raised, and goes on from here.
    Created {
        tag: TagNumber,
        max_id: u64,
    },
    /// The store went back in time.
    PutBack {
        tag: TagNumber,
    },
    /// So it did, as a replica that lagged was promoted.
    Promoted {
        tag: TagNumber,
    },
    /// The largest id of a tag was set.
    LimitSet {
        tag: TagNumber,
        largest: u64,
    },
    /// How a server's tag stood at its end.
    Ended {
        process: Process,
        tag: TagNumber,
        issued: u64,
        remaining: u64,
        skipped: u64,
        /// Ids left in blocks of callers.
        in_blocks: u64,
    },
}

/// The record of one run.
#[derive(Default)]
pub(crate) struct History {
    events: Mutex<Vec<Event>>,
}

impl History {
    pub(crate) fn push(&self, event: Event) {
        lock(&self.events).push(event);
    }

    /// Notes the beginning of a call.
    pub(crate) fn began(
        &self,
        process: Process,
        tag: TagNumber,
        block: Option<usize>,
        at_risk: u64,
    ) -> CallNumber {
        let mut events = lock(&self.events);
        let call = events.len();
        events.push(Event::Began {
            call,
            process,
            tag,
            block,
            at_risk,
        });
        call
    }

    pub(crate) fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        lock(&self.events)
    }

    /// All of it folded into one number, which two runs of one seed share.
    pub(crate) fn digest(&self) -> u64 {
        let text = |event: &Event| format!("{event:?}");
        let events = self.events();
        events.iter().map(text).fold(0, |digest, event| {
            event
                .bytes()
                .fold(digest, |digest, byte| fold(digest, u64::from(byte)))
        })
    }
}
