//! `Demand`: a caller's wish for more ids than the buffer holds, answered by the driver.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::state::State;
use super::{Allocator, Miss, Shared, Starved};
use crate::error::{IssueError, NotYetReason};
use crate::segment::{Segment, TakenMany};

/// How many callers may wait for long runs of one tag.
const DEMANDS_MAX: usize = 1024;

/// A wish for `count` ids, adjacent ones if `is_run`.
pub(super) struct Demand {
    count: u64,
    pub(super) is_run: bool,
    answer: Mutex<Answer>,
}

/// The life of a demand.
enum Answer {
    /// Some ids are there, not all. Exits: `Given`, `Cancelled`.
    Open(TakenMany),
    /// Exits: `Cancelled`, once it is fetched.
    Given(Result<TakenMany, IssueError>),
    /// Nobody wants it any more; its ids are a gap. No exit.
    Cancelled,
}

impl Demand {
    pub(super) fn new(count: u64, is_run: bool) -> Arc<Self> {
        Arc::new(Self {
            count,
            is_run,
            answer: Mutex::new(Answer::Open(TakenMany::default())),
        })
    }

    /// How many ids it still lacks; none if nobody waits for it.
    pub(super) fn missing(&self) -> u64 {
        match &*self.lock() {
            Answer::Open(taken) => self.count - taken.len(),
            _ => 0,
        }
    }

    /// Whether somebody still waits for it.
    pub(super) fn is_open(&self) -> bool {
        self.missing() > 0
    }

    /// Adds ids, which ascend from call to call, and gives the answer once there are enough.
    pub(super) fn add(&self, run: Segment) {
        let mut slot = self.lock();
        if let Answer::Open(taken) = &mut *slot {
            taken.push(run);
            if taken.len() >= self.count {
                *slot = Answer::Given(Ok(std::mem::take(taken)));
            }
        }
    }

    /// Refuses it.
    pub(super) fn refuse(&self, error: IssueError) {
        let mut slot = self.lock();
        if matches!(*slot, Answer::Open(_)) {
            *slot = Answer::Given(Err(error));
        }
    }

    /// Fetches the answer, if it is there. An answer is fetched once.
    pub(super) fn answer(&self) -> Option<Result<TakenMany, IssueError>> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Answer::Cancelled) {
            Answer::Given(answer) => Some(answer),
            other => {
                *slot = other;
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a demand when its caller goes away.
struct CancelOnDrop<'a>(&'a Demand);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.lock() = Answer::Cancelled;
    }
}

impl Allocator {
    /// Asks the driver for ids, and waits for the answer.
    pub(super) async fn demand(
        self: &Arc<Self>,
        shared: &Shared,
        demand: Arc<Demand>,
    ) -> Result<TakenMany, Miss> {
        let _cancel = CancelOnDrop(&demand);
        self.place(shared, &demand)?;
        self.wait(shared, || match demand.answer() {
            Some(answer) => answer.map_err(Miss::Refused),
            None => match self.starved_of_many(shared) {
                Starved::Retired => Err(Miss::Retired),
                Starved::Refused(error) => Err(Miss::Refused(error)),
                Starved::Again => Err(Miss::Refused(self.loading())),
            },
        })
        .await
    }

    /// Puts a demand where the driver sees it, unless memory can serve it after all: a segment may
    /// have come since its caller looked, and a run off the next one would skip all of that.
    fn place(self: &Arc<Self>, shared: &Shared, demand: &Arc<Demand>) -> Result<(), Miss> {
        // Segments are put in under this lock: one that is not there now will find the demand.
        let mut state = self.lock();
        self.serve_from_memory(&mut state, demand);
        if !demand.is_open() {
            self.low_under_lock(&mut state, shared);
            return Ok(());
        }
        if state.demands.len() >= DEMANDS_MAX {
            state.demands.retain(|demand| demand.is_open());
        }
        if state.demands.len() >= DEMANDS_MAX {
            let retry_after = state.loading_retry();
            let busy = IssueError::not_yet(&self.tag, retry_after, NotYetReason::Busy);
            return Err(Miss::Refused(busy));
        }
        state.demands.push_back(Arc::clone(demand));
        Ok(())
    }

    /// Answers a demand if memory holds all that it lacks.
    fn serve_from_memory(&self, state: &mut State, demand: &Demand) {
        let missing = demand.missing();
        if demand.is_run {
            if let Some((run, passed_over)) = self.buffer.take_run(missing) {
                state.skipped += passed_over;
                demand.add(run);
            }
        } else if self.buffer.remaining() >= missing {
            let taken = self.buffer.try_take_many(missing);
            taken.runs().iter().for_each(|run| demand.add(*run));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, TagSettings};
    use crate::{ManualClock, Options, Tag, blocking};

    /// Guards that a segment which came between a caller's look at memory and its demand is used: a
    /// run off the segment after it skipped all of the first.
    #[test]
    fn a_demand_is_served_by_a_segment_that_came_just_before_it() {
        let options = Options {
            create_missing: Some(TagSettings::default()),
            ..Options::default()
        };
        let store = Arc::new(MemoryStore::new());
        let shared = Shared::new(store, Arc::new(ManualClock::new()), Arc::new(()), options);
        let tag = Tag::new("order").expect("a plain name");
        let allocator = Arc::new(Allocator::new(tag, std::time::Duration::ZERO));
        for (is_run, first) in [(true, 1), (false, 5), (true, 9)] {
            let demand = Demand::new(4, is_run);
            if first == 1 {
                assert!(allocator.try_take_run(&shared, 4).is_err());
                blocking::block_on(Arc::clone(&allocator).refill(&shared));
            }
            allocator
                .place(&shared, &demand)
                .ok()
                .expect("there is room");
            let taken = demand.answer().expect("an answer").expect("ids");
            assert_eq!((taken.runs()[0].start(), taken.len()), (first, 4));
        }
        assert_eq!(allocator.lock().skipped, 0);
    }
}
