//! `State`: all of an allocator that taking an id does not need, behind its one mutex.
//!
//! Two small state machines say what to do: [`TagState`], what the store said of the tag, and
//! [`RefillState`], what the driver is doing for it. Their data is kept in parts, each with its own
//! rules: the row, the bounds in the store, the failures (supply), the waiting callers (demand),
//! and what was used (accounting).

mod bounds;
mod demands;
mod failures;
mod row;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::floors::KeptFloor;
use super::status::Stage;
use crate::error::{IssueError, TransientReason};
use crate::store::Reserved;
use crate::tag::Tag;

use bounds::Bounds;
use demands::Demands;
use failures::Failures;
use row::Row;
use usage::Usage;

/// The retry time for callers that find no id while a call to the store runs: a bounded guess.
const LOADING_RETRY_MIN: Duration = Duration::from_millis(5);
pub(super) const LOADING_RETRY_MAX: Duration = Duration::from_secs(1);

/// All state that taking an id does not need.
pub(super) struct State {
    pub(super) tag_state: TagState,
    pub(super) refill_state: RefillState,
    /// The row of the tag.
    pub(super) row: Row,
    /// How far the tag has come in the store.
    pub(super) bounds: Bounds,
    /// The failures of its calls.
    pub(super) failures: Failures,
    /// The callers that want ids which memory does not hold.
    pub(super) demands: Demands,
    /// What was reserved, used and skipped.
    pub(super) usage: Usage,
}

/// What the store last said of the tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TagState {
    /// Not loaded yet. Exits: `Live`, `Unknown`, `Unusable`, `OtherKind`, `Retired`.
    New,
    /// It has a row. Exits: `Unknown`, `Unusable`, `OtherKind`, `Exhausted`, and before the first
    /// segment `Retired`.
    Live,
    /// It has no row, and the store is not asked again before `until`. Exits: `New` (time),
    /// `Retired`.
    Unknown { until: Duration },
    /// Its row cannot be used. Exits: `New` (time), `Retired`.
    Unusable { until: Duration, message: String },
    /// Its ids come from another generator. This does not expire: a store that is down must not
    /// stop ids that need no store. Exits: `Unknown`, `Unusable`, `New` (it may have been changed).
    OtherKind {
        /// Where the segments of a former tag of this name ended.
        min_id: u64,
    },
    /// Its limit is reached. Exits: `Live` (a larger limit), `Unknown`, `OtherKind`, and where no
    /// segment was drawn `Retired`.
    Exhausted,
    /// This allocator was evicted; look the tag up again. No exit.
    Retired,
}

/// What the driver is doing for the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefillState {
    /// Nothing to do. Exits: `Queued`.
    Idle,
    /// In the driver's queue or in progress. Exits: `Idle`, `Waiting`.
    Queued,
    /// The last call failed; the driver retries at `until`. Exits: `Queued`.
    Waiting { until: Duration },
}

impl TagState {
    pub(super) fn is_over(&self, now: Duration) -> bool {
        match self {
            Self::Unknown { until } | Self::Unusable { until, .. } => now >= *until,
            _ => false,
        }
    }

    /// Whether ids in memory may be issued.
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

    /// Records a segment that is good to issue from, when `floor` was known before it; `None` if
    /// the others' part in it is not to be counted.
    pub(super) fn on_reserved(&mut self, shared: &Shared, floor: Option<u64>, reserved: &Reserved) {
        self.note_first(shared);
        self.bounds.reserved(floor, reserved);
    }

    /// Records a segment that showed that the store went back in time.
    pub(super) fn on_regressed(&mut self, shared: &Shared, reserved: &Reserved) {
        self.note_first(shared);
        self.bounds.regressed(reserved);
        self.usage.discarded(reserved.segment.len());
    }

    /// Counts the tag if this is its first segment.
    fn note_first(&self, shared: &Shared) {
        if self.bounds.is_unused() && self.tag_state != TagState::Retired {
            shared.note_used();
        }
    }

    /// What has to be known of the tag after it was evicted.
    pub(super) fn kept_floor(&self) -> KeptFloor {
        KeptFloor {
            is_plain: self.row.is_plain(),
            ..self.bounds.kept_floor()
        }
    }

    /// How many ids the store skips if it holds less than the floor.
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
        // True even while the store is retried, which may take as long as a call may last.
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
            TagState::OtherKind { .. } => Stage::OtherKind,
            TagState::Exhausted => Stage::Exhausted,
        }
    }
}
