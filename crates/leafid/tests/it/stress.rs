//! Many threads on one tag, over many short segments.

use std::sync::Barrier;

use leafid::store::{MemoryStore, TagSettings};
use leafid::{Generators, Options, StepPolicy, blocking};

const THREADS: usize = 4;
const IDS_A_THREAD: u64 = 100_000;

fn generators(step: u32) -> Generators {
    let settings = TagSettings {
        step,
        ..TagSettings::default()
    };
    let options = Options {
        create_missing: Some(settings),
        policy: StepPolicy::Fixed,
        ..Options::default()
    };
    let (generators, driver) = Generators::open(MemoryStore::new(), options);
    let _detached = blocking::spawn(driver).unwrap();
    generators
}

/// Runs `body` on all threads at once and returns what each got.
fn on_threads(body: impl Fn(usize) -> Vec<u64> + Sync) -> Vec<Vec<u64>> {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (barrier, body) = (&barrier, &body);
                scope.spawn(move || {
                    barrier.wait();
                    body(thread)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Checks that ids are distinct and ascend per thread, and that the threads really collided:
/// that neighbouring ids often went to different threads.
fn check(got: &[Vec<u64>], collisions_min: usize) {
    let mut all: Vec<(u64, usize)> = Vec::new();
    for (thread, ids) in got.iter().enumerate() {
        assert!(
            ids.windows(2).all(|pair| pair[0] < pair[1]),
            "thread {thread} saw a descent"
        );
        all.extend(ids.iter().map(|id| (*id, thread)));
    }
    all.sort_unstable();
    assert!(
        all.windows(2).all(|pair| pair[0].0 != pair[1].0),
        "an id was issued twice"
    );
    let collisions = all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    assert!(
        collisions >= collisions_min,
        "the threads met only {collisions} times"
    );
}

/// Guards uniqueness and order at the switch of segments, for every step from one id up.
#[test]
fn threads_share_short_segments() {
    for step in [1, 2, 3, 10, 97, 1000] {
        let generators = generators(step);
        let count = if step < 10 {
            IDS_A_THREAD / 20
        } else {
            IDS_A_THREAD
        };
        let got = on_threads(|_| {
            let held = generators.generator("order").unwrap();
            (0..count)
                .map(|_| held.next_blocking().unwrap().get())
                .collect()
        });
        check(&got, 20);
        let status = generators.status("order").unwrap();
        assert!(
            status.reserves >= 4 * count / u64::from(step) / 2,
            "{status:?}"
        );
    }
}

/// Guards the same while single ids, batches, long runs and blocks mix.
#[test]
fn threads_mix_all_ways_to_take() {
    let generators = generators(500);
    let got = on_threads(|thread| {
        let held = generators.generator("order").unwrap();
        let mut ids = Vec::new();
        for round in 0..2000_u64 {
            match (round + thread as u64) % 3 {
                0 => ids.push(held.next_blocking().unwrap().get()),
                1 => {
                    let many = blocking::block_on(held.next_many(round % 90 + 1)).unwrap();
                    ids.extend(many.ids().map(leafid::Id::get));
                }
                _ => {
                    let run = blocking::block_on(held.take(round % 700 + 1)).unwrap();
                    ids.extend(run.ids().map(leafid::Id::get));
                }
            }
        }
        ids
    });
    check(&got, 100);
}

/// Guards that blocks of different threads are disjoint and ascend within.
#[test]
fn blocks_are_disjoint() {
    let generators = generators(10_000);
    let got = on_threads(|_| {
        let mut block = generators.generator("order").unwrap().block(64);
        (0..IDS_A_THREAD)
            .map(|count| {
                // Without this a thread may be done before another one begins.
                if count % 64 == 0 {
                    std::thread::yield_now();
                }
                block.next_blocking().unwrap().get()
            })
            .collect()
    });
    check(&got, 100);
}
