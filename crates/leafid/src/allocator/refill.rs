//! The driver's side of an allocator: reads the row, reserves a segment, puts it in, answers
//! demands. With `catalog.rs`, the only code that calls a store.
//!
//! At most one refill of a tag runs at a time: its `Supply` is `Queued` from the moment it is
//! asked for until its outcome is booked here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::demand::Demand;
use super::{Allocator, Standing, State, Supply, bounded};
use crate::driver::Shared;
use crate::error::Never;
use crate::event::Event;
use crate::limit::Limit;
use crate::segment::Segment;
use crate::step::History;
use crate::store::{Reserve, Reserved, StoreError, TagRecord, TagSettings, TagSpec};
use crate::tag::Tag;

/// A warning is given when this many hundredths of a tag's numbers are left.
const LIMIT_WARNINGS: [u64; 2] = [10, 1];

/// What the driver does with a tag after a refill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing, until it asks again.
    Rest,
    /// It has more to do at once.
    Again,
    /// The store failed; try again at that time.
    RetryAt(Duration),
    /// It has no row; forget it at that time, unless it came to life.
    ForgetAt(Duration),
}

/// A reservation to be made.
struct Plan {
    reserve: Reserve,
    /// The part of it that the policy asked for; the rest is for demands.
    step: u64,
}

impl Allocator {
    /// Does what the tag needs: one row read at the most, and one reservation.
    pub(crate) async fn refill(self: Arc<Self>, shared: &Shared) -> After {
        let seen = self.lock().changes;
        let after = match self.load_and_reserve(shared, seen).await {
            Ok(after) => after,
            Err(StoreError::UnknownTag) => self.book_unknown(shared, seen),
            Err(StoreError::BadRow { message }) => self.book_unusable(shared, message, seen),
            Err(error) => self.book_failure(shared, error),
        };
        self.notify();
        after
    }

    async fn load_and_reserve(&self, shared: &Shared, seen: u64) -> Result<After, StoreError> {
        if self.lock().standing == Standing::New {
            let (record, was_created) = self.read_or_create(shared).await?;
            if !self.book_record(&record, seen) {
                return Ok(After::Again);
            }
            shared.tell(&if was_created {
                Event::Created { tag: &self.tag }
            } else {
                Event::Loaded { tag: &self.tag }
            });
        }
        let Some(plan) = self.plan(shared) else {
            return Ok(self.rest());
        };
        let started = shared.clock.now();
        match bounded(shared, shared.store.reserve(&plan.reserve)).await {
            Ok(reserved) => {
                let reserved = plan.verify(reserved)?;
                Ok(self.book_segment(shared, &plan, reserved, started))
            }
            Err(StoreError::LimitReached { max_id }) => Ok(self.book_limit(shared, &plan, max_id)),
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
            .ok_or(StoreError::UnknownTag)?;
        let spec = TagSpec {
            settings,
            ..TagSpec::new(self.tag.clone())
        };
        match bounded(shared, shared.store.create(&spec)).await {
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
        Ok(bounded(shared, shared.store.read(tags)).await?.pop())
    }

    /// Decides what to reserve; `None` when nothing is needed.
    fn plan(&self, shared: &Shared) -> Option<Plan> {
        let mut state = self.lock();
        state.demands.retain(|demand| demand.is_open());
        let settings = state.settings?;
        if state.standing != Standing::Live {
            return None;
        }
        let headroom = settings.limit.headroom(state.floor.unwrap_or(1));
        self.refuse_demands(&mut state, settings.limit, headroom);
        if state.demands.is_empty() && !self.buffer.has_room() {
            return None;
        }
        let headroom = headroom.max(1);
        let demanded = state.demanded(headroom);
        let history = state.history(shared.clock.now(), self.buffer.remaining(), headroom);
        let step = state
            .policy(shared.options.policy)
            .next_step(u64::from(settings.step), &history)
            .min(headroom);
        let reserve = Reserve {
            tag: self.tag.clone(),
            count: step.saturating_add(demanded).min(headroom),
            floor: state.floor,
            limit: settings.limit,
        };
        Some(Plan { reserve, step })
    }

    /// Nothing to reserve: hands the tag back, unless demands came in meanwhile.
    fn rest(&self) -> After {
        let mut state = self.lock();
        if state.demands.iter().any(|demand| demand.is_open()) && state.standing == Standing::Live {
            return After::Again;
        }
        state.supply = Supply::Idle;
        match state.standing {
            Standing::Unknown { until } => After::ForgetAt(until),
            _ => After::Rest,
        }
    }

    /// A segment is ours: answers demands from it and puts the rest into the buffer.
    fn book_segment(
        &self,
        shared: &Shared,
        plan: &Plan,
        reserved: Reserved,
        started: Duration,
    ) -> After {
        let segment = reserved.segment;
        let now = shared.clock.now();
        let mut state = self.lock();
        state.settle(now, self.buffer.remaining());
        state.failures = 0;
        state.last_error = None;
        state.last_took = now.saturating_sub(started);
        state.counts.reserves += 1;
        state.floor = state.floor.max(Some(segment.end()));
        state.put += segment.len();
        let regressed = plan
            .reserve
            .floor
            .filter(|floor| reserved.previous < *floor);
        state.counts.regressions += u64::from(regressed.is_some());
        state.step = plan.step;
        self.put(&mut state, segment);
        let near = state.near_limit(segment.end());
        let limit = state.limit();
        let after = if state.demands.is_empty() {
            state.supply = Supply::Idle;
            After::Rest
        } else {
            After::Again
        };
        drop(state);
        let tag = &self.tag;
        shared.tell(&Event::Reserved {
            tag,
            segment,
            took: now.saturating_sub(started),
        });
        if let Some(floor) = regressed {
            shared.tell(&Event::Regressed {
                tag,
                floor,
                found: reserved.previous,
            });
        }
        if let Some(headroom) = near {
            shared.tell(&Event::LimitNear {
                tag,
                headroom,
                limit,
            });
        }
        after
    }

    /// Answers demands from a new segment, and puts the rest into the buffer.
    fn put(&self, state: &mut State, segment: Segment) {
        let mut rest = segment;
        if state.standing == Standing::Live {
            rest = self.answer_demands(state, segment);
            if rest.is_empty() || self.buffer.put(rest).is_ok() {
                return;
            }
        }
        // The row went while the segment was under way; or the demand that it was reserved for
        // was cancelled, and both slots hold ids.
        state.skipped += rest.len();
    }

    /// Answers demands from the buffer and the new segment, in order of arrival, and returns what
    /// is left of the segment.
    fn answer_demands(&self, state: &mut State, segment: Segment) -> Segment {
        let mut rest = segment;
        while let Some(demand) = state.demands.front().cloned() {
            self.serve(state, &demand, &mut rest);
            if demand.is_open() {
                break;
            }
            let _served = state.demands.pop_front();
        }
        rest
    }

    /// Gives a demand what it lacks, as far as there is: a run off the new segment, everything
    /// below it being skipped; otherwise from the buffer first. Ids ascend either way.
    fn serve(&self, state: &mut State, demand: &Demand, rest: &mut Segment) {
        if demand.is_run && demand.missing() > rest.len() {
            return;
        }
        if !demand.is_run {
            let at_hand = self.buffer.try_take_many(demand.missing());
            at_hand.runs().iter().for_each(|run| demand.add(*run));
        }
        let front = rest.split_front(demand.missing());
        if !front.is_empty() {
            state.skipped += self.buffer.remaining();
            self.buffer.skip_to(rest.start());
            demand.add(front);
        }
    }

    /// The store has fewer numbers left than wanted, or none.
    fn book_limit(&self, shared: &Shared, plan: &Plan, max_id: u64) -> After {
        let mut state = self.lock();
        let limit = plan.reserve.limit;
        state.floor = state.floor.max(Some(max_id));
        if state.standing != Standing::Live || state.limit() != limit {
            // The row was changed while the store was asked: its refusal is of the past.
            return After::Again;
        }
        let headroom = limit.headroom(state.floor.unwrap_or(1));
        if plan.reserve.count <= headroom {
            drop(state);
            let error = StoreError::unavailable(
                "the store broke its contract: it refused ids that are below the limit",
                format!("asked for {:?}, told that max id is {max_id}", plan.reserve),
            );
            return self.book_failure(shared, error);
        }
        self.refuse_demands(&mut state, limit, headroom);
        if headroom > 0 {
            return After::Again;
        }
        state.standing = Standing::Exhausted;
        state.supply = Supply::Idle;
        drop(state);
        shared.tell(&Event::LimitReached {
            tag: &self.tag,
            limit,
        });
        After::Rest
    }

    /// Refuses the demands that can never be met: a run needs the numbers that the store has left,
    /// anything else may use those in memory too. They must not be reserved for: what they cannot
    /// use would be lost to everybody.
    fn refuse_demands(&self, state: &mut State, limit: Limit, headroom: u64) {
        let at_hand = self.buffer.remaining();
        let open_len = state.demands.len();
        state.demands.retain(|demand| {
            let most = headroom + if demand.is_run { 0 } else { at_hand };
            let fits = demand.missing() <= most;
            if !fits {
                let tag = self.tag.clone();
                demand.refuse(Never::LimitReached { tag, limit }.into());
            }
            fits
        });
        if state.demands.len() < open_len {
            self.notify();
        }
    }

    fn book_failure(&self, shared: &Shared, error: StoreError) -> After {
        let mut state = self.lock();
        let error = Arc::new(error);
        state.failures = state.failures.saturating_add(1);
        state.counts.failures += 1;
        state.last_error = Some(Arc::clone(&error));
        let retry_after = shared.retry_after(state.failures);
        let until = shared.clock.now().saturating_add(retry_after);
        state.supply = Supply::Waiting { until };
        let failures = state.failures;
        drop(state);
        shared.tell(&Event::Failed {
            tag: &self.tag,
            error: &error,
            failures,
            retry_after,
        });
        After::RetryAt(until)
    }

    fn book_unusable(&self, shared: &Shared, message: String, seen: u64) -> After {
        let until = shared.unknown_until();
        let mut state = self.lock();
        if state.changes != seen {
            return After::Again;
        }
        state.standing = Standing::Unusable { until, message };
        state.supply = Supply::Idle;
        After::Rest
    }

    fn book_unknown(&self, shared: &Shared, seen: u64) -> After {
        let Some(was_live) = self.drop_row(shared, Some(seen)) else {
            return After::Again;
        };
        self.lock().supply = Supply::Idle;
        if was_live {
            shared.tell(&Event::Dropped { tag: &self.tag });
        }
        After::ForgetAt(shared.unknown_until())
    }

    /// The row is gone: nothing more leaves, not even what memory holds. The floor stays. Tells
    /// whether it was live; `None` if the row was changed since `seen`, so that this is of the
    /// past.
    ///
    /// A refresh that began before this allocator left the map may still come here; it must not
    /// bring it back to life beside its successor, whose floor it does not know.
    fn drop_row(&self, shared: &Shared, seen: Option<u64>) -> Option<bool> {
        let until = shared.unknown_until();
        let mut state = self.lock();
        if state.standing == Standing::Retired || !state.is_up_to_date(seen) {
            return None;
        }
        let was_live = state.standing.may_issue();
        state.standing = Standing::Unknown { until };
        state.changes += 1;
        state.settings = None;
        state.loads = 0;
        state.skipped += self.buffer.remaining();
        self.buffer.close();
        self.buffer.skip_to(state.floor.unwrap_or(1));
        Some(was_live)
    }

    /// Takes the row as it was read; `false` if it was changed since `seen`.
    fn book_record(&self, record: &TagRecord, seen: u64) -> bool {
        let mut state = self.lock();
        if state.changes != seen {
            return false;
        }
        state.settings = Some(record.settings);
        state.standing = Standing::Live;
        state.asked = false;
        state.refreshed_cursor = self.buffer.cursor();
        true
    }

    /// The driver takes it up again after a failure.
    pub(crate) fn resume(&self) {
        self.lock().supply = Supply::Queued;
    }

    /// Whether it was used, or asked in vain, since its row was last read.
    pub(crate) fn is_in_use(&self) -> bool {
        let state = self.lock();
        state.standing.may_issue()
            && (state.asked || state.refreshed_cursor != self.buffer.cursor())
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
        let seen: Vec<u64> = allocators
            .iter()
            .map(|allocator| allocator.lock().changes)
            .collect();
        let records = bounded(shared, shared.store.read(&tags)).await?;
        let settings: HashMap<Tag, TagSettings> = records
            .into_iter()
            .map(|record| (record.tag, record.settings))
            .collect();
        for (allocator, seen) in allocators.iter().zip(seen) {
            match settings.get(&allocator.tag) {
                Some(settings) => allocator.refresh(shared, *settings, Some(seen)),
                None => allocator.forget_row(shared, Some(seen)),
            }
        }
        Ok(())
    }

    /// Takes note of the row as it was read again, when `seen` changes were made through this
    /// process; `None` if it was just changed through this process.
    pub(crate) fn refresh(
        self: &Arc<Self>,
        shared: &Shared,
        settings: TagSettings,
        seen: Option<u64>,
    ) {
        let mut state = self.lock();
        if !state.is_up_to_date(seen) {
            return;
        }
        state.changes += u64::from(seen.is_none());
        if !state.standing.may_issue() {
            return;
        }
        state.asked = false;
        state.refreshed_cursor = self.buffer.cursor();
        let raised = state.limit() < settings.limit;
        state.settings = Some(settings);
        if raised {
            state.warned_below = 100;
        }
        if raised && state.standing == Standing::Exhausted {
            state.standing = Standing::Live;
            self.ask(&mut state, shared);
        }
    }

    /// The row was found gone outside a refill; `seen` as for `refresh`.
    pub(crate) fn forget_row(&self, shared: &Shared, seen: Option<u64>) {
        if self.drop_row(shared, seen) == Some(true) {
            shared.tell(&Event::Dropped { tag: &self.tag });
        }
        self.notify();
    }

    /// A row may be there now: ask the store again at the next call.
    pub(crate) fn expect_row(&self) {
        let mut state = self.lock();
        state.changes += 1;
        if matches!(
            state.standing,
            Standing::Unknown { .. } | Standing::Unusable { .. }
        ) {
            state.standing = Standing::New;
        }
    }
}

impl Plan {
    /// Checks a store's answer against its contract before anything is issued from it.
    fn verify(&self, reserved: Reserved) -> Result<Reserved, StoreError> {
        let segment = reserved.segment;
        let is_right = segment.len() == self.reserve.count
            && segment.start() >= self.reserve.floor.unwrap_or(1)
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

impl State {
    /// Whether nothing changed since `seen` changes were made; `None` is a change made now.
    fn is_up_to_date(&self, seen: Option<u64>) -> bool {
        seen.is_none_or(|seen| seen == self.changes)
    }

    /// How many ids to reserve for demands: for as many of them, in order of arrival, as fit
    /// together.
    fn demanded(&self, headroom: u64) -> u64 {
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

    fn history(&self, now: Duration, remaining: u64, headroom: u64) -> History {
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
    fn settle(&mut self, now: Duration, remaining: u64) {
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
    fn near_limit(&mut self, max_id: u64) -> Option<u64> {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManualClock, Options, store::MemoryStore};

    /// Guards that a tag has one allocator: a late answer of a refresh once revived a retired
    /// one, so that two issued from one tag, each with a floor of its own.
    #[test]
    fn a_late_refresh_does_not_revive_a_retired_allocator() {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new());
        let shared = Shared::new(store, clock, Arc::new(()), Options::default());
        let tag = Tag::new("order").expect("a plain name");
        let allocator = Allocator::new(tag, Duration::ZERO);
        allocator.forget_row(&shared, None);
        assert!(allocator.retire());
        allocator.forget_row(&shared, None);
        assert_eq!(allocator.lock().standing, Standing::Retired);
    }
}
