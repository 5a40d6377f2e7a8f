//! `History`: what happened, in order, for the checkers. The system under test knows nothing of it.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use leafid::WorkerId;

use crate::executor::{Process, fold, lock};

/// Whose journal it is: a server that starts without one is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity(pub(crate) u32);

/// How far a worker id is somebody's, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) identity: Identity,
    pub(crate) worker: WorkerId,
    pub(crate) until_ms: u64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A call got ids.
    Issued {
        process: Process,
        identity: Identity,
        ids: Vec<u64>,
        /// When it was, by the true clock.
        at: Duration,
        /// The server's time, in milliseconds since 1970.
        now_ms: u64,
    },
    /// A call was refused until later.
    Refused,
    /// The registry wrote a row; and how it was before.
    Written { held: Held, before: Option<Held> },
    /// A server has the name and the journal of another one that is gone, and takes over its row.
    Inherited {
        from: Identity,
        to: Identity,
        worker: WorkerId,
    },
    /// A server learned that a row is its own.
    Acknowledged { held: Held },
    /// The registry has lost rows that it had acknowledged.
    Forgot { at: Duration },
    /// A process read its own row; and how often the registry had forgotten by then.
    Looked { process: Process, forgot: u64 },
    /// What it read is not what the registry had promised.
    Denied { process: Process, worker: WorkerId },
    /// It learned that the registry has written its own row, and how often that had forgotten by
    /// then.
    Won {
        process: Process,
        worker: WorkerId,
        forgot: u64,
    },
    /// Until then a process had no turn, no disk or no answer with which to read its row.
    Hindered { process: Process, until: Duration },
    /// A journal has become durable: ids of this worker id may lie below this time.
    Journaled {
        identity: Identity,
        bound: Option<(WorkerId, u64)>,
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

    pub(crate) fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        lock(&self.events)
    }

    /// All of it folded into one number, which two runs of one seed share.
    pub(crate) fn digest(&self) -> u64 {
        self.events().iter().fold(0, |digest, event| match event {
            Event::Issued { ids, now_ms, .. } => {
                ids.iter().fold(fold(digest, *now_ms), |d, id| fold(d, *id))
            }
            Event::Refused
            | Event::Forgot { .. }
            | Event::Denied { .. }
            | Event::Hindered { .. } => fold(digest, 1),
            Event::Looked { forgot, .. } | Event::Won { forgot, .. } => fold(digest, *forgot),
            Event::Written { held, .. } => fold(fold(digest, 2), held.until_ms),
            Event::Inherited { to, .. } => fold(digest, u64::from(to.0)),
            Event::Acknowledged { held } => fold(fold(digest, 3), held.until_ms),
            Event::Journaled { bound, .. } => fold(digest, bound.map_or(4, |bound| bound.1)),
        })
    }
}
