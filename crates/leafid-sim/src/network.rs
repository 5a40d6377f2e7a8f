//! `Network`: carries calls from a server to the store and back, with the faults of a real one.
//!
//! A call takes effect some time after it was made and is answered some time later, even if the
//! caller has given up or died meanwhile.

use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use fastrand::Rng;
use leafid::store::{StoreError, StoreResult};
use leafid::{Clock as _, ManualClock};

use crate::executor::{Process, Spawner, lock};
use crate::span::span;

/// The store's own process: it outlives all servers.
pub(crate) const STORE: Process = Process(0);

/// How often calls to the store go wrong, as shares of one, and how long they take at most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct NetworkFaults {
    pub(crate) fail_before: f64,
    pub(crate) fail_after: f64,
    pub(crate) hang_before: f64,
    pub(crate) hang_after: f64,
    pub(crate) delay_max: Duration,
}

impl NetworkFaults {
    /// None: the store answers, and quickly.
    pub(crate) const NONE: Self = Self {
        fail_before: 0.0,
        fail_after: 0.0,
        hang_before: 0.0,
        hang_after: 0.0,
        delay_max: Duration::from_millis(10),
    };
    /// The store answers nothing.
    pub(crate) const OUTAGE: Self = Self {
        fail_before: 0.4,
        fail_after: 0.1,
        hang_before: 0.4,
        hang_after: 0.1,
        delay_max: Duration::from_millis(10),
    };

    /// Some of each, as a seed decides.
    pub(crate) fn draw(random: &mut Rng) -> Self {
        let mut share = |max: f64| {
            if random.bool() {
                random.f64().powi(2) * max
            } else {
                0.0
            }
        };
        Self {
            fail_before: share(0.3),
            fail_after: share(0.3),
            hang_before: share(0.1),
            hang_after: share(0.1),
            delay_max: span(random, 1, 2_000),
        }
    }
}

/// The network between servers and a store.
pub(crate) struct Network {
    pub(crate) faults: Mutex<NetworkFaults>,
    pub(crate) counts: Mutex<FaultCounts>,
    pub(crate) clock: ManualClock,
    pub(crate) spawner: Spawner,
    pub(crate) random: Mutex<Rng>,
}

/// How often each fault was injected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FaultCounts {
    pub(crate) failed_before: u64,
    pub(crate) failed_after: u64,
    pub(crate) hung_before: u64,
    pub(crate) hung_after: u64,
}

/// The fate of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// It fails, and took no effect.
    FailsBefore,
    /// It takes effect, and then fails: the outcome is unknown to the caller.
    FailsAfter,
    /// It is lost, and took no effect.
    HangsBefore,
    /// It takes effect, and no answer ever comes.
    HangsAfter,
}

impl Network {
    /// Sends a call on its way.
    pub(crate) fn call<T: Send + 'static>(
        self: &Arc<Self>,
        effect: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreResult<'static, T> {
        let answer = Answer::new();
        let given = Arc::clone(&answer);
        let network = Arc::clone(self);
        let fate = self.fate();
        let delay_max = lock(&self.faults).delay_max;
        let (there, back) = (self.delay(delay_max), self.delay(delay_max));
        self.spawner.spawn(STORE, async move {
            network.clock.sleep(there).await;
            match fate {
                Fate::HangsBefore => return,
                Fate::FailsBefore => return given.give(Err(failure("refused"))),
                Fate::Answered | Fate::FailsAfter | Fate::HangsAfter => {}
            }
            let outcome = effect.await;
            network.clock.sleep(back).await;
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

    fn delay(&self, max: Duration) -> Duration {
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
