//! `Executor`: runs all tasks of a simulation on one thread, in an order that only the seed
//! decides, over a clock that only moves when nothing else can.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use leafid::{Clock as _, ManualClock};

/// The identity of a task.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The process that a task belongs to. A process can be paused, and ends as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Process(pub(crate) u32);

/// The number of a task, in the order in which they were spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskNumber(pub(crate) u64);

thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// The task whose turn it is on this thread.
pub(crate) fn current_task() -> TaskNumber {
    TaskNumber(CURRENT.get())
}

/// After this many polls without time passing, the tasks keep each other busy forever.
const POLLS_PER_INSTANT_MAX: u64 = 1_000_000;

/// Locks what only one thread ever uses.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes new tasks, also from within tasks.
#[derive(Clone, Default)]
pub(crate) struct Spawner {
    arrived: Arc<Mutex<Vec<(Process, Work)>>>,
}

impl Spawner {
    pub(crate) fn spawn(&self, process: Process, work: impl Future<Output = ()> + Send + 'static) {
        lock(&self.arrived).push((process, Box::pin(work)));
    }
}

/// The tasks, and the one that runs.
pub(crate) struct Executor {
    pub(crate) clock: ManualClock,
    pub(crate) spawner: Spawner,
    random: fastrand::Rng,
    tasks: BTreeMap<u64, Task>,
    next_task: u64,
    ready: Arc<Mutex<Vec<u64>>>,
    /// Until when each paused process does not run, and which of its tasks are ready.
    paused: BTreeMap<Process, (Duration, Vec<u64>)>,
    polls: u64,
    polls_at_instant: u64,
    /// A digest of all turns.
    pub(crate) trace: u64,
}

struct Task {
    process: Process,
    work: Work,
    turn: Arc<Turn>,
}

/// A task's place among the ready ones.
struct Turn {
    task: u64,
    is_queued: AtomicBool,
    ready: Arc<Mutex<Vec<u64>>>,
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        // Relaxed: there is one thread.
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            lock(&self.ready).push(self.task);
        }
    }
}

/// The tasks keep each other busy without time passing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Livelock;

impl Executor {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            clock: ManualClock::new(),
            spawner: Spawner::default(),
            random: fastrand::Rng::with_seed(seed),
            tasks: BTreeMap::new(),
            next_task: 0,
            ready: Arc::default(),
            paused: BTreeMap::new(),
            polls: 0,
            polls_at_instant: 0,
            trace: 0,
        }
    }

    /// Runs tasks until `until`, or until `is_done`.
    pub(crate) fn run(
        &mut self,
        until: Duration,
        mut is_done: impl FnMut() -> bool,
    ) -> Result<(), Livelock> {
        while !is_done() {
            self.take_arrivals();
            if let Some(task) = self.draw() {
                self.poll(task)?;
            } else if !self.pass_time(until) {
                break;
            }
        }
        Ok(())
    }

    /// Pauses a process: its tasks notice nothing, as after SIGSTOP.
    pub(crate) fn pause(&mut self, process: Process, duration: Duration) {
        let until = self.clock.now() + duration;
        self.paused.entry(process).or_insert((until, Vec::new())).0 = until;
    }

    /// Resumes all paused processes.
    pub(crate) fn resume_all(&mut self) {
        for (_, (_, waiting)) in std::mem::take(&mut self.paused) {
            lock(&self.ready).extend(waiting);
        }
    }

    /// Ends a process as `kill -9` does: its tasks never run again.
    pub(crate) fn end(&mut self, process: Process) {
        self.take_arrivals();
        self.paused.remove(&process);
        let of_process = |task: &Task| task.process == process;
        let ended: Vec<u64> = self
            .tasks
            .iter()
            .filter(|(_, task)| of_process(task))
            .map(|(number, _)| *number)
            .collect();
        for number in ended {
            self.tasks.remove(&number);
        }
        let tasks = &self.tasks;
        lock(&self.ready).retain(|number| tasks.contains_key(number));
    }

    fn take_arrivals(&mut self) {
        let arrived = std::mem::take(&mut *lock(&self.spawner.arrived));
        for (process, work) in arrived {
            let number = self.next_task;
            self.next_task += 1;
            let turn = Arc::new(Turn {
                task: number,
                is_queued: AtomicBool::new(true),
                ready: Arc::clone(&self.ready),
            });
            lock(&self.ready).push(number);
            let task = Task {
                process,
                work,
                turn,
            };
            self.tasks.insert(number, task);
        }
    }

    /// Any of the ready tasks, so that seeds try different orders.
    fn draw(&mut self) -> Option<u64> {
        loop {
            let number = {
                let mut ready = lock(&self.ready);
                if ready.is_empty() {
                    return None;
                }
                let at = self.random.usize(..ready.len());
                ready.swap_remove(at)
            };
            let Some(task) = self.tasks.get(&number) else {
                continue;
            };
            match self.paused.get_mut(&task.process) {
                Some((_, waiting)) => waiting.push(number),
                None => return Some(number),
            }
        }
    }

    fn poll(&mut self, number: u64) -> Result<(), Livelock> {
        self.polls += 1;
        self.polls_at_instant += 1;
        self.trace = fold(self.trace, number);
        if self.polls_at_instant > POLLS_PER_INSTANT_MAX {
            return Err(Livelock);
        }
        let Some(task) = self.tasks.get_mut(&number) else {
            return Ok(());
        };
        // Relaxed: there is one thread.
        task.turn.is_queued.store(false, Ordering::Relaxed);
        CURRENT.set(number);
        let waker = Waker::from(Arc::clone(&task.turn));
        if let Poll::Ready(()) = task.work.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.tasks.remove(&number);
        }
        Ok(())
    }

    /// Moves the clock to the next thing that happens, at most to `until`. `false` when it was
    /// there already.
    fn pass_time(&mut self, until: Duration) -> bool {
        let now = self.clock.now();
        if now >= until {
            return false;
        }
        self.polls_at_instant = 0;
        let pause_ends = self.paused.values().map(|(end, _)| *end).min();
        let next = self.clock.next_wake().into_iter().chain(pause_ends).min();
        let to = next.map_or(until, |next| next.clamp(now, until));
        self.trace = fold(self.trace, u64::try_from(to.as_nanos()).unwrap_or(u64::MAX));
        self.clock.advance(to.saturating_sub(now));
        let over: Vec<Process> = self
            .paused
            .iter()
            .filter(|(_, (end, _))| *end <= to)
            .map(|(process, _)| *process)
            .collect();
        for process in over {
            if let Some((_, waiting)) = self.paused.remove(&process) {
                lock(&self.ready).extend(waiting);
            }
        }
        true
    }
}

/// Folds a number into a digest (FNV-1a, a word at a time).
pub(crate) const fn fold(digest: u64, number: u64) -> u64 {
    (digest ^ number)
        .wrapping_mul(0x0000_0100_0000_01b3)
        .rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64) -> (Vec<u32>, u64) {
        let mut executor = Executor::new(seed);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for number in 0..8 {
            let (seen, clock) = (Arc::clone(&seen), executor.clock.clone());
            executor.spawner.spawn(Process(0), async move {
                clock.sleep(Duration::from_secs(1)).await;
                lock(&seen).push(number);
            });
        }
        executor
            .run(Duration::from_secs(2), || false)
            .expect("no livelock");
        (lock(&seen).clone(), executor.trace)
    }

    #[test]
    fn the_seed_alone_decides_the_order() {
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_paused_process_goes_on_and_an_ended_one_does_not() {
        let mut executor = Executor::new(1);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for process in [1, 2] {
            let (seen, clock) = (Arc::clone(&seen), executor.clock.clone());
            executor.spawner.spawn(Process(process), async move {
                clock.sleep(Duration::from_secs(1)).await;
                lock(&seen).push((process, clock.now().as_secs()));
            });
        }
        executor
            .run(Duration::from_millis(1), || false)
            .expect("no livelock");
        executor.pause(Process(1), Duration::from_secs(5));
        executor.end(Process(2));
        executor
            .run(Duration::from_secs(9), || false)
            .expect("no livelock");
        assert_eq!(*lock(&seen), [(1, 5)]);
    }

    #[test]
    fn a_livelock_is_noticed() {
        let mut executor = Executor::new(1);
        executor.spawner.spawn(
            Process(0),
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                Poll::Pending
            }),
        );
        assert!(executor.run(Duration::from_secs(1), || false).is_err());
    }
}
