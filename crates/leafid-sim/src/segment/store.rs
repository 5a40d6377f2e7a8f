//! `SimStore`: the one store that all simulated servers share, with the faults of a real one.
//!
//! A call travels: it takes effect some time after it was made and is answered some time later,
//! also when the caller has given up or died meanwhile. What the store holds is leafid's own
//! `MemoryStore`; each server process has a connection of its own, which notes what it came to know.

use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt as _;
use leafid::store::{
    MemoryStore, Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch,
    TagRecord, TagSpec,
};
use leafid::{Clock as _, ManualClock, Segment, Tag};

use crate::executor::{Process, Spawner, lock};
use crate::segment::bug::{Bug, Memory};
use crate::segment::history::{Event, History, TagNumber};
use crate::segment::plan::Faults;

/// The store's own process: it outlives all servers.
pub(crate) const STORE: Process = Process(0);

/// The shared half.
pub(crate) struct StoreServer {
    pub(crate) rows: MemoryStore,
    pub(crate) tags: Vec<Tag>,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) counts: Mutex<FaultCounts>,
    pub(crate) history: Arc<History>,
    pub(crate) clock: ManualClock,
    pub(crate) spawner: Spawner,
    pub(crate) random: Mutex<fastrand::Rng>,
    pub(crate) bug: Option<Bug>,
}

/// How often each fault struck.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FaultCounts {
    pub(crate) failed_before: u64,
    pub(crate) failed_after: u64,
    pub(crate) hung_before: u64,
    pub(crate) hung_after: u64,
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// It fails, and took no effect.
    FailsBefore,
    /// It takes effect, and then fails: the outcome is unknown to the caller.
    FailsAfter,
    /// It is never heard of again, and took no effect.
    HangsBefore,
    /// It takes effect, and no answer ever comes.
    HangsAfter,
}

impl StoreServer {
    pub(crate) fn number(&self, tag: &Tag) -> TagNumber {
        self.tags
            .iter()
            .position(|known| known == tag)
            .unwrap_or(usize::MAX)
    }

    /// Draws a segment as Leaf does: no floor, no limit, and it knows of no failure.
    pub(crate) fn reserve_as_leaf(&self, tag: TagNumber) {
        let name = &self.tags[tag];
        let rows = self.now(self.rows.read(std::slice::from_ref(name)));
        let Some(row) = rows.ok().and_then(|mut rows| rows.pop()) else {
            return;
        };
        let end = row.max_id.saturating_add(u64::from(row.settings.step));
        if let Some(segment) = Segment::new(row.max_id, end) {
            let raised = self.rows.put_max_id(name, end);
            if raised.is_ok() {
                self.history.push(Event::LeafReserved { tag, segment });
            }
        }
    }

    /// Does at once what the store does after a delay.
    pub(crate) fn now<T>(&self, call: impl Future<Output = T>) -> T {
        call.now_or_never()
            .expect("a store in memory answers at once")
    }

    pub(crate) fn delay(&self, max: Duration) -> Duration {
        max.mul_f64(lock(&self.random).f64().powi(3))
    }

    fn fate(&self) -> Fate {
        let faults = *lock(&self.faults);
        let drawn = lock(&self.random).f64();
        let mut counts = lock(&self.counts);
        let kinds = [
            (faults.fail_before, Fate::FailsBefore),
            (faults.fail_after, Fate::FailsAfter),
            (faults.hang_before, Fate::HangsBefore),
            (faults.hang_after, Fate::HangsAfter),
        ];
        let mut sum = 0.0;
        let fate = kinds.into_iter().find_map(|(share, fate)| {
            sum += share;
            (drawn < sum).then_some(fate)
        });
        let fate = fate.unwrap_or(Fate::Answered);
        match fate {
            Fate::Answered => {}
            Fate::FailsBefore => counts.failed_before += 1,
            Fate::FailsAfter => counts.failed_after += 1,
            Fate::HangsBefore => counts.hung_before += 1,
            Fate::HangsAfter => counts.hung_after += 1,
        }
        fate
    }
}

/// A server process's connection to the store.
#[derive(Clone)]
pub(crate) struct SimStore {
    pub(crate) server: Arc<StoreServer>,
    pub(crate) process: Process,
    /// What a faulty connection remembers.
    pub(crate) memory: Arc<Mutex<Memory>>,
}

impl SimStore {
    pub(crate) fn new(server: Arc<StoreServer>, process: Process) -> Self {
        Self {
            server,
            process,
            memory: Arc::default(),
        }
    }

    /// Sends a call on its way.
    fn call<T: Send + 'static>(
        &self,
        effect: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreResult<'static, T> {
        let answer = Answer::new();
        let given = Arc::clone(&answer);
        let server = Arc::clone(&self.server);
        let fate = server.fate();
        let delay_max = lock(&server.faults).delay_max;
        let (there, back) = (server.delay(delay_max), server.delay(delay_max));
        self.server.spawner.spawn(STORE, async move {
            server.clock.sleep(there).await;
            match fate {
                Fate::HangsBefore => return,
                Fate::FailsBefore => return given.give(Err(failure("refused"))),
                Fate::Answered | Fate::FailsAfter | Fate::HangsAfter => {}
            }
            let outcome = effect.await;
            server.clock.sleep(back).await;
            match fate {
                Fate::HangsAfter => {}
                Fate::FailsAfter => given.give(Err(failure("connection lost"))),
                _ => given.give(outcome),
            }
        });
        Box::pin(std::future::poll_fn(move |context| {
            answer.poll(context.waker())
        }))
    }
}

fn failure(reason: &'static str) -> StoreError {
    StoreError::unavailable("cannot use the simulated store", reason)
}

/// Where the answer to a call arrives.
struct Answer<T> {
    state: Mutex<(Option<T>, Option<Waker>)>,
}

impl<T> Answer<T> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new((None, None)),
        })
    }

    fn give(&self, answer: T) {
        let mut state = lock(&self.state);
        state.0 = Some(answer);
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<T> {
        let mut state = lock(&self.state);
        match state.0.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.1 = Some(waker.clone());
                Poll::Pending
            }
        }
    }
}

impl StoreServer {
    /// Creates a tag, and notes where it starts and how far it may go.
    pub(crate) fn create(&self, spec: &TagSpec) -> Result<TagRecord, StoreError> {
        let record = self.now(self.rows.create(spec))?;
        let tag = self.number(&record.tag);
        let (max_id, largest) = (record.max_id, record.settings.limit.largest());
        self.history.push(Event::Created { tag, max_id });
        self.history.push(Event::LimitSet { tag, largest });
        Ok(record)
    }

    /// Reserves, and notes what became durable.
    fn reserve(&self, reserve: &Reserve) -> Result<Reserved, StoreError> {
        let reserved = self.now(self.rows.reserve(reserve))?;
        self.history.push(Event::Reserved {
            tag: self.number(&reserve.tag),
            segment: reserved.segment,
        });
        Ok(reserved)
    }
}

impl SegmentStore for SimStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        let tag = self.server.number(&reserve.tag);
        let process = self.process;
        self.server.history.push(Event::Asked {
            process,
            tag,
            floor: reserve.floor,
        });
        let (server, wish) = (Arc::clone(&self.server), reserve.clone());
        let memory = Arc::clone(&self.memory);
        let call = match self.server.bug {
            None => self.call(async move { server.reserve(&wish) }),
            Some(bug) => match bug.answer_without_asking(&memory, &wish) {
                Some(made_up) => self.call(std::future::ready(Ok(made_up))),
                None => self.call(async move {
                    bug.reserve(&server, &wish, |wish| server.reserve(wish))
                        .await
                }),
            },
        };
        Box::pin(async move {
            let outcome = call.await;
            if let Ok(Reserved { previous, segment }) = outcome {
                self.server.history.push(Event::Acknowledged {
                    process,
                    tag,
                    previous,
                    segment,
                });
            }
            lock(&self.memory).note(&reserve.tag, &outcome);
            outcome
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        let (server, tags) = (Arc::clone(&self.server), tags.to_vec());
        self.call(async move { server.rows.read(&tags).await })
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        let (server, after) = (Arc::clone(&self.server), after.cloned());
        self.call(async move { server.rows.list(after.as_ref(), count).await })
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        let (server, spec) = (Arc::clone(&self.server), spec.clone());
        self.call(async move { server.create(&spec) })
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        let (server, tag, patch) = (Arc::clone(&self.server), tag.clone(), patch.clone());
        self.call(async move { server.rows.update(&tag, &patch).await })
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        let (server, tag) = (Arc::clone(&self.server), tag.clone());
        self.call(async move { server.rows.delete(&tag).await })
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        let server = Arc::clone(&self.server);
        self.call(async move { server.rows.inspect().await })
    }
}
