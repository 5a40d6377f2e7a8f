//! Cases beside each other: alternating rounds in one run, medians, ratios to the first case.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::median;

/// One way to get ids; the closure makes as many as it is told.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn Fn(u64) + Sync>,
    /// The most ids of a warm-up.
    pub(crate) warm_up_max: u64,
}

pub(crate) fn case(name: &'static str, run: impl Fn(u64) + Sync + 'static) -> Case {
    Case {
        name,
        run: Box::new(run),
        warm_up_max: u64::MAX,
    }
}

/// How much is measured.
pub(crate) struct Rounds {
    pub(crate) rounds: usize,
    /// Ids that each thread takes in a round.
    pub(crate) ids: u64,
    /// How long each thread takes ids before they are timed.
    pub(crate) warm_up: Duration,
}

/// What an id cost, in nanoseconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
}

impl Rounds {
    /// Runs every case in turn, again and again, and prints medians.
    pub(crate) fn print(&self, cases: &[Case], threads: usize) {
        let mut costs = vec![Vec::new(); cases.len()];
        for _ in 0..self.rounds {
            for (case, costs) in cases.iter().zip(&mut costs) {
                costs.push(self.cost(case, threads));
            }
        }
        let Self { rounds, ids, .. } = self;
        println!("\n{threads} thread(s), {rounds} alternating rounds of {ids} ids a thread");
        println!(
            "| case | ns an id (wall) | beside fetch_add, paired | middle half | ns an id (CPU) |"
        );
        println!("| --- | --- | --- | --- | --- |");
        let base = costs[0].clone();
        for (case, costs) in cases.iter().zip(costs) {
            let pairs = costs.iter().zip(&base);
            let ratio = median(pairs.map(|(cost, base)| cost.wall / base.wall).collect());
            let cpu = median(costs.iter().map(|cost| cost.cpu).collect());
            let mut wall: Vec<f64> = costs.iter().map(|cost| cost.wall).collect();
            wall.sort_by(f64::total_cmp);
            let at = |quarters: usize| wall[wall.len() * quarters / 4];
            println!(
                "| {} | {:.2} | {ratio:.2} | {:.2}-{:.2} | {cpu:.2} |",
                case.name,
                at(2),
                at(1),
                at(3),
            );
        }
    }

    /// Each worker times itself, and the slowest counts.
    #[expect(clippy::cast_precision_loss, reason = "a figure needs no 53 bits")]
    fn cost(&self, case: &Case, threads: usize) -> Cost {
        let barrier = Barrier::new(threads);
        let work = || {
            let warm = Instant::now();
            let mut ids = 0;
            while warm.elapsed() < self.warm_up && ids < case.warm_up_max {
                (case.run)(1000);
                ids += 1000;
            }
            barrier.wait();
            let (start, cpu) = (Instant::now(), cpu_time(ClockId::ThreadCPUTime));
            (case.run)(self.ids);
            (
                start.elapsed(),
                cpu_time(ClockId::ThreadCPUTime).saturating_sub(cpu),
            )
        };
        let times: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join();
            let times = workers.into_iter().map(join);
            times.collect::<Result<_, _>>().expect("no panic")
        });
        let ids = (self.ids * threads as u64) as f64;
        let slowest = times.iter().map(|(wall, _)| *wall).max();
        let cpu: Duration = times.iter().map(|(_, cpu)| *cpu).sum();
        Cost {
            wall: slowest.unwrap_or_default().as_nanos() as f64 / ids,
            cpu: cpu.as_nanos() as f64 / ids,
        }
    }
}

/// The CPU time that this thread, or this process, has used.
pub(crate) fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
