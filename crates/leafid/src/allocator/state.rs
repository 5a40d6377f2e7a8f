//! `State`: all of an allocator that is not needed to take an id, behind its one mutex.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::demand::Demand;
use super::regression::Lengths;
use super::status::Stage;
use crate::error::{IssueError, TransientReason};
use crate::limit::Limit;
use crate::step::{History, Rate, StepPolicy};
use crate::store::{StoreError, TagSettings};
use crate::tag::Tag;

/// What a caller who finds no id is told when a call to the store runs: a guess, bounded.
const LOADING_RETRY_MIN: Duration = Duration::from_millis(5);
pub(super) const LOADING_RETRY_MAX: Duration = Duration::from_secs(1);
/// A warning is given when this many hundredths of a tag's numbers are left.
const LIMIT_WARNINGS: [u64; 2] = [10, 1];

/// All that is not needed to take an id.
pub(super) struct State {
    pub(super) tag_state: TagState,
    pub(super) refill_state: RefillState,
    /// Callers who want more than the buffer holds, in order of arrival.
    pub(super) demands: VecDeque<Arc<Demand>>,
    /// The row's settings, once read.
    pub(super) settings: Option<TagSettings>,
    /// The highest max id that the store ever told of: never-twice's floor. Outlives the row. A
    /// store that holds less went back in time.
    pub(super) floor: Option<u64>,
    /// How often in a row the store was found to have gone back.
    pub(super) regressions_in_row: u32,
    /// The store went back, or its row looks so: a reservation is due, needed or not, so that it is
    /// above all that was issued before another server starts on it anew. Until one went well.
    pub(super) is_suspect: bool,
    /// How far other processes may have come.
    pub(super) lengths: Lengths,
    /// The length of the last segment, and how many there were.
    pub(super) step: u64,
    pub(super) loads: u64,
    pub(super) rate: Rate,
    /// When the last segment was put in, and how many ids had been used then.
    pub(super) loaded_at: Duration,
    pub(super) loaded_used: u64,
    /// Ids put into the buffer, and those of them that were skipped and never issued.
    pub(super) put: u64,
    pub(super) skipped: u64,
    pub(super) failures: u32,
    /// When the last call for the tag began.
    pub(super) called_at: Duration,
    /// When the first call that failed began.
    pub(super) failing_since: Option<Duration>,
    /// It fails while the store serves others, so that its failures say nothing of the store.
    /// Until one call for it went well.
    pub(super) fails_alone: bool,
    pub(super) last_error: Option<Arc<StoreError>>,
    pub(super) last_took: Duration,
    pub(super) counts: Counts,
    /// The cursor when the row was last read again, and whether anybody asked in vain since.
    pub(super) refreshed_cursor: u64,
    pub(super) asked: bool,
    /// Its row went, and the store was not asked for it again since.
    pub(super) is_dropped: bool,
    /// When somebody asked in vain last.
    pub(super) asked_at: Duration,
    /// A row was looked for among those of many tags, and not found: the next look is for this tag
    /// alone, and creates it if it may.
    pub(super) is_absent: bool,
    /// How often the row was created, changed or deleted through this process, or found gone:
    /// an answer of the store that was on its way meanwhile is of the past.
    pub(super) changes: u64,
    /// The part of the numbers left at which the last warning was given, in hundredths.
    pub(super) warned_below: u64,
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

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) reserves: u64,
    pub(super) failures: u64,
    pub(super) regressions: u64,
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
            demands: VecDeque::new(),
            settings: None,
            floor: None,
            regressions_in_row: 0,
            is_suspect: false,
            lengths: Lengths::default(),
            step: 0,
            loads: 0,
            rate: Rate::default(),
            loaded_at: now,
            loaded_used: 0,
            put: 0,
            skipped: 0,
            failures: 0,
            called_at: Duration::ZERO,
            failing_since: None,
            fails_alone: false,
            last_error: None,
            last_took: Duration::ZERO,
            counts: Counts::default(),
            refreshed_cursor: 0,
            asked: false,
            asked_at: now,
            is_absent: false,
            is_dropped: false,
            changes: 0,
            warned_below: 100,
        }
    }

    pub(super) fn limit(&self) -> Limit {
        self.settings
            .map(|settings| settings.limit)
            .unwrap_or_default()
    }

    pub(super) fn loading_retry(&self) -> Duration {
        self.last_took.clamp(LOADING_RETRY_MIN, LOADING_RETRY_MAX)
    }

    /// The store has answered; what failed before is of the past.
    pub(super) fn forget_failures(&mut self) {
        self.failures = 0;
        self.failing_since = None;
        self.fails_alone = false;
        self.last_error = None;
    }

    pub(super) fn transient(&self, tag: &Tag, now: Duration) -> IssueError {
        let retry_after = match self.refill_state {
            RefillState::Waiting { until } => until.saturating_sub(now),
            _ => self.loading_retry(),
        };
        // Also while the store is tried again, which may take as long as a call may last.
        let reason = match &self.last_error {
            Some(error) => TransientReason::StoreFailed(Arc::clone(error)),
            None => TransientReason::Loading,
        };
        IssueError::transient(tag, retry_after, reason)
    }

    /// Whether nothing changed since `seen` changes were made; `None` is a change made now.
    pub(super) fn is_up_to_date(&self, seen: Option<u64>) -> bool {
        seen.is_none_or(|seen| seen == self.changes)
    }

    /// How many ids to reserve for demands: for as many of them, in order of arrival, as fit
    /// together.
    pub(super) fn demanded(&self, headroom: u64) -> u64 {
        let mut demanded = 0;
        for demand in &self.demands {
            let sum = demanded + demand.missing().min(headroom);
            if sum > headroom {
                break;
            }
            demanded = sum;
        }
        demanded
    }

    pub(super) fn history(&self, now: Duration, remaining: u64, headroom: u64) -> History {
        let elapsed = now.saturating_sub(self.loaded_at);
        let used = self.used(remaining) - self.loaded_used;
        History {
            step: self.step,
            loads: self.loads,
            elapsed,
            rate: self.rate.observe(used, elapsed).per_second(),
            headroom,
        }
    }

    /// Books what was used since the last segment, before a new one is put in.
    pub(super) fn settle(&mut self, now: Duration, remaining: u64) {
        let used = self.used(remaining);
        if self.loads > 0 {
            let elapsed = now.saturating_sub(self.loaded_at);
            self.rate = self.rate.observe(used - self.loaded_used, elapsed);
        }
        self.loads += 1;
        self.loaded_at = now;
        self.loaded_used = used;
    }

    /// The ids left, when they fell to the next mark for a warning.
    pub(super) fn near_limit(&mut self, max_id: u64) -> Option<u64> {
        let limit = self.limit();
        let headroom = limit.headroom(max_id);
        let is_below = |hundredths: &u64| headroom / *hundredths <= limit.largest() / 100;
        let mark = LIMIT_WARNINGS.into_iter().filter(is_below).min()?;
        if mark >= self.warned_below {
            return None;
        }
        self.warned_below = mark;
        Some(headroom)
    }

    /// Ids that left the buffer for callers, with the few that were lost between two segments.
    pub(super) fn used(&self, remaining: u64) -> u64 {
        self.put
            .saturating_sub(self.skipped)
            .saturating_sub(remaining)
            .max(self.loaded_used)
    }

    pub(super) fn policy(&self, default: StepPolicy) -> StepPolicy {
        self.settings
            .and_then(|settings| settings.policy)
            .unwrap_or(default)
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
