//! Issuing in process, each way beside a bare `fetch_add`, on one thread and on two.
//!
//! ```text
//! cargo bench -p leafid-bench
//! ```
//!
//! divan runs case after case; `cargo run --release -p leafid-bench -- issue` runs the same in
//! alternating rounds and prints ratios, which is what to quote from a noisy machine.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use divan::{Bencher, black_box};
use leafid::{Generator, Generators};

const TAGS: u32 = 1000;

static BARE: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));
static GENERATORS: LazyLock<Generators> = LazyLock::new(|| leafid_bench::generators(TAGS));
static HELD: LazyLock<Generator> =
    LazyLock::new(|| GENERATORS.generator("tag-7").expect("a tag that exists"));

fn main() {
    LazyLock::force(&HELD);
    divan::main();
}

#[divan::bench(threads = [1, 2])]
fn bare_fetch_add(bencher: Bencher) {
    bencher.bench(|| BARE.fetch_add(1, Ordering::Relaxed));
}

#[divan::bench(threads = [1, 2])]
fn try_next_handle_held(bencher: Bencher) {
    let held: &Generator = &HELD;
    bencher.bench(|| held.try_next().expect("the segment is long"));
}

#[divan::bench(threads = [1, 2])]
fn next_blocking_handle_held(bencher: Bencher) {
    let held: &Generator = &HELD;
    bencher.bench(|| held.next_blocking().expect("the segment is long"));
}

#[divan::bench(threads = [1, 2])]
fn try_next_by_name(bencher: Bencher) {
    let generators: &Generators = &GENERATORS;
    bencher.bench(|| {
        generators
            .try_next(black_box("tag-7"))
            .expect("the segment is long")
    });
}

/// A thousand ids a call: divide by 1000 for one id.
#[divan::bench(threads = [1, 2])]
fn try_next_many_1000(bencher: Bencher) {
    let held: &Generator = &HELD;
    bencher
        .counter(divan::counter::ItemsCount::new(1000_u32))
        .bench(|| {
            for id in held.try_next_many(1000).expect("the segment is long").ids() {
                black_box(id);
            }
        });
}

/// A thousand ids a call: divide by 1000 for one id.
#[divan::bench(threads = [1, 2])]
fn block_of_1024_1000(bencher: Bencher) {
    let held: &Generator = &HELD;
    bencher
        .counter(divan::counter::ItemsCount::new(1000_u32))
        .bench(|| {
            let mut block = held.block(1024);
            for _ in 0..1000 {
                black_box(block.next_blocking().expect("the segment is long"));
            }
        });
}
