//! The outcome of a call to the store: a segment, a limit, a failure, a row or none. Each handler
//! changes the state under its lock, and then notifies the observer.

use std::sync::Arc;
use std::time::Duration;

use super::refill::{Plan, RefillOutcome, Snapshot};
use super::state::{RefillState, State, TagState};
use super::{Allocator, Shared};
use crate::error::Permanent;
use crate::event::Event;
use crate::limit::Limit;
use crate::segment::Segment;
use crate::store::{Reserved, StoreError, TagRecord};

impl Allocator {
    /// A segment was reserved: answers demands from it and puts the rest into the buffer.
    pub(super) fn on_segment(
        &self,
        shared: &Shared,
        plan: &Plan,
        reserved: Reserved,
        started: Duration,
    ) -> RefillOutcome {
        let segment = reserved.segment;
        let now = shared.clock.now();
        let mut state = self.lock();
        let remaining = self.buffer.remaining();
        state.usage.reserved(segment.len(), now, remaining);
        state.usage.step = plan.step;
        state.usage.last_took = now.saturating_sub(started);
        state.failures.forget();
        state.on_reserved(shared, plan.reserve.floor, &reserved);
        self.put(&mut state, segment);
        let near = state.row.near_limit(segment.end());
        let limit = state.row.limit();
        let outcome = if state.demands.queue.is_empty() {
            state.refill_state = RefillState::Idle;
            RefillOutcome::Done
        } else {
            RefillOutcome::Again
        };
        drop(state);
        shared.store_reserved();
        let tag = &self.tag;
        shared.emit(&Event::Reserved {
            tag,
            segment,
            took: now.saturating_sub(started),
        });
        if let Some(headroom) = near {
            shared.emit(&Event::LimitNear {
                tag,
                headroom,
                limit,
            });
        }
        outcome
    }

    /// Answers demands from a new segment, and puts the rest into the buffer.
    fn put(&self, state: &mut State, segment: Segment) {
        let mut rest = segment;
        if state.tag_state == TagState::Live {
            rest = self.answer_demands(state, segment);
            if rest.is_empty() || self.buffer.put(rest).is_ok() {
                return;
            }
        }
        // The row was deleted meanwhile; or the demand that it was reserved for was cancelled, and
        // both slots hold ids.
        state.usage.skipped += rest.len();
    }

    /// Answers demands from the buffer and the new segment, in order of arrival, and returns what
    /// is left of the segment.
    fn answer_demands(&self, state: &mut State, segment: Segment) -> Segment {
        let mut rest = segment;
        while let Some(demand) = state.demands.queue.front().cloned() {
            self.serve(state, &demand, &mut rest);
            if demand.is_open() {
                break;
            }
            let _answered = state.demands.queue.pop_front();
        }
        rest
    }

    /// The store has fewer numbers left than requested, or none.
    pub(super) fn on_limit(&self, shared: &Shared, plan: &Plan, max_id: u64) -> RefillOutcome {
        let mut state = self.lock();
        let limit = plan.reserve.limit;
        state.bounds.raise(max_id);
        if state.tag_state != TagState::Live || state.row.limit() != limit {
            // The row was changed since the store was asked: its refusal is out of date.
            return RefillOutcome::Again;
        }
        let headroom = limit.headroom(state.bounds.floor.unwrap_or(1));
        if plan.reserve.count <= headroom {
            drop(state);
            let error = StoreError::unavailable(
                "the store broke its contract: it refused ids that are below the limit",
                format!(
                    "requested {:?}, and the answer was max id {max_id}",
                    plan.reserve
                ),
            );
            return self.on_failure(shared, error);
        }
        self.refuse_demands(&mut state, limit, headroom);
        if headroom > 0 {
            return RefillOutcome::Again;
        }
        state.failures.forget();
        state.tag_state = TagState::Exhausted;
        state.refill_state = RefillState::Idle;
        drop(state);
        shared.emit(&Event::LimitReached {
            tag: &self.tag,
            limit,
        });
        RefillOutcome::Done
    }

    /// Refuses the demands that can never be met: a range needs the numbers that the store has
    /// left, other demands may use those in memory too. Nothing must be reserved for them: ids
    /// that they cannot use would be lost.
    pub(super) fn refuse_demands(&self, state: &mut State, limit: Limit, headroom: u64) {
        let at_hand = self.buffer.remaining();
        let open_len = state.demands.queue.len();
        state.demands.queue.retain(|demand| {
            let most = headroom + if demand.is_adjacent { 0 } else { at_hand };
            let fits = demand.missing() <= most;
            if !fits {
                let tag = self.tag.clone();
                demand.refuse(Permanent::LimitReached { tag, limit }.into());
            }
            fits
        });
        if state.demands.queue.len() < open_len {
            self.notify();
        }
    }

    pub(super) fn on_failure(
        &self,
        shared: &Shared,
        error: impl Into<Arc<StoreError>>,
    ) -> RefillOutcome {
        let error = error.into();
        let mut state = self.lock();
        let has_served_since = |time| shared.availability.has_reserved_since(time);
        state.failures.note(Arc::clone(&error), has_served_since);
        let failures = state.failures.in_row;
        let fails_alone = state.failures.fails_alone;
        let retry_after = shared.retry_after(failures);
        let now = shared.clock.now();
        let until = now.saturating_add(retry_after);
        state.refill_state = RefillState::Waiting { until };
        drop(state);
        let tag = &self.tag;
        if error.weak_store().is_some() {
            shared.emit(&Event::WeakStore {
                tag,
                error: &error,
                failures,
            });
        }
        shared.emit(&Event::Failed {
            tag,
            error: &error,
            failures,
            retry_after,
        });
        if !fails_alone {
            shared.store_down(&error);
        }
        RefillOutcome::RetryAt(until)
    }

    pub(super) fn on_unusable_row(
        &self,
        shared: &Shared,
        message: String,
        version: u64,
    ) -> RefillOutcome {
        let until = shared.unknown_until();
        let mut state = self.lock();
        if state.row.version != version || state.tag_state == TagState::Retired {
            return RefillOutcome::Again;
        }
        state.failures.forget();
        state.tag_state = TagState::Unusable { until, message };
        state.refill_state = RefillState::Idle;
        RefillOutcome::Done
    }

    pub(super) fn on_unknown_tag(&self, shared: &Shared, version: u64) -> RefillOutcome {
        let until = shared.unknown_until();
        let Some(was_live) = self.drop_row(TagState::Unknown { until }, Some(version)) else {
            return RefillOutcome::Again;
        };
        let mut state = self.lock();
        state.failures.forget();
        state.refill_state = RefillState::Idle;
        drop(state);
        if was_live {
            shared.emit(&Event::Dropped { tag: &self.tag });
        }
        RefillOutcome::Done
    }

    /// The row is gone, or of another kind: nothing more is issued, not even what memory holds. The
    /// floor stays. Returns whether the tag was live; `None` if the row has another version, so
    /// that this is out of date.
    ///
    /// A refresh that began before this allocator was evicted may still end here; it must not
    /// revive it beside its successor, whose floor it does not know.
    fn drop_row(&self, tag_state: TagState, version: Option<u64>) -> Option<bool> {
        let mut state = self.lock();
        if state.tag_state == TagState::Retired || !state.row.is_at(version) {
            return None;
        }
        let was_live = state.tag_state.may_issue();
        state.tag_state = match tag_state {
            // The store may have forgotten segments of which this process knows.
            TagState::OtherKind { min_id } => {
                state.row.was_snowflake = true;
                let min_id = min_id.max(state.bounds.floor.unwrap_or(1));
                TagState::OtherKind { min_id }
            }
            other => other,
        };
        state.row.gone(was_live);
        state.usage.restart();
        self.buffer.close();
        state.usage.skipped += self.buffer.skip_to(state.bounds.floor.unwrap_or(1));
        state.demands.row_read(self.buffer.cursor());
        self.other_kind.row_read();
        Some(was_live)
    }

    /// Takes over the row as it was read; `false` if it has another version by now, or this
    /// allocator was evicted meanwhile.
    pub(super) fn on_record(&self, shared: &Shared, record: &TagRecord, version: u64) -> bool {
        let mut state = self.lock();
        if state.row.version != version || state.tag_state == TagState::Retired {
            return false;
        }
        self.recall(shared, &mut state);
        match self.learn_form(shared, &mut state, record) {
            Ok(true) => {}
            Ok(false) => {
                drop(state);
                return self.drop_row(other_kind(record), Some(version)).is_some();
            }
            Err(message) => {
                state.tag_state = unusable(shared, message);
                state.refill_state = RefillState::Idle;
                return true;
            }
        }
        if state.row.was_snowflake {
            state.tag_state = no_segments_again(shared);
            return true;
        }
        state.tag_state = TagState::Live;
        state.row.found(record.settings);
        state.demands.row_read(self.buffer.cursor());
        state.bounds.read(record);
        true
    }

    /// The driver retries it after a failure.
    pub(crate) fn resume(&self) {
        self.lock().refill_state = RefillState::Queued;
    }

    /// Whether it fails while the store serves other tags.
    pub(crate) fn fails_alone(&self) -> bool {
        self.lock().failures.fails_alone
    }

    /// Whether a segment of it was ever reserved here.
    pub(crate) fn has_drawn(&self) -> bool {
        !self.lock().bounds.is_unused()
    }

    /// Whether it was used, or requested in vain, since its row was last read.
    pub(crate) fn is_in_use(&self) -> bool {
        let state = self.lock();
        let since_row_read = state.demands.since_row_read(self.buffer.cursor());
        match state.tag_state {
            TagState::OtherKind { .. } => since_row_read || self.other_kind.was_asked(),
            _ => state.tag_state.may_issue() && since_row_read,
        }
    }

    /// Takes over the row as it was reread, and the state at the time of the request; `None` if it
    /// was just changed through this process. A row that holds less than was known then reveals a
    /// store that went back in time, before another process reserves from it.
    pub(crate) fn refresh(
        self: &Arc<Self>,
        shared: &Shared,
        record: &TagRecord,
        seen: Option<Snapshot>,
    ) {
        let settings = record.settings;
        let version = seen.map(|seen| seen.version);
        let mut state = self.lock();
        if !state.row.is_at(version) || state.tag_state == TagState::Retired {
            return;
        }
        match self.learn_form(shared, &mut state, record) {
            Ok(true) => {}
            Ok(false) => {
                drop(state);
                self.drop_row(other_kind(record), version);
                self.notify();
                return;
            }
            Err(message) => {
                self.buffer.close();
                state.tag_state = unusable(shared, message);
                return;
            }
        }
        state.row.version += u64::from(version.is_none());
        if matches!(state.tag_state, TagState::OtherKind { .. }) {
            state.tag_state = no_segments_again(shared);
        }
        if !state.tag_state.may_issue() {
            return;
        }
        state.demands.row_read(self.buffer.cursor());
        state.bounds.read(record);
        let is_raised = state.row.refreshed(settings);
        let went_back = seen.and_then(|seen| seen.floor) > Some(record.max_id);
        state.bounds.is_suspect |= went_back && state.tag_state == TagState::Live;
        if is_raised && state.tag_state == TagState::Exhausted {
            state.tag_state = TagState::Live;
        } else if !state.bounds.is_suspect {
            return;
        }
        self.enqueue(&mut state, shared);
    }

    /// A refresh found no row; `None` if it was just deleted through this process.
    pub(crate) fn forget_row(&self, shared: &Shared, version: Option<u64>) {
        let until = shared.unknown_until();
        if self.drop_row(TagState::Unknown { until }, version) == Some(true) {
            shared.emit(&Event::Dropped { tag: &self.tag });
        }
        self.notify();
    }

    /// A row may exist now: ask the store again at the next call.
    pub(crate) fn expect_row(&self) {
        let mut state = self.lock();
        state.row.version += 1;
        if matches!(
            state.tag_state,
            TagState::Unknown { .. } | TagState::Unusable { .. } | TagState::OtherKind { .. }
        ) {
            state.tag_state = TagState::New;
        }
    }
}

/// No store turns a snowflake tag into a segment tag.
fn no_segments_again(shared: &Shared) -> TagState {
    let message = "it was a snowflake tag and has become a segment tag, by hand or because its \
        store went back, so that ids could repeat; if none of its snowflake ids is in use, restart \
        this process";
    unusable(shared, message.to_owned())
}

fn unusable(shared: &Shared, message: String) -> TagState {
    let until = shared.unknown_until();
    TagState::Unusable { until, message }
}

fn other_kind(record: &TagRecord) -> TagState {
    TagState::OtherKind {
        min_id: record.max_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManualClock, Options, Tag, store::MemoryStore};

    /// Guards that a tag which is created later does not report an earlier failure of the store,
    /// which has answered since.
    #[test]
    fn a_store_that_knows_no_such_tag_has_answered() {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new());
        let shared = Shared::new(store, clock, Arc::new(()), Options::default());
        let allocator = Allocator::new(Tag::new("order").expect("a plain name"), Duration::ZERO);
        allocator.on_failure(&shared, StoreError::unavailable("away", "no route"));
        assert!(allocator.lock().failures.last_error.is_some());
        let version = allocator.lock().row.version;
        allocator.on_unknown_tag(&shared, version);
        let state = allocator.lock();
        assert!(state.failures.last_error.is_none() && state.failures.in_row == 0);
    }

    /// Guards that a tag has one allocator: a late answer of a refresh once revived an evicted one,
    /// so that two issued from one tag, each with its own floor.
    #[test]
    fn a_late_refresh_does_not_revive_a_retired_allocator() {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new());
        let shared = Shared::new(store, clock, Arc::new(()), Options::default());
        let tag = Tag::new("order").expect("a plain name");
        let allocator = Arc::new(Allocator::new(tag.clone(), Duration::ZERO));
        allocator.forget_row(&shared, None);
        shared.tags.pin().insert(tag, Arc::clone(&allocator));
        shared.track_unused(Arc::clone(&allocator));
        assert!(shared.make_room() && shared.tags.is_empty());
        allocator.forget_row(&shared, None);
        assert_eq!(allocator.lock().tag_state, TagState::Retired);
    }
}
