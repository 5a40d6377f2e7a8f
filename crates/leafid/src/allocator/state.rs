//! `State`: all of an allocator that is not needed to take an id, behind its one mutex.
//!
//! Two small machines say what is to be done: [`TagState`], which is what the store said of the tag,
//! and [`RefillState`], which is where the tag stands with the driver. What they rest on is kept
//! apart, each part with its own rules: the row, the bounds in the store, the failures (supply), who
//! wants ids (demand), and what was used (accounting).

mod bounds;
mod demands;
mod failures;
mod row;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::status::Stage;
use crate::error::{IssueError, TransientReason};
use crate::store::Reserved;
use crate::tag::Tag;

use bounds::Bounds;
use demands::Demands;
use failures::Failures;
use row::Row;
use usage::Usage;

/// What a caller who finds no id is told when a call to the store runs: a guess, bounded.
const LOADING_RETRY_MIN: Duration = Duration::from_millis(5);
pub(super) const LOADING_RETRY_MAX: Duration = Duration::from_secs(1);

/// All that is not needed to take an id.
pub(super) struct State {
    pub(super) tag_state: TagState,
    pub(super) refill_state: RefillState,
    /// What is known of its row.
    pub(super) row: Row,
    /// How far it has come in the store.
    pub(super) bounds: Bounds,
    /// What went wrong with calls for it.
    pub(super) failures: Failures,
    /// Who wants ids that memory does not hold.
    pub(super) demands: Demands,
    /// What was reserved, used and skipped.
    pub(super) usage: Usage,
}

/// What the store last said of the tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TagState {
    /// Nothing is known. Exits: `Live`, `Unknown`, `Unusable`, `OtherKind`, `Retired`.
    New,
    /// It has a row. Exits: `Unknown`, `Unusable`, `OtherKind`, `Exhausted`, and before the first
    /// segment `Retired`.
    Live,
    /// It has no row, and the store is not asked again before `until`. Exits: `New` (time),
    /// `Retired`.
    Unknown { until: Duration },
    /// Its row cannot be used. Exits: `New` (time), `Retired`.
    Unusable { until: Duration, message: String },
    /// Its ids come from another generator. This has no end by time: a store that is down must
    /// not stop ids that need no store. Exits: `New` (its row was read again), `Unknown`.
    OtherKind,
    /// Its limit is reached. Exits: `Live` (a larger limit), `Unknown`, `OtherKind`, and where no
    /// segment was drawn `Retired`.
    Exhausted,
    /// This allocator left the map; look the tag up again. No exit.
    Retired,
}

/// Where the tag stands with the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefillState {
    /// Nothing to do. Exits: `Queued`.
    Idle,
    /// The driver has it, or will get to it. Exits: `Idle`, `Waiting`.
    Queued,
    /// The last call failed; the driver takes it up again at `until`. Exits: `Queued`.
    Waiting { until: Duration },
}

impl TagState {
    pub(super) fn is_over(&self, now: Duration) -> bool {
        match self {
            Self::Unknown { until } | Self::Unusable { until, .. } => now >= *until,
            _ => false,
        }
    }

    /// Whether ids in memory may go out.
    pub(super) fn may_issue(&self) -> bool {
        matches!(self, Self::Live | Self::Exhausted)
    }
}

impl State {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            tag_state: TagState::New,
            refill_state: RefillState::Idle,
            row: Row::unknown(),
            bounds: Bounds::default(),
            failures: Failures::default(),
            demands: Demands::new(now),
            usage: Usage::new(now),
        }
    }

    /// Takes note of a segment that is good to issue from, when `floor` was known before it; `None`
    /// if others' part in it is not to be counted.
    pub(super) fn on_reserved(&mut self, shared: &Shared, floor: Option<u64>, reserved: &Reserved) {
        if self.bounds.is_unused() {
            shared.note_used();
        }
        self.bounds.reserved(floor, reserved);
    }

    /// Takes note of a segment that showed that the store went back in time.
    pub(super) fn on_regressed(&mut self, shared: &Shared, reserved: &Reserved) {
        if self.bounds.is_unused() {
            shared.note_used();
        }
        self.bounds.regressed(reserved);
        self.usage.discarded(reserved.segment.len());
    }

    /// How many ids the store leaves out if it holds less than the floor.
    pub(super) fn margin(&self, shared: &Shared) -> u64 {
        let worked_out = || {
            let policy = self.row.policy(shared.options.policy);
            self.bounds.margin(policy, self.row.own_step())
        };
        shared.options.regression_margin.unwrap_or_else(worked_out)
    }

    pub(super) fn loading_retry(&self) -> Duration {
        let last_took = self.usage.last_took;
        last_took.clamp(LOADING_RETRY_MIN, LOADING_RETRY_MAX)
    }

    /// Why there is no id now, and when to try again.
    pub(super) fn transient(&self, tag: &Tag, now: Duration) -> IssueError {
        let retry_after = match self.refill_state {
            RefillState::Waiting { until } => until.saturating_sub(now),
            _ => self.loading_retry(),
        };
        // Even while the store is tried again, which may take as long as a call may last.
        match &self.failures.last_error {
            Some(error) => IssueError::store_failed(tag, retry_after, Arc::clone(error)),
            None => IssueError::transient(tag, retry_after, TransientReason::Loading),
        }
    }

    pub(super) fn stage(&self) -> Stage {
        match self.tag_state {
            TagState::New | TagState::Retired => Stage::New,
            TagState::Live => Stage::Live,
            TagState::Unknown { .. } => Stage::Unknown,
            TagState::Unusable { .. } => Stage::Unusable,
            TagState::OtherKind => Stage::OtherKind,
            TagState::Exhausted => Stage::Exhausted,
        }
    }
}
