//! Snowflake ids as fast as a layout has them, 4096 a millisecond: the rate that is reached, and
//! the CPU time that waiting burns.
//!
//! Each measurement is a process of its own, so that its CPU time is that of one generator, with
//! all its threads.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leafid::{ClockPolicy, Layout, Snowflake};
use leafid_bench::snowflakes::{self, Backoff};
use rustix::time::ClockId;

use crate::median;
use crate::rounds::cpu_time;

const ROUNDS: usize = 3;
/// Until what may be borrowed is borrowed: a second of ids.
const WARM_UP: Duration = Duration::from_millis(1500);
const TIME: Duration = Duration::from_secs(2);
/// Ids between two looks at what was taken.
const BATCH: u64 = 64;

type Next = Box<dyn Fn() + Sync>;

/// A name, and how to make a generator.
type Case = (&'static str, fn() -> Next);

const CASES: [Case; 9] = [
    ("leaf, borrow, with a driver", || {
        boxed_registry(ClockPolicy::Borrow)
    }),
    ("leaf, borrow, alone", || {
        let snowflake = snowflakes::alone(Layout::LEAF, ClockPolicy::Borrow);
        boxed(move || blocking(&snowflake))
    }),
    ("leaf, wait, with a driver", || {
        boxed_registry(ClockPolicy::Wait)
    }),
    ("leaf, wait, alone", || {
        let snowflake = snowflakes::alone(Layout::LEAF, ClockPolicy::Wait);
        boxed(move || blocking(&snowflake))
    }),
    ("ferroid, twitter, spins", || {
        boxed(snowflakes::ferroid_twitter(Backoff::Spin))
    }),
    ("ferroid, twitter, yields", || {
        boxed(snowflakes::ferroid_twitter(Backoff::Yield))
    }),
    ("ferroid, twitter, sleeps", || {
        boxed(snowflakes::ferroid_twitter(Backoff::Sleep))
    }),
    ("snowflaked", || boxed(snowflakes::snowflaked())),
    ("rs-snowflake, lock, real time", || {
        boxed(snowflakes::rs_snowflake_real_time())
    }),
];

fn boxed<T>(next: impl Fn() -> T + Sync + 'static) -> Next {
    Box::new(move || {
        black_box(next());
    })
}

fn boxed_registry(policy: ClockPolicy) -> Next {
    let registry = snowflakes::registry(Layout::LEAF, policy);
    let snowflake = registry.snowflake();
    // The driver runs while the registry is there.
    std::mem::forget(registry);
    boxed(move || blocking(&snowflake))
}

fn blocking(snowflake: &Snowflake) -> leafid::Id {
    snowflake.next_blocking().expect("a tick is soon over")
}

/// Measures every case in turn, a few times, and prints medians.
pub(crate) fn print() {
    for threads in [1, 2] {
        let mut figures = vec![Vec::new(); CASES.len()];
        for _ in 0..ROUNDS {
            for (case, figures) in figures.iter_mut().enumerate() {
                figures.push(measure(case, threads));
            }
        }
        println!("\n{threads} thread(s), {ROUNDS} alternating rounds of {TIME:?}");
        println!("| case | M ids/s | of 4.096 | CPU time, % of a core |");
        println!("| --- | --- | --- | --- |");
        for ((name, _), figures) in CASES.iter().zip(figures) {
            let rate = median(figures.iter().map(|(rate, _)| rate / 1e6).collect());
            let cpu = median(figures.iter().map(|(_, cpu)| cpu * 100.0).collect());
            println!("| {name} | {rate:.3} | {:.2} | {cpu:.0} |", rate / 4.096);
        }
    }
}

/// Ids a second, and CPU seconds a second.
fn measure(case: usize, threads: usize) -> (f64, f64) {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args(["at-cap", &case.to_string(), &threads.to_string()])
        .output()
        .expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text.trim().split_once(' ').and_then(|(rate, cpu)| {
        let parse = |figure: &str| figure.parse().ok();
        Some((parse(rate)?, parse(cpu)?))
    });
    figures.unwrap_or_else(|| panic!("case {case} failed: {output:?}"))
}

/// One measurement, in a process of its own.
#[expect(clippy::cast_precision_loss, reason = "a figure needs no 53 bits")]
pub(crate) fn run_child(mut arguments: impl Iterator<Item = String>) {
    let mut argument = || arguments.next()?.parse::<usize>().ok();
    let case = argument().and_then(|case| CASES.get(case));
    let ((_, make), threads) = case
        .zip(argument())
        .expect("a case and a number of threads");
    let next = make();
    let (taken, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    (0..BATCH).for_each(|_| next());
                    taken.fetch_add(BATCH, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(WARM_UP);
        let look = || {
            let cpu = cpu_time(ClockId::ProcessCPUTime);
            (Instant::now(), taken.load(Ordering::Relaxed), cpu)
        };
        let before = look();
        std::thread::sleep(TIME);
        let after = look();
        is_over.store(true, Ordering::Relaxed);
        let wall = (after.0 - before.0).as_secs_f64();
        let rate = (after.1 - before.1) as f64 / wall;
        println!(
            "{rate} {}",
            after.2.saturating_sub(before.2).as_secs_f64() / wall
        );
    });
}
