//! Many threads on one tag, over many short segments.

use std::sync::Barrier;
use std::time::Duration;

use leafid::store::{MemoryStore, TagSettings};
use leafid::{Generator, Generators, IssueError, Limit, Options, StepPolicy, blocking};

const THREADS: usize = 4;
const IDS_A_THREAD: u64 = 100_000;

fn generators(step: u32) -> Generators {
    let settings = TagSettings {
        step,
        ..TagSettings::default()
    };
    let options = Options::default()
        .with_create_missing(Some(settings))
        .with_policy(StepPolicy::Fixed)
        // A machine under load must not make a test fail.
        .with_wait_max(Duration::from_secs(60));
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

/// Guards the same while single ids, batches, long ranges and blocks mix.
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
                    let range = blocking::block_on(held.take(round % 700 + 1)).unwrap();
                    ids.extend(range.ids().map(leafid::Id::get));
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

/// Takes batches until the tag is exhausted, and returns the ids.
fn drain(held: &Generator, mut count: impl FnMut() -> u64) -> Vec<u64> {
    let mut ids = Vec::new();
    loop {
        let count = count();
        let taken = match held.try_next_many(count) {
            Err(error) if error.is_retryable() => blocking::block_on(held.next_many(count)),
            done => done,
        };
        match taken {
            Ok(taken) => ids.extend(taken.ids().map(leafid::Id::get)),
            Err(IssueError::Transient(_)) => {}
            Err(error) => {
                assert!(error.is_exhausted(), "{error}");
                return ids;
            }
        }
    }
}

/// Guards that no id is lost between callers that take the last batches of a tag at once: what is
/// too little for one of them is left for a smaller batch.
#[test]
fn a_tag_is_drained_to_its_last_id() {
    const LAST: u64 = 750_000;
    let settings = TagSettings {
        step: 1000,
        limit: Limit::new(LAST).unwrap(),
        ..TagSettings::default()
    };
    let options = Options::default()
        .with_create_missing(Some(settings))
        .with_policy(StepPolicy::Fixed)
        .with_wait_max(Duration::from_secs(60));
    let (generators, driver) = Generators::open(MemoryStore::new(), options);
    let _detached = blocking::spawn(driver).unwrap();
    let mut all: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let held = generators.generator("order").unwrap();
                scope.spawn(move || drain(&held, || 300 + 117 * thread))
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    all.extend(drain(&generators.generator("order").unwrap(), || 1));
    let status = generators.status("order").unwrap();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len() as u64, status.issued, "{status:?}");
    assert_eq!(all.len() as u64, LAST, "{status:?}");
}
