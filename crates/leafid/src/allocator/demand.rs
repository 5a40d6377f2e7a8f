//! `Demand`: a caller's request for more ids than the buffer holds, which the driver answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::state::State;
use super::{Allocator, Shared, TakeError};
use crate::error::{IssueError, TransientReason};
use crate::segment::{Segment, TakenMany};

/// How many callers may wait for long ranges of one tag.
const DEMANDS_MAX: usize = 1024;

/// A request for `count` ids, adjacent ones if `is_adjacent`.
pub(super) struct Demand {
    count: u64,
    pub(super) is_adjacent: bool,
    answer: Mutex<Answer>,
}

/// The state of a demand. It is answered completely or not at all, so that one which cannot be met
/// holds no ids.
enum Answer {
    /// Exits: `Ready`, `Cancelled`.
    Open,
    /// Exits: `Cancelled`, once it is fetched.
    Ready(Result<TakenMany, IssueError>),
    /// The caller gave up. No exit.
    Cancelled,
}

impl Demand {
    pub(super) fn new(count: u64, is_adjacent: bool) -> Arc<Self> {
        Arc::new(Self {
            count,
            is_adjacent,
            answer: Mutex::new(Answer::Open),
        })
    }

    /// How many ids it lacks; none if its caller gave up.
    pub(super) fn missing(&self) -> u64 {
        if self.is_open() { self.count } else { 0 }
    }

    /// Whether its caller still waits.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.lock(), Answer::Open)
    }

    /// Answers it with all its ids; returns how many of them are lost because the caller gave up.
    pub(super) fn give(&self, taken: TakenMany) -> u64 {
        let mut slot = self.lock();
        match *slot {
            Answer::Open => {
                *slot = Answer::Ready(Ok(taken));
                0
            }
            _ => taken.len(),
        }
    }

    /// Refuses it.
    pub(super) fn refuse(&self, error: IssueError) {
        let mut slot = self.lock();
        if matches!(*slot, Answer::Open) {
            *slot = Answer::Ready(Err(error));
        }
    }

    /// Takes the answer, if it is there. It can be taken once.
    pub(super) fn answer(&self) -> Option<Result<TakenMany, IssueError>> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Answer::Cancelled) {
            Answer::Ready(answer) => Some(answer),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// Ends it; returns how many of its ids were not taken.
    fn cancel(&self) -> u64 {
        match std::mem::replace(&mut *self.lock(), Answer::Cancelled) {
            Answer::Ready(Ok(taken)) => taken.len(),
            _ => 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a demand when its caller gives up; ids that it got meanwhile are skipped.
struct CancelOnDrop<'a> {
    demand: &'a Demand,
    allocator: &'a Allocator,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let unfetched = self.demand.cancel();
        if unfetched > 0 {
            self.allocator.lock().usage.skipped += unfetched;
        }
    }
}

impl Allocator {
    /// Asks the driver for ids, and waits for the answer.
    pub(super) async fn demand(
        self: &Arc<Self>,
        shared: &Shared,
        demand: Arc<Demand>,
    ) -> Result<TakenMany, TakeError> {
        let _cancel = CancelOnDrop {
            demand: &demand,
            allocator: self,
        };
        self.place(shared, &demand)?;
        let waited = self
            .wait(shared, || match demand.answer() {
                Some(answer) => answer.map_err(TakeError::Refused),
                None => Err(self.on_short(shared)),
            })
            .await;
        // The answer may have come after the last look: ids that are here are not lost to a
        // deadline, nor to a limit that the tag reached with them.
        demand
            .answer()
            .map_or(waited, |answer| answer.map_err(TakeError::Refused))
    }

    /// Queues a demand for the driver, unless memory can serve it after all: a segment may have
    /// arrived since the caller looked, and a range from the next one would skip all of that.
    fn place(self: &Arc<Self>, shared: &Shared, demand: &Arc<Demand>) -> Result<(), TakeError> {
        // Segments are put in under this lock: one that is not there now will find the demand.
        let mut state = self.lock();
        self.serve_from_memory(&mut state, demand);
        if !demand.is_open() {
            self.on_low_under_lock(&mut state, shared);
            return Ok(());
        }
        if state.demands.queue.len() >= DEMANDS_MAX {
            state.demands.prune();
        }
        if state.demands.queue.len() >= DEMANDS_MAX {
            let retry_after = state.loading_retry();
            let busy = IssueError::transient(&self.tag, retry_after, TransientReason::Busy);
            return Err(TakeError::Refused(busy));
        }
        state.demands.queue.push_back(Arc::clone(demand));
        Ok(())
    }

    /// Answers a demand if memory holds all that it lacks.
    fn serve_from_memory(&self, state: &mut State, demand: &Demand) {
        let taken = if demand.is_adjacent {
            let taken = self.buffer.try_take_range(demand.count);
            taken.map(|(range, passed_over)| {
                state.usage.skipped += passed_over;
                TakenMany::of(range)
            })
        } else {
            let mut nothing = Segment::NONE;
            self.take_with(state, &mut nothing, demand.count)
        };
        if let Some(taken) = taken {
            state.usage.skipped += demand.give(taken);
        }
    }

    /// Gives a demand what it lacks, if there is enough: for a range, from the new segment,
    /// skipping everything below it; otherwise from the buffer first. Ids ascend either way.
    pub(super) fn serve(&self, state: &mut State, demand: &Demand, rest: &mut Segment) {
        let taken = if demand.is_adjacent {
            let is_enough = demand.count <= rest.len();
            is_enough.then(|| {
                let front = rest.split_front(demand.count);
                state.usage.skipped += self.buffer.advance_past(front);
                TakenMany::of(front)
            })
        } else {
            self.take_with(state, rest, demand.count)
        };
        if let Some(taken) = taken {
            state.usage.skipped += demand.give(taken);
        }
    }

    /// Takes `count` ids from the buffer and the rest from the front of `rest`; none if both
    /// together hold fewer.
    fn take_with(&self, state: &mut State, rest: &mut Segment, count: u64) -> Option<TakenMany> {
        loop {
            let at_hand = self.buffer.remaining().min(count);
            if at_hand + rest.len() < count {
                return None;
            }
            if at_hand > 0 {
                // As in `on_empty`: it may have been closed. Closing needs the lock.
                self.buffer.reopen();
            }
            // Others take at the same time; each round has fewer ids left.
            let taken = match at_hand {
                0 => Some(TakenMany::default()),
                _ => self.buffer.try_take_many(at_hand),
            };
            let Some(mut taken) = taken else { continue };
            let front = rest.split_front(count - at_hand);
            if !front.is_empty() {
                state.usage.skipped += self.buffer.advance_past(front);
                taken.push(front);
            }
            return Some(taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use futures_util::future::BoxFuture;

    use crate::store::{MemoryStore, TagSettings};
    use crate::{Clock, Limit, ManualClock, Options, Tag, blocking};

    /// Guards that a segment which arrives between a caller's look at memory and its demand is
    /// used: a range from the next segment skipped all of the first.
    #[test]
    fn a_demand_is_served_by_a_segment_that_came_just_before_it() {
        let options = Options {
            create_missing: Some(TagSettings::default()),
            ..Options::default()
        };
        let store = Arc::new(MemoryStore::new());
        let shared = Shared::new(store, Arc::new(ManualClock::new()), Arc::new(()), options);
        let tag = Tag::new("order").expect("a plain name");
        let allocator = Arc::new(Allocator::new(tag, Duration::ZERO));
        for (is_adjacent, first) in [(true, 1), (false, 5), (true, 9)] {
            let demand = Demand::new(4, is_adjacent);
            if first == 1 {
                assert!(allocator.try_take_range(&shared, 4).is_err());
                blocking::block_on(Arc::clone(&allocator).refill(&shared));
            }
            allocator
                .place(&shared, &demand)
                .ok()
                .expect("there is room");
            let taken = demand.answer().expect("an answer").expect("ids");
            assert_eq!((taken.ranges()[0].start(), taken.len()), (first, 4));
        }
        assert_eq!(allocator.lock().usage.skipped, 0);
    }

    type OnNow = Box<dyn FnOnce() + Send>;

    /// A clock that does something when it is read for the second time without the lock: after a
    /// caller has looked for its answer in vain, and before it gives up.
    struct ActingClock {
        clock: ManualClock,
        allocator: Arc<Allocator>,
        reads: Mutex<u32>,
        on_now: Mutex<Option<OnNow>>,
    }

    impl Clock for ActingClock {
        fn now(&self) -> Duration {
            if self.allocator.state.try_lock().is_ok() {
                *self.reads.lock().expect("no panic") += 1;
            }
            if *self.reads.lock().expect("no panic") == 2 {
                let on_now = self.on_now.lock().expect("no panic").take();
                on_now.into_iter().for_each(|act| act());
            }
            self.clock.now()
        }

        fn wall(&self) -> Duration {
            self.clock.wall()
        }

        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            self.clock.sleep(duration)
        }
    }

    /// Guards that ids which arrive after a caller's last look are not lost: at the end of a tag
    /// they were its last ones.
    #[test]
    fn an_answer_after_the_last_look_is_taken() {
        let settings = TagSettings {
            limit: Limit::new(500).expect("in range"),
            ..TagSettings::default()
        };
        let options = Options {
            create_missing: Some(settings),
            ..Options::default()
        };
        let tag = Tag::new("order").expect("a plain name");
        let allocator = Arc::new(Allocator::new(tag, Duration::ZERO));
        let clock = Arc::new(ActingClock {
            clock: ManualClock::new(),
            allocator: Arc::clone(&allocator),
            reads: Mutex::new(0),
            on_now: Mutex::new(None),
        });
        let store = Arc::new(MemoryStore::new());
        let wait_max = options.wait_max;
        let shared = Arc::new(Shared::new(
            store,
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::new(()),
            options,
        ));
        let (at, driver) = (
            Arc::clone(&clock),
            (Arc::clone(&allocator), Arc::clone(&shared)),
        );
        *clock.on_now.lock().expect("no panic") = Some(Box::new(move || {
            let (allocator, shared) = driver;
            blocking::block_on(allocator.refill(&shared));
            at.clock.advance(wait_max);
        }));
        let taken = blocking::block_on(allocator.next_many(&shared, 500));
        assert_eq!(taken.ok().map(|taken| taken.len()), Some(500));
        assert_eq!(allocator.lock().usage.skipped, 0);
    }
}
