//! `Allocator`: keeps one tag supplied with segments. This file is the side of the callers, who
//! take ids and wait; `allocator/refill.rs` and `book.rs` are the side of the driver, which fetches
//! segments.
//!
//! Taking an id is `SegmentBuffer::try_take` and nothing else. All other state is behind one
//! mutex, which is touched once or twice a segment and by callers that find the buffer empty.

mod book;
mod demand;
mod load;
mod queue;
mod refill;
mod regression;
mod shared;
mod spare;
mod state;
mod status;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use event_listener::Event as Notify;
use futures_util::future::{Either, select};

use crate::error::{IssueError, Permanent};
use crate::id::Id;
use crate::segment::{Segment, SegmentBuffer, TakenMany};
use crate::tag::Tag;

use demand::Demand;
pub(crate) use refill::After;
pub(crate) use shared::{Shared, within};
use state::{Standing, State, Supply};
pub use status::{Stage, Status};

/// Keeps one tag supplied.
pub(crate) struct Allocator {
    buffer: SegmentBuffer,
    tag: Tag,
    state: Mutex<State>,
    /// Told whenever something changed for those who wait.
    changed: Notify,
}

/// What a caller who found no id should do.
enum Starved {
    /// Look once more: there is one now.
    Again,
    /// This allocator is out of use.
    Retired,
    Refused(IssueError),
}

/// Why an allocator gave nothing.
pub(crate) enum Miss {
    /// This allocator is out of use; look the tag up again.
    Retired,
    Refused(IssueError),
}

impl Allocator {
    pub(crate) fn new(tag: Tag, now: Duration) -> Self {
        Self {
            buffer: SegmentBuffer::new(),
            tag,
            state: Mutex::new(State::new(now)),
            changed: Notify::new(),
        }
    }

    pub(crate) fn tag(&self) -> &Tag {
        &self.tag
    }

    /// Takes one id. Never waits.
    #[inline]
    pub(crate) fn try_next(self: &Arc<Self>, shared: &Shared) -> Result<Id, Miss> {
        loop {
            if let Some(taken) = self.buffer.try_take() {
                if taken.is_low {
                    self.low(shared);
                }
                return Ok(taken.id);
            }
            match self.starved(shared) {
                Starved::Again => {}
                Starved::Retired => return Err(Miss::Retired),
                Starved::Refused(error) => return Err(Miss::Refused(error)),
            }
        }
    }

    /// Takes one id, waiting for the segment under way.
    pub(crate) async fn next(self: &Arc<Self>, shared: &Shared) -> Result<Id, Miss> {
        self.wait(shared, || self.try_next(shared)).await
    }

    /// Takes `count` ids, ascending, if memory holds as many; otherwise none.
    pub(crate) fn try_next_many(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<TakenMany, Miss> {
        loop {
            if let Some(taken) = self.try_take_many(shared, count) {
                return Ok(taken);
            }
            let starved = if self.buffer.remaining() >= count {
                self.starved(shared)
            } else {
                self.starved_of_many(shared)
            };
            match starved {
                Starved::Again => {}
                starved => return Err(self.missed(starved)),
            }
        }
    }

    /// What it comes to that there were fewer ids than wanted.
    fn missed(&self, starved: Starved) -> Miss {
        match starved {
            Starved::Retired => Miss::Retired,
            Starved::Refused(error) => Miss::Refused(error),
            Starved::Again => Miss::Refused(self.loading()),
        }
    }

    /// Takes `count` ids, ascending, waiting for as many segments as it needs.
    pub(crate) async fn next_many(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<TakenMany, Miss> {
        if let Some(taken) = self.try_take_many(shared, count) {
            return Ok(taken);
        }
        self.demand(shared, Demand::new(count, false)).await
    }

    /// Takes `count` adjacent ids, waiting for a segment of its own if need be.
    pub(crate) async fn take(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<Segment, Miss> {
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
            self.lock().skipped += passed_over;
        }
        if self.buffer.is_low() {
            self.low(shared);
        }
        Some(range)
    }

    /// As [`try_take`](Self::try_take); when there is no such range, says why and tells the driver.
    pub(crate) fn try_take_range(
        self: &Arc<Self>,
        shared: &Shared,
        count: u64,
    ) -> Result<Segment, Miss> {
        match self.try_take(shared, count) {
            Some(range) => Ok(range),
            None => Err(self.missed(self.starved_of_many(shared))),
        }
    }

    fn try_take_many(self: &Arc<Self>, shared: &Shared, count: u64) -> Option<TakenMany> {
        let taken = self.buffer.try_take_many(count)?;
        if taken.is_low {
            self.low(shared);
        }
        Some(taken)
    }

    /// Repeats `attempt` whenever something changed, until it succeeds, or fails for good, or
    /// `wait_max` is over, or the next try of a failing store lies beyond that.
    async fn wait<T>(
        &self,
        shared: &Shared,
        mut attempt: impl FnMut() -> Result<T, Miss>,
    ) -> Result<T, Miss> {
        let deadline = shared.clock.now().saturating_add(shared.options.wait_max);
        loop {
            let changed = self.changed.listen();
            let error = match attempt() {
                Err(Miss::Refused(error)) if error.is_retryable() => error,
                done => return done,
            };
            let now = shared.clock.now();
            if now >= deadline || self.is_off_until_after(deadline) {
                return Err(Miss::Refused(error));
            }
            let timer = shared.clock.sleep(deadline.saturating_sub(now));
            if let Either::Right(_) = select(changed, timer).await {
                return attempt();
            }
        }
    }

    fn is_off_until_after(&self, deadline: Duration) -> bool {
        matches!(self.lock().supply, Supply::Waiting { until } if until > deadline)
    }

    fn loading(&self) -> IssueError {
        self.lock().transient(&self.tag, Duration::ZERO)
    }

    /// Supplies are low: asks the driver for a segment, once.
    #[cold]
    #[inline(never)]
    fn low(self: &Arc<Self>, shared: &Shared) {
        self.low_under_lock(&mut self.lock(), shared);
    }

    fn low_under_lock(self: &Arc<Self>, state: &mut State, shared: &Shared) {
        if self.buffer.is_low() {
            self.buffer.mute();
            self.ask(state, shared);
        }
    }

    /// Puts the tag into the driver's hands, unless it is there.
    fn ask(self: &Arc<Self>, state: &mut State, shared: &Shared) {
        if state.supply == Supply::Idle {
            state.supply = Supply::Queued;
            shared.ask(Arc::clone(self), state.standing == Standing::New);
        }
    }

    /// The buffer gave nothing: says why, and sees to it that the driver knows.
    #[cold]
    #[inline(never)]
    fn starved(self: &Arc<Self>, shared: &Shared) -> Starved {
        let mut state = self.lock();
        if self.buffer.remaining() > 0 && state.standing.may_issue() {
            // A number may have been put back after another caller closed the buffer.
            self.buffer.reopen();
            return Starved::Again;
        }
        // Under the lock, so that it cannot undo the `put` that opens the buffer again.
        self.buffer.close();
        self.starved_under_lock(&mut state, shared)
    }

    /// As `starved`, for a caller whom what the buffer holds does not help.
    fn starved_of_many(self: &Arc<Self>, shared: &Shared) -> Starved {
        self.starved_under_lock(&mut self.lock(), shared)
    }

    fn starved_under_lock(self: &Arc<Self>, state: &mut State, shared: &Shared) -> Starved {
        let now = shared.clock.now();
        state.asked = true;
        state.asked_at = now;
        if state.standing.is_over(now) {
            state.standing = Standing::New;
            state.is_dropped = false;
        }
        let permanent = match &state.standing {
            Standing::Retired => return Starved::Retired,
            Standing::Unknown { .. } => Permanent::UnknownTag {
                tag: self.tag.clone(),
            },
            Standing::Unusable { message, .. } => Permanent::BadRow {
                tag: self.tag.clone(),
                message: message.clone(),
            },
            Standing::OtherKind => Permanent::NoSegments {
                tag: self.tag.clone(),
            },
            Standing::Exhausted => Permanent::LimitReached {
                tag: self.tag.clone(),
                limit: state.limit(),
            },
            Standing::New | Standing::Live if shared.is_stopped() => Permanent::Stopped {
                tag: self.tag.clone(),
            },
            Standing::New | Standing::Live => {
                self.ask(state, shared);
                return Starved::Refused(state.transient(&self.tag, now));
            }
        };
        Starved::Refused(permanent.into())
    }

    /// The last id given out here.
    pub(crate) fn last(&self) -> Option<Id> {
        self.buffer.last()
    }

    /// Wakes all who wait, to look again.
    pub(crate) fn notify(&self) {
        self.changed.notify(usize::MAX);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::options::Options;
    use crate::store::MemoryStore;

    /// Guards: a number that is put back after another caller has closed the buffer is found, and
    /// nobody goes round and round in search of it.
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
        allocator.lock().standing = Standing::Live;
        let segment = Segment::new(1, 11).expect("the bounds are in order");
        allocator.buffer.put(segment).expect("the buffer is empty");
        allocator.buffer.close();
        assert!(matches!(allocator.starved(&shared), Starved::Again));
        assert!(allocator.buffer.try_take().is_some());
    }
}
