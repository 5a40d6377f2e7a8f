//! The driver's side of an allocator: decides what a tag needs, reads its row, and fetches the next
//! segment. With `catalog.rs`, the only code that calls a store; `outcome.rs` handles the results.
//!
//! At most one refill of a tag runs at a time: its `RefillState` is `Queued` from the request until
//! the outcome was handled.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::regression::went_below;
use super::shared::bounded;
use super::state::{RefillState, TagState};
use super::{Allocator, Shared};
use crate::event::Event;
use crate::store::{Reserve, Reserved, StoreError, TagKind, TagRecord, TagSpec};
use crate::tag::Tag;

/// What the driver does with a tag after a refill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefillOutcome {
    /// Nothing, until the next request.
    Done,
    /// Another refill at once.
    Again,
    /// The store failed; try again at that time.
    RetryAt(Duration),
}

/// A reservation to make.
pub(super) struct Plan {
    pub(super) reserve: Reserve,
    /// The part of it that the policy asked for; the rest is for demands.
    pub(super) step: u64,
}

/// The state of an allocator when the store was asked.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    /// The version of its row.
    pub(super) version: u64,
    /// The lowest value that the store can hold, unless it went back in time.
    pub(super) floor: Option<u64>,
}

impl Allocator {
    /// Does what the tag needs: at most one row read and one reservation.
    pub(crate) async fn refill(self: Arc<Self>, shared: &Shared) -> RefillOutcome {
        let version = self.begin(shared);
        let outcome = match self.load_and_reserve(shared, version).await {
            Ok(after) => after,
            Err(StoreError::UnknownTag) => self.on_no_segments(shared, version).await,
            Err(error) => self.on_error(shared, &Arc::new(error), version),
        };
        self.notify();
        outcome
    }

    /// The tag has no row, or is of another kind by now, which its row shows.
    async fn on_no_segments(&self, shared: &Shared, version: u64) -> RefillOutcome {
        if self.lock().tag_state.may_issue()
            && let Ok(Some(record)) = self.read(shared).await
            && record.settings.kind != TagKind::Segment
        {
            return match self.on_record(shared, &record, version) {
                true => self.finish(),
                false => RefillOutcome::Again,
            };
        }
        self.on_unknown_tag(shared, version)
    }

    /// A call begins. Returns the version of the row.
    pub(super) fn begin(&self, shared: &Shared) -> u64 {
        let mut state = self.lock();
        state.failures.call_begins(shared.clock.now());
        state.row.version
    }

    pub(super) fn on_error(
        &self,
        shared: &Shared,
        error: &Arc<StoreError>,
        version: u64,
    ) -> RefillOutcome {
        match &**error {
            StoreError::UnknownTag => self.on_unknown_tag(shared, version),
            StoreError::BadRow { .. }
            | StoreError::Unsupported { .. }
            | StoreError::FormerKind { .. }
            | StoreError::FormerFormat { .. } => {
                self.on_unusable_row(shared, error.to_string(), version)
            }
            _ => self.on_failure(shared, Arc::clone(error)),
        }
    }

    async fn load_and_reserve(
        &self,
        shared: &Shared,
        version: u64,
    ) -> Result<RefillOutcome, StoreError> {
        if self.lock().tag_state == TagState::New {
            let (record, was_created) = self.read_or_create(shared).await?;
            if !self.on_record(shared, &record, version) {
                return Ok(RefillOutcome::Again);
            }
            shared.emit(&if was_created {
                Event::Created { tag: &self.tag }
            } else {
                Event::Loaded { tag: &self.tag }
            });
        }
        let Some(plan) = self.plan(shared) else {
            return Ok(self.finish());
        };
        let started = shared.clock.now();
        // The tag may have been raised since the last try, and the store may go back in between.
        let reserve = || {
            let wish = self.with_current_floor(&plan.reserve);
            async move {
                let reserved = bounded(shared, shared.store.reserve(&wish)).await?;
                Ok((wish, reserved))
            }
        };
        match shared.conflict_retry.run(reserve).await {
            Ok((reserve, reserved)) => {
                let plan = Plan { reserve, ..plan };
                let reserved = plan.verify(reserved)?;
                Ok(match went_below(plan.reserve.floor, &reserved) {
                    Some(floor) => self.on_regression(shared, &plan, reserved, floor),
                    None => self.on_segment(shared, &plan, reserved, started),
                })
            }
            Err(StoreError::LimitReached { max_id }) => Ok(self.on_limit(shared, &plan, max_id)),
            Err(error) => Err(error),
        }
    }

    async fn read_or_create(&self, shared: &Shared) -> Result<(TagRecord, bool), StoreError> {
        if let Some(record) = self.read(shared).await? {
            return Ok((record, false));
        }
        let settings = shared
            .options
            .create_missing
            .filter(|_| self.tag.check_new().is_ok())
            .ok_or(StoreError::UnknownTag)?;
        let spec = TagSpec {
            settings,
            ..TagSpec::new(self.tag.clone())
        };
        match shared
            .conflict_retry
            .run(|| bounded(shared, shared.store.create(&spec)))
            .await
        {
            // Another process was faster; its row counts.
            Err(StoreError::TagExists) => {
                let record = self.read(shared).await?.ok_or(StoreError::UnknownTag)?;
                Ok((record, false))
            }
            created => created.map(|record| (record, true)),
        }
    }

    async fn read(&self, shared: &Shared) -> Result<Option<TagRecord>, StoreError> {
        let tags = std::slice::from_ref(&self.tag);
        let read = || bounded(shared, shared.store.read(tags));
        Ok(shared.conflict_retry.run(read).await?.pop())
    }

    /// Decides what to reserve; `None` if nothing is needed.
    fn plan(&self, shared: &Shared) -> Option<Plan> {
        let mut state = self.lock();
        state.demands.prune();
        let settings = state.row.settings?;
        if state.tag_state != TagState::Live {
            return None;
        }
        let headroom = settings.limit.headroom(state.bounds.floor.unwrap_or(1));
        self.refuse_demands(&mut state, settings.limit, headroom);
        let has_use = self.buffer.has_room() || state.bounds.is_suspect;
        if state.demands.queue.is_empty() && !has_use {
            return None;
        }
        let headroom = headroom.max(1);
        let demanded = state.demands.total(headroom);
        let (now, remaining) = (shared.clock.now(), self.buffer.remaining());
        let history = state.usage.history(now, remaining, headroom);
        let step = state
            .row
            .policy(shared.options.policy)
            .next_step(u64::from(settings.step), &history)
            .min(headroom);
        let count = step.saturating_add(demanded).min(headroom);
        let reserve = Reserve {
            tag: self.tag.clone(),
            count,
            floor: state.bounds.floor,
            margin: state.margin(shared),
            limit: settings.limit,
            is_longest: state.bounds.is_longest(count),
        };
        Some(Plan { reserve, step })
    }

    fn with_current_floor(&self, reserve: &Reserve) -> Reserve {
        Reserve {
            floor: reserve.floor.max(self.lock().bounds.floor),
            ..reserve.clone()
        }
    }

    /// Nothing to reserve: hands the tag back, unless demands arrived meanwhile.
    fn finish(&self) -> RefillOutcome {
        let mut state = self.lock();
        if state.demands.queue.iter().any(|demand| demand.is_open())
            && state.tag_state == TagState::Live
        {
            return RefillOutcome::Again;
        }
        state.refill_state = RefillState::Idle;
        RefillOutcome::Done
    }

    /// Reads the rows of these tags again, in one statement.
    pub(crate) async fn refresh_all(
        shared: &Shared,
        allocators: &[Arc<Self>],
    ) -> Result<(), StoreError> {
        let tags: Vec<Tag> = allocators
            .iter()
            .map(|allocator| allocator.tag.clone())
            .collect();
        let seen: Vec<Snapshot> = allocators
            .iter()
            .map(|allocator| allocator.snapshot())
            .collect();
        let read = || bounded(shared, shared.store.read(&tags));
        let records = shared.conflict_retry.run(read).await?;
        let records: HashMap<&Tag, &TagRecord> =
            records.iter().map(|record| (&record.tag, record)).collect();
        for (allocator, seen) in allocators.iter().zip(seen) {
            match records.get(&allocator.tag) {
                Some(record) => allocator.refresh(shared, record, Some(seen)),
                None => allocator.forget_row(shared, Some(seen.version)),
            }
        }
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.lock();
        Snapshot {
            version: state.row.version,
            floor: state.bounds.floor,
        }
    }
}

impl Plan {
    /// Checks a store's answer against its contract before anything is issued from it.
    fn verify(&self, reserved: Reserved) -> Result<Reserved, StoreError> {
        let segment = reserved.segment;
        let is_right = segment.len() == self.reserve.count
            && segment.start() >= self.reserve.start(reserved.previous)
            && segment.end() - 1 <= self.reserve.limit.largest();
        if is_right {
            return Ok(reserved);
        }
        Err(StoreError::unavailable(
            "the store broke its contract; the segment is not used",
            format!("asked for {:?}, got {reserved:?}", self.reserve),
        ))
    }
}
