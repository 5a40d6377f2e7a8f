//! Issuing in process, beside a bare `fetch_add`: alternating rounds in one run, medians, ratios.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use leafid::Generator;

use crate::median;

const ROUNDS: usize = 21;
const IDS_A_ROUND: u64 = 2_000_000;
const TAGS: u32 = 1000;

/// One way to get ids; the closure makes as many as it is told.
struct Case {
    name: &'static str,
    run: Box<dyn Fn(u64) + Sync>,
}

pub(crate) fn run() {
    let generators = leafid_bench::generators(TAGS);
    let bare: &'static CachePadded<AtomicU64> = Box::leak(Box::default());
    let held: &'static Generator =
        Box::leak(Box::new(generators.generator("tag-7").expect("a tag")));
    let generators: &'static leafid::Generators = Box::leak(Box::new(generators));
    let names: &'static Vec<String> = Box::leak(Box::new(
        (0..TAGS).map(|tag| format!("tag-{tag}")).collect(),
    ));
    let cases = vec![
        case("bare fetch_add", move |count| {
            for _ in 0..count {
                black_box(bare.fetch_add(1, Ordering::Relaxed));
            }
        }),
        case("try_next, handle held", move |count| {
            for _ in 0..count {
                black_box(held.try_next().expect("the segment is long"));
            }
        }),
        case("next_blocking, handle held", move |count| {
            for _ in 0..count {
                black_box(held.next_blocking().expect("the segment is long"));
            }
        }),
        case("try_next, by name, 8 of 1000 tags", move |count| {
            let mut at = 0;
            for _ in 0..count {
                at = (at + 7) % names.len();
                black_box(
                    generators
                        .try_next(&names[at])
                        .expect("the segment is long"),
                );
            }
        }),
        case("try_next_many(1000)", move |count| {
            for _ in 0..count / 1000 {
                for id in held.try_next_many(1000).expect("the segment is long").ids() {
                    black_box(id);
                }
            }
        }),
        case("block of 1024", move |count| {
            let mut block = held.block(1024);
            for _ in 0..count {
                black_box(block.next_blocking().expect("the segment is long"));
            }
        }),
    ];
    for threads in [1, 2] {
        table(&cases, threads);
    }
}

fn case(name: &'static str, run: impl Fn(u64) + Sync + 'static) -> Case {
    Case {
        name,
        run: Box::new(run),
    }
}

/// Runs every case in turn, `ROUNDS` times, and prints medians.
fn table(cases: &[Case], threads: usize) {
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for (case, times) in cases.iter().zip(&mut times) {
            times.push(nanoseconds_an_id(case, threads));
        }
    }
    println!("\n{threads} thread(s), {ROUNDS} alternating rounds of {IDS_A_ROUND} ids a thread");
    println!("| case | ns an id (wall) | beside fetch_add, paired | min-max |");
    println!("| --- | --- | --- | --- |");
    let base = times[0].clone();
    for (case, times) in cases.iter().zip(times) {
        let ratio = median(
            times
                .iter()
                .zip(&base)
                .map(|(time, base)| time / base)
                .collect(),
        );
        let min = times.iter().copied().fold(f64::INFINITY, f64::min);
        let max = times.iter().copied().fold(0.0, f64::max);
        println!(
            "| {} | {:.2} | {ratio:.2} | {min:.2}-{max:.2} |",
            case.name,
            median(times)
        );
    }
}

/// Wall time an id: each worker times itself, and the slowest counts.
#[expect(clippy::cast_precision_loss, reason = "a figure needs no 53 bits")]
fn nanoseconds_an_id(case: &Case, threads: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let work = || {
        barrier.wait();
        let start = Instant::now();
        (case.run)(IDS_A_ROUND);
        start.elapsed()
    };
    let slowest = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"))
            .max()
    });
    let slowest = slowest.expect("at least one thread");
    slowest.as_nanos() as f64 / (IDS_A_ROUND * threads as u64) as f64
}
