//! A world in virtual time: generators, their driver, and a store that can be slow or fail.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use leafid::store::{
    MemoryStore, Reserve, Reserved, SegmentStore, StoreError, StoreReport, StoreResult, TagPatch,
    TagRecord, TagSpec,
};
use leafid::{Clock, Driver, Event, Generators, ManualClock, Observer, Options, StepPolicy, Tag};

/// How the store behaves from now on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It answers.
    #[default]
    Well,
    /// It fails before it did anything.
    Down,
    /// It refuses who asks.
    NoAccess,
    /// It does what it is asked, and then its answer is lost.
    AnswersLost,
    /// It does what it is asked at once, and its answer takes the delay.
    AnswersLate,
    /// It says that the limit of every tag is reached, though it is not.
    Refusing,
    /// It does what it is asked, and forgets it.
    Forgetting,
    /// It never answers.
    Silent,
    /// Its disk is full: it answers all but reservations.
    Full,
}

/// A store in memory whose mood and speed can be changed, and which counts its calls.
pub(crate) struct TestStore {
    pub(crate) memory: MemoryStore,
    clock: ManualClock,
    setup: Mutex<(Mood, Duration)>,
    /// Reservations of this tag fail: somebody has locked its row.
    pub(crate) locked: Mutex<Option<Tag>>,
    /// So many of the next reservations lose against another transaction.
    pub(crate) conflicts: Mutex<u32>,
    /// The lengths of all reservations asked for.
    pub(crate) reserves: Mutex<Vec<u64>>,
    /// The floors of all of them that had one.
    pub(crate) floors: Mutex<Vec<u64>>,
    /// The numbers of tags in all reads.
    pub(crate) reads: Mutex<Vec<usize>>,
    /// How many probes there were.
    pub(crate) probes: Mutex<usize>,
}

impl TestStore {
    fn new(clock: ManualClock) -> Self {
        Self {
            memory: MemoryStore::new(),
            clock,
            setup: Mutex::default(),
            locked: Mutex::default(),
            conflicts: Mutex::default(),
            reserves: Mutex::default(),
            floors: Mutex::default(),
            reads: Mutex::default(),
            probes: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, mood: Mood, delay: Duration) {
        *self.setup.lock().unwrap() = (mood, delay);
    }

    pub(crate) fn reserves(&self) -> Vec<u64> {
        self.reserves.lock().unwrap().clone()
    }

    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let (mood, delay) = *self.setup.lock().unwrap();
        if mood == Mood::AnswersLate {
            let answer = call.await;
            self.clock.sleep(delay).await;
            return answer;
        }
        if delay > Duration::ZERO {
            self.clock.sleep(delay).await;
        }
        match mood {
            Mood::Well | Mood::AnswersLate | Mood::Full | Mood::Forgetting => call.await,
            Mood::Down => Err(StoreError::unavailable(
                "cannot reach the store",
                "it is down",
            )),
            Mood::NoAccess => Err(StoreError::misconfigured(
                "user or password is wrong",
                "access denied",
            )),
            Mood::AnswersLost => {
                call.await?;
                Err(StoreError::unavailable(
                    "cannot reach the store",
                    "connection reset",
                ))
            }
            Mood::Refusing => Err(StoreError::LimitReached { max_id: 1 }),
            Mood::Silent => std::future::pending().await,
        }
    }
}

impl SegmentStore for TestStore {
    fn reserve<'a>(&'a self, reserve: &'a Reserve) -> StoreResult<'a, Reserved> {
        self.floors.lock().unwrap().extend(reserve.floor);
        self.reserves.lock().unwrap().push(reserve.count);
        let mut conflicts = self.conflicts.lock().unwrap();
        if *conflicts > 0 {
            *conflicts -= 1;
            let error = StoreError::Conflict {
                message: "another transaction won".into(),
                source: "deadlock".into(),
            };
            return Box::pin(async { Err(error) });
        }
        let is_locked = self.locked.lock().unwrap().as_ref() == Some(&reserve.tag);
        if is_locked || self.setup.lock().unwrap().0 == Mood::Full {
            let what = ["the disk is full", "the row is locked"][usize::from(is_locked)];
            let error = StoreError::unavailable("cannot reserve", what);
            return Box::pin(async { Err(error) });
        }
        Box::pin(async {
            let reserved = self.answer(self.memory.reserve(reserve)).await?;
            if self.setup.lock().unwrap().0 == Mood::Forgetting {
                self.memory.put_max_id(&reserve.tag, 1)?;
            }
            Ok(reserved)
        })
    }

    fn read<'a>(&'a self, tags: &'a [Tag]) -> StoreResult<'a, Vec<TagRecord>> {
        self.reads.lock().unwrap().push(tags.len());
        Box::pin(self.answer(self.memory.read(tags)))
    }

    fn list<'a>(&'a self, after: Option<&'a Tag>, count: u32) -> StoreResult<'a, Vec<TagRecord>> {
        self.memory.list(after, count)
    }

    fn create<'a>(&'a self, spec: &'a TagSpec) -> StoreResult<'a, TagRecord> {
        self.memory.create(spec)
    }

    fn update<'a>(&'a self, tag: &'a Tag, patch: &'a TagPatch) -> StoreResult<'a, TagRecord> {
        self.memory.update(tag, patch)
    }

    fn delete<'a>(&'a self, tag: &'a Tag) -> StoreResult<'a, ()> {
        self.memory.delete(tag)
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.memory.inspect()
    }

    fn probe(&self) -> StoreResult<'_, String> {
        *self.probes.lock().unwrap() += 1;
        Box::pin(self.answer(self.memory.probe()))
    }
}

/// Writes events down as text.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<String>>);

impl Observer for Log {
    fn event(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

impl Log {
    /// How many events contain this text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.0
            .lock()
            .unwrap()
            .iter()
            .filter(|event| event.contains(text))
            .count()
    }
}

/// Notes that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) store: Arc<TestStore>,
    pub(crate) log: Arc<Log>,
    pub(crate) generators: Generators,
    driver: Option<Driver>,
    woken: Arc<Flag>,
}

impl World {
    pub(crate) fn new(mut options: Options) -> Self {
        let clock = ManualClock::new();
        let store = Arc::new(TestStore::new(clock.clone()));
        let log = Arc::new(Log::default());
        options.seed = 7;
        let (generators, driver) = Generators::open_with(
            Arc::clone(&store) as Arc<dyn SegmentStore>,
            Arc::new(clock.clone()),
            Arc::clone(&log) as Arc<dyn Observer>,
            options,
        );
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        Self {
            clock,
            store,
            log,
            generators,
            driver: Some(driver),
            woken,
        }
    }

    /// A world with one tag of that step.
    pub(crate) fn with_tag(name: &str, step: u32, options: Options) -> Self {
        let world = Self::new(options);
        let mut spec = TagSpec::new(Tag::new(name).unwrap());
        spec.settings.step = step;
        leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
        world
    }

    pub(crate) fn drop_driver(&mut self) {
        self.driver = None;
    }

    /// Lets the driver do all it can without time passing.
    pub(crate) fn settle(&mut self) {
        let waker = Waker::from(Arc::clone(&self.woken));
        while self.woken.0.swap(false, Ordering::SeqCst) {
            let context = &mut Context::from_waker(&waker);
            if self
                .driver
                .as_mut()
                .is_some_and(|driver| Pin::new(driver).poll(context).is_ready())
            {
                self.driver = None;
            }
        }
    }

    /// Lets time pass, and the driver act at every instant it wants to.
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

    /// Runs a caller to its end, time passing only when nobody can do anything else.
    pub(crate) fn run<T>(&mut self, caller: impl Future<Output = T>) -> T {
        let mut caller = pin!(caller);
        let own = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&own));
        loop {
            if let Poll::Ready(done) = caller.as_mut().poll(&mut Context::from_waker(&waker)) {
                return done;
            }
            self.settle();
            if !own.0.swap(false, Ordering::SeqCst) {
                let next = self
                    .clock
                    .next_wake()
                    .expect("somebody waits for something");
                self.clock.advance(next.saturating_sub(self.clock.now()));
                self.settle();
            }
        }
    }

    /// Takes the next id, waiting as long as the options say.
    pub(crate) fn next(&mut self, tag: &str) -> Result<u64, leafid::IssueError> {
        let generators = self.generators.clone();
        self.run(async move { generators.next(tag).await })
            .map(leafid::Id::get)
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Options under which each segment is as long as the tag's row says.
pub(crate) fn fixed() -> Options {
    Options::default().with_policy(StepPolicy::Fixed)
}

pub(crate) fn tag(name: &str) -> Tag {
    Tag::new(name).unwrap()
}
