//! `Allocator`: keeps one tag supplied with segments. This file is the callers' side: taking ids
//! and waiting for them; `allocator/refill.rs` and `outcome.rs` are the driver's side, which
//! fetches segments.
//!
//! Taking an id is `SegmentBuffer::try_take` and nothing else. All other state is behind one mutex,
//! which is locked once or twice per segment and by callers that find the buffer empty.

mod demand;
mod eviction;
mod floors;
mod form;
mod idle;
mod load;
mod outcome;
mod queue;
mod refill;
mod regression;
mod shared;
mod state;
mod status;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use event_listener::Event as Notify;
use futures_util::future::{Either, select};

use crate::error::{IssueError, Permanent};
use crate::format::IdFormat;
use crate::id::Id;
use crate::other_kind::OtherKind;
use crate::segment::{Segment, SegmentBuffer, TakenMany};
use crate::tag::Tag;

use demand::Demand;
use form::{OtherKindCell, StateGuard};
pub(crate) use refill::RefillOutcome;
pub(crate) use shared::{Shared, within};
use state::{RefillState, State, TagState};
pub use status::{Stage, Status};

/// Keeps one tag supplied.
pub(crate) struct Allocator {
    buffer: SegmentBuffer,
    tag: Tag,
    /// Known before the first segment is put in, and for life.
    format: OnceLock<Arc<dyn IdFormat>>,
    /// Where the ids come from, if the tag has no segments.
    other_kind: OtherKindCell,
    state: Mutex<State>,
    /// Notified of each change that a waiting caller may need.
    changed: Notify,
}

/// Why an allocator issued nothing.
pub(crate) enum TakeError {
    /// This allocator was evicted; look the tag up again.
    Retired,
    Refused(IssueError),
}

impl Allocator {
    pub(crate) fn new(tag: Tag, now: Duration) -> Self {
        Self {
            buffer: SegmentBuffer::new(),
            tag,
            format: OnceLock::new(),
            other_kind: OtherKindCell::default(),
            state: Mutex::new(State::new(now)),
            changed: Notify::new(),
        }
    }

    pub(crate) fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The format of its numbers.
    #[inline]
    pub(crate) fn format(&self) -> Option<Arc<dyn IdFormat>> {
        self.format.get().cloned()
    }

    /// The same, for a look.
    #[inline]
    pub(crate) fn format_ref(&self) -> Option<&Arc<dyn IdFormat>> {
        self.format.get()
    }

    /// Where its ids come from, if it is known to have no segments. Takes no lock.
    #[inline]
    pub(crate) fn other_kind(&self) -> Option<OtherKind> {
        self.other_kind.get()
    }

    /// Takes one id. Never waits.
    #[inline]
    pub(crate) fn try_next(self: &Arc<Self>, shared: &Shared) -> Result<Id, TakeError> {
        loop {
            if let Some(taken) = self.buffer.try_take() {
                if taken.is_low {
                    self.on_low(shared);
                }
                return Ok(taken.id);
            }
            self.on_empty(shared)?;
        }
    }

    /// Takes one id; waits for a segment if needed.
    pub(crate) async fn next(self: &Arc<Self>, shared: &Shared) -> Result<Id, TakeError> {
        self.wait(shared, || self.try_next(shared)).await
    }

    /// Takes `count` ids, ascending, if memory holds as many; otherwise none.
    pub(crate) fn try_next_many(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<TakenMany, TakeError> {
        loop {
            if let Some(taken) = self.try_take_many(shared, count) {
                return Ok(taken);
            }
            if self.buffer.remaining() < count {
                return Err(self.on_short(shared));
            }
            self.on_empty(shared)?;
        }
    }

    /// Takes `count` ids, ascending; waits for as many segments as it needs.
    pub(crate) async fn next_many(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<TakenMany, TakeError> {
        if let Some(taken) = self.try_take_many(shared, count) {
            return Ok(taken);
        }
        self.demand(shared, Demand::new(count, false)).await
    }

    /// Takes `count` adjacent ids; waits for a segment of its own if needed.
    pub(crate) async fn take(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<Segment, TakeError> {
        if let Some(range) = self.try_take(shared, count) {
            return Ok(range);
        }
        let taken = self.demand(shared, Demand::new(count, true)).await?;
        Ok(taken
            .last()
            .expect("a demand is answered with what it asked for"))
    }

    /// Takes `len` adjacent ids, if memory holds as many in one piece. Never waits.
    pub(crate) fn try_take(self: &Arc<Self>, shared: &Shared, len: u64) -> Option<Segment> {
        let (range, passed_over) = self.buffer.try_take_range(len)?;
        if passed_over > 0 {
            self.lock().usage.skipped += passed_over;
        }
        if self.buffer.is_low() {
            self.on_low(shared);
        }
        Some(range)
    }

    /// As [`try_take`](Self::try_take); if there is no such range, says why and wakes the driver.
    pub(crate) fn try_take_range(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<Segment, TakeError> {
        match self.try_take(shared, count) {
            Some(range) => Ok(range),
            None => Err(self.on_short(shared)),
        }
    }

    fn try_take_many(self: &Arc<Self>, shared: &Shared, count: u64) -> Option<TakenMany> {
        let taken = self.buffer.try_take_many(count)?;
        if taken.is_low {
            self.on_low(shared);
        }
        Some(taken)
    }

    /// Repeats `attempt` after each change, until it succeeds, fails permanently, or `wait_max` is
    /// over, or the next retry of a failing store lies beyond that.
    async fn wait<T>(
        &self,
        shared: &Shared,
        mut attempt: impl FnMut() -> Result<T, TakeError>,
    ) -> Result<T, TakeError> {
        let deadline = shared.clock.now().saturating_add(shared.options.wait_max);
        loop {
            let changed = self.changed.listen();
            let error = match attempt() {
                Err(TakeError::Refused(error)) if error.is_retryable() => error,
                done => return done,
            };
            let now = shared.clock.now();
            if now >= deadline || self.is_off_until_after(deadline) {
                return Err(TakeError::Refused(error));
            }
            let timer = shared.clock.sleep(deadline.saturating_sub(now));
            if let Either::Right(_) = select(changed, timer).await {
                return attempt();
            }
        }
    }

    fn is_off_until_after(&self, deadline: Duration) -> bool {
        matches!(self.lock().refill_state, RefillState::Waiting { until } if until > deadline)
    }

    /// Supplies are low: asks the driver for a segment, once.
    #[cold]
    #[inline(never)]
    fn on_low(self: &Arc<Self>, shared: &Shared) {
        self.on_low_under_lock(&mut self.lock(), shared);
    }

    fn on_low_under_lock(self: &Arc<Self>, state: &mut State, shared: &Shared) {
        if self.buffer.is_low() {
            self.buffer.mute();
            self.enqueue(state, shared);
        }
    }

    /// Puts the tag into the driver's queue, unless it is there.
    fn enqueue(self: &Arc<Self>, state: &mut State, shared: &Shared) {
        if state.refill_state == RefillState::Idle {
            state.refill_state = RefillState::Queued;
            shared.enqueue(Arc::clone(self), state.tag_state == TagState::New);
        }
    }

    /// The buffer was empty: succeeds if it holds ids by now; otherwise says why and wakes the
    /// driver.
    #[cold]
    #[inline(never)]
    fn on_empty(self: &Arc<Self>, shared: &Shared) -> Result<(), TakeError> {
        let mut state = self.lock();
        if self.buffer.remaining() > 0 && state.tag_state.may_issue() {
            // A number may have been put back after another caller closed the buffer.
            self.buffer.reopen();
            return Ok(());
        }
        // Under the lock, so that it cannot undo the `put` that opens the buffer again.
        self.buffer.close();
        Err(self.on_short_under_lock(&mut state, shared))
    }

    /// As `on_empty`, for a caller that needs more than the buffer holds.
    fn on_short(self: &Arc<Self>, shared: &Shared) -> TakeError {
        self.on_short_under_lock(&mut self.lock(), shared)
    }

    fn on_short_under_lock(self: &Arc<Self>, state: &mut State, shared: &Shared) -> TakeError {
        let now = shared.clock.now();
        state.demands.missed(now);
        if state.tag_state.is_over(now) {
            state.tag_state = TagState::New;
            state.row.is_dropped = false;
        }
        let permanent = match &state.tag_state {
            TagState::Retired => return TakeError::Retired,
            TagState::Unknown { .. } => Permanent::UnknownTag {
                tag: self.tag.clone(),
            },
            TagState::Unusable { message, .. } => Permanent::BadRow {
                tag: self.tag.clone(),
                message: message.clone(),
            },
            TagState::OtherKind { min_id } => Permanent::NoSegments {
                tag: self.tag.clone(),
                kind: state.row.kind(),
                form: state.row.form(),
                min_id: *min_id,
            },
            TagState::Exhausted => Permanent::LimitReached {
                tag: self.tag.clone(),
                limit: state.row.limit(),
            },
            TagState::New | TagState::Live if shared.is_stopped() => Permanent::Stopped {
                tag: self.tag.clone(),
            },
            TagState::New | TagState::Live => {
                self.enqueue(state, shared);
                return TakeError::Refused(state.transient(&self.tag, now));
            }
        };
        TakeError::Refused(permanent.into())
    }

    /// The last id issued here.
    pub(crate) fn last(&self) -> Option<Id> {
        self.buffer.last()
    }

    /// Wakes all waiting callers, to try again.
    pub(crate) fn notify(&self) {
        self.changed.notify(usize::MAX);
    }

    fn lock(&self) -> StateGuard<'_> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        StateGuard::new(state, &self.other_kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::options::Options;
    use crate::store::MemoryStore;

    /// Guards that a number which is put back after another caller has closed the buffer is found,
    /// and no caller loops in search of it.
    #[test]
    fn a_closed_buffer_that_holds_ids_is_opened_again() {
        let shared = Shared::new(
            Arc::new(MemoryStore::new()),
            Arc::new(ManualClock::new()),
            Arc::new(()),
            Options::default(),
        );
        let tag = Tag::new("order").expect("a plain name");
        let allocator = Arc::new(Allocator::new(tag, Duration::ZERO));
        allocator.lock().tag_state = TagState::Live;
        let segment = Segment::new(1, 11).expect("the bounds are in order");
        allocator.buffer.put(segment).expect("the buffer is empty");
        allocator.buffer.close();
        assert!(allocator.on_empty(&shared).is_ok());
        assert!(allocator.buffer.try_take().is_some());
    }
}
