//! Snowflake ids in process, ours and other crates', on one thread and on two.
//!
//! ```text
//! cargo bench -p leafid-bench --bench snowflake
//! ```
//!
//! divan runs case after case; `cargo run --release -p leafid-bench -- snowflake` runs the same in
//! alternating rounds and prints ratios, which is what to quote from a noisy machine.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use divan::{Bencher, black_box};
use leafid::{ClockPolicy, Layout, Snowflake, WorkerRegistry};
use leafid_bench::snowflakes::{self, Backoff};

static BARE: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));
static BORROWING: LazyLock<WorkerRegistry> =
    LazyLock::new(|| snowflakes::registry(Layout::WIDE, ClockPolicy::Borrow));
static WAITING: LazyLock<WorkerRegistry> =
    LazyLock::new(|| snowflakes::registry(Layout::WIDE, ClockPolicy::Wait));

fn main() {
    divan::main();
}

#[divan::bench(threads = [1, 2])]
fn bare_fetch_add(bencher: Bencher) {
    bencher.bench(|| BARE.fetch_add(1, Ordering::Relaxed));
}

#[divan::bench(threads = [1, 2])]
fn wide(bencher: Bencher) {
    one_by_one(bencher, &BORROWING.snowflake());
}

#[divan::bench(threads = [1, 2])]
fn wide_policy_wait(bencher: Bencher) {
    one_by_one(bencher, &WAITING.snowflake());
}

#[divan::bench(threads = [1, 2])]
fn wide_reading_the_clock(bencher: Bencher) {
    one_by_one(
        bencher,
        &snowflakes::alone(Layout::WIDE, ClockPolicy::Borrow),
    );
}

fn one_by_one(bencher: Bencher, snowflake: &Snowflake) {
    bencher.bench(|| snowflake.next_blocking().expect("the clock keeps up"));
}

/// A thousand ids a call: divide by 1000 for one id. Beyond 131 million a second it waits for the
/// clock.
#[divan::bench(threads = [1, 2])]
fn wide_many_1000(bencher: Bencher) {
    let snowflake = snowflakes::alone(Layout::WIDE, ClockPolicy::Borrow);
    bencher
        .counter(divan::counter::ItemsCount::new(1000_u32))
        .bench(|| {
            let ids = leafid::blocking::block_on(snowflake.next_many(1000));
            for id in ids.expect("the clock catches up") {
                black_box(id);
            }
        });
}

#[divan::bench(threads = [1, 2])]
fn ferroid_mastodon(bencher: Bencher) {
    bencher.bench(snowflakes::ferroid_mastodon(Backoff::Spin));
}

#[divan::bench(threads = [1, 2])]
fn ferroid_twitter(bencher: Bencher) {
    bencher.bench(snowflakes::ferroid_twitter(Backoff::Spin));
}

#[divan::bench(threads = [1, 2])]
fn snowflaked(bencher: Bencher) {
    bencher.bench(snowflakes::snowflaked());
}

#[divan::bench(threads = [1, 2])]
fn rs_snowflake_real_time(bencher: Bencher) {
    bencher.bench(snowflakes::rs_snowflake_real_time());
}

#[divan::bench(threads = [1, 2])]
fn rs_snowflake_lazy(bencher: Bencher) {
    bencher.bench(snowflakes::rs_snowflake_lazy());
}
