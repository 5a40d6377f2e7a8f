//! Servers with worker ids in virtual time: registries, their drivers, and a lease store that can
//! be slow or fail. Each server has clocks of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leafid::store::{
    Journal, LeaseRecord, LeaseStore, LeaseSwap, MemoryJournal, MemoryLeaseStore, StoreError,
    StoreReport, StoreResult,
};
use leafid::{
    Clock, Id, Layout, ManualClock, Observer, Parts, RegistryDriver, RegistryOptions,
    RegistryStatus, SnowflakeError, WorkerId, WorkerRegistry,
};

use crate::world::Log;

/// The behaviour of the registry from now on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Well,
    Down,
    /// It accepts calls and never answers them, not even once it is well again.
    Hanging,
    /// It answers after this time, with what it held before.
    Slow(Duration),
    /// The same for every other read of a row; the others are never answered.
    HalfLost(Duration),
    /// It answers reads of one row, and nothing else.
    OneRowOnly,
    /// It can be read.
    ReadOnly,
    /// It makes the change, and its answer is lost.
    AnswersLost,
}

/// The content of a registry, which can be replaced as a whole.
#[derive(Default)]
pub(crate) struct Memory(Mutex<MemoryLeaseStore>);

impl Memory {
    pub(crate) fn set(&self, memory: MemoryLeaseStore) {
        *self.0.lock().unwrap() = memory;
    }

    pub(crate) fn get(&self) -> MemoryLeaseStore {
        self.0.lock().unwrap().clone()
    }
}

/// A registry whose behaviour can be changed, with an optional clock.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) memory: Memory,
    mood: Mutex<Mood>,
    /// How many of the next calls conflict with another transaction.
    pub(crate) conflicts: Mutex<u32>,
    location: Mutex<String>,
    /// Its own clock: that of this server.
    clock: Mutex<Option<ManualClock>>,
    /// Whether the next read of a row is lost, if every other one is.
    loses_next: AtomicBool,
}

impl Registry {
    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Where it is looked for from now on.
    pub(crate) fn set_location(&self, location: &str) {
        location.clone_into(&mut self.location.lock().unwrap());
    }

    /// From now on it has a clock of its own.
    pub(crate) fn set_clock(&self, clock: &ManualClock) {
        *self.clock.lock().unwrap() = Some(clock.clone());
    }

    /// Whether this call conflicts with another transaction.
    fn loses(&self) -> bool {
        let mut conflicts = self.conflicts.lock().unwrap();
        let loses = *conflicts > 0;
        *conflicts = conflicts.saturating_sub(1);
        loses
    }

    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Well if self.loses() => Err(StoreError::Conflict {
                message: "another transaction won".into(),
                source: "deadlock".into(),
            }),
            Mood::Well | Mood::ReadOnly => call.await,
            Mood::Down | Mood::OneRowOnly => {
                Err(StoreError::unavailable("cannot reach the registry", "down"))
            }
            Mood::Slow(time) | Mood::HalfLost(time) => {
                let answer = call.await;
                let clock = self.clock.lock().unwrap().clone().expect("set_clock");
                clock.sleep(time).await;
                answer
            }
            Mood::Hanging => std::future::pending().await,
            Mood::AnswersLost => {
                call.await?;
                Err(StoreError::unavailable(
                    "cannot reach the registry",
                    "reset",
                ))
            }
        }
    }
}

impl LeaseStore for Registry {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(async move {
            let memory = self.memory.get();
            self.answer(memory.bind(layout)).await
        })
    }

    fn identity(&self) -> StoreResult<'_, String> {
        Box::pin(async move {
            let memory = self.memory.get();
            self.answer(memory.identity()).await
        })
    }

    fn location(&self) -> String {
        self.location.lock().unwrap().clone()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        Box::pin(async move {
            let memory = self.memory.get();
            self.answer(memory.leases()).await
        })
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        Box::pin(async move {
            let memory = self.memory.get();
            let is_lossy = matches!(*self.mood.lock().unwrap(), Mood::HalfLost(_));
            if is_lossy && self.loses_next.fetch_xor(true, Ordering::Relaxed) {
                return std::future::pending().await;
            }
            if *self.mood.lock().unwrap() == Mood::OneRowOnly {
                return memory.lease(worker).await;
            }
            self.answer(memory.lease(worker)).await
        })
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async move {
            let memory = self.memory.get();
            if *self.mood.lock().unwrap() == Mood::ReadOnly {
                return Err(StoreError::unavailable(
                    "cannot change the registry",
                    "full",
                ));
            }
            self.answer(memory.swap(swap)).await
        })
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let memory = self.memory.get();
            self.answer(memory.report(record, now_ms)).await
        })
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        let clock = self.clock.lock().unwrap().clone();
        let shows = clock.map(|clock| millis(clock.wall()));
        Box::pin(self.answer(async move { Ok(shows) }))
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        Box::pin(async move { self.memory.get().inspect().await })
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}

/// One server.
pub(crate) struct Server {
    pub(crate) clock: ManualClock,
    pub(crate) registry: WorkerRegistry,
    pub(crate) log: Arc<Log>,
    driver: Option<RegistryDriver>,
    layout: Layout,
}

/// The settings of a server.
pub(crate) struct Setup {
    pub(crate) store: Option<Arc<Registry>>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: ManualClock,
    pub(crate) options: RegistryOptions,
}

impl Setup {
    pub(crate) fn new(store: &Arc<Registry>) -> Self {
        Self {
            store: Some(Arc::clone(store)),
            journal: Arc::new(MemoryJournal::new()),
            clock: ManualClock::new(),
            options: RegistryOptions::default().with_seed(7),
        }
    }

    /// Starts it, and runs it as far as it gets at once.
    pub(crate) fn start(self) -> Server {
        let log = Arc::new(Log::default());
        let layout = self.options.snowflake.layout;
        let mut builder = WorkerRegistry::builder()
            .journal(self.journal)
            .clock(Arc::new(self.clock.clone()))
            .observer(Arc::clone(&log) as Arc<dyn Observer>)
            .options(self.options);
        if let Some(store) = self.store {
            builder = builder.store(store);
        }
        let (registry, driver) = builder.build();
        let mut server = Server {
            clock: self.clock,
            registry,
            log,
            driver: Some(driver),
            layout,
        };
        server.settle();
        server
    }
}

impl Server {
    fn settle(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        // Nothing here waits for anything but the clock, which stands still meanwhile.
        for _ in 0..8 {
            let Some(driver) = &mut self.driver else {
                return;
            };
            if let Poll::Ready(()) = Pin::new(driver).poll(&mut context) {
                self.driver = None;
            }
        }
    }

    /// Lets time pass, and runs the driver at every instant it waits for.
    pub(crate) fn advance(&mut self, by: Duration) {
        let until = self.clock.now() + by;
        self.settle();
        while let Some(next) = self.clock.next_wake().filter(|next| *next <= until) {
            self.clock.advance(next.saturating_sub(self.clock.now()));
            self.settle();
        }
        self.clock.advance(until.saturating_sub(self.clock.now()));
        self.settle();
    }

    /// Steps the wall clock.
    pub(crate) fn step(&self, seconds: f64) {
        let wall = self.clock.wall();
        let by = Duration::from_secs_f64(seconds.abs());
        self.clock.set_wall(if seconds < 0.0 {
            wall.saturating_sub(by)
        } else {
            wall + by
        });
    }

    pub(crate) fn try_next(&self) -> Result<Id, SnowflakeError> {
        self.registry.snowflake().try_next()
    }

    pub(crate) fn next(&self) -> Parts {
        let id = self
            .try_next()
            .unwrap_or_else(|error| panic!("no id: {error}"));
        self.layout.decompose(id.get())
    }

    pub(crate) fn status(&self) -> RegistryStatus {
        self.registry.status()
    }

    pub(crate) fn worker(&self) -> WorkerId {
        let status = self.status();
        let lease = status
            .lease
            .unwrap_or_else(|| panic!("no worker id: {}", status.stage));
        lease.worker
    }

    pub(crate) fn drop_driver(&mut self) {
        self.driver = None;
    }

    /// Gives the worker id back.
    pub(crate) fn stop(&mut self) {
        self.registry.stop();
        self.settle();
        assert!(self.driver.is_none(), "the driver goes on");
    }
}

/// A registry without rows.
pub(crate) fn store() -> Arc<Registry> {
    Arc::default()
}

/// Starts of one server, which keeps its journal and its clocks.
pub(crate) fn restarts(store: &Arc<Registry>, clock: &ManualClock) -> impl Fn() -> Setup {
    let (store, clock, journal) = (Arc::clone(store), clock.clone(), MemoryJournal::new());
    move || Setup {
        journal: Arc::new(journal.clone()),
        clock: clock.clone(),
        ..Setup::new(&store)
    }
}
