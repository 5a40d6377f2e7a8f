//! Snowflake ids in process: ours and other crates' beside a bare `fetch_add`, in alternating
//! rounds. What each does at the end of a tick is in `at_cap.rs`.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use leafid::{ClockPolicy, Layout, Snowflake, WorkerRegistry};
use leafid_bench::snowflakes::{self, Backoff};

use crate::at_cap;
use crate::rounds::{Case, Rounds, case};

/// Short rounds: most of them then fall between two interruptions by other programs.
const ROUNDS: Rounds = Rounds {
    rounds: 41,
    ids: 200_000,
    // The driver sees within a millisecond that ids are taken fast.
    warm_up: Duration::from_millis(10),
};

pub(crate) fn run() {
    let bare = CachePadded::new(AtomicU64::new(0));
    let bare = each("bare fetch_add", move || {
        bare.fetch_add(1, Ordering::Relaxed)
    });
    let registry = snowflakes::registry(Layout::WIDE, ClockPolicy::Borrow);
    let waiting = snowflakes::registry(Layout::WIDE, ClockPolicy::Wait);
    let mut cases = vec![bare];
    cases.extend(ours(&registry.snowflake(), &waiting.snowflake()));
    cases.extend(others());
    for threads in [1, 2] {
        ROUNDS.print(&cases, threads);
    }
    // Until here their drivers run.
    drop::<[WorkerRegistry; 2]>([registry, waiting]);
    at_cap::print();
}

/// A case that takes one id after the other.
fn each<T>(name: &'static str, next: impl Fn() -> T + Sync + 'static) -> Case {
    case(name, move |count| {
        for _ in 0..count {
            black_box(next());
        }
    })
}

/// A case that takes many ids at once: so many that a warm-up as long as that of others would run
/// a second ahead of the clock, where they are refused.
fn many(name: &'static str, run: impl Fn(u64) + Sync + 'static) -> Case {
    Case {
        warm_up_max: 10_000,
        ..case(name, run)
    }
}

fn ours(fast: &Snowflake, waiting: &Snowflake) -> Vec<Case> {
    let blocking = fast.clone();
    let in_bulk = fast.clone();
    let collected = fast.clone();
    let fast = fast.clone();
    let waiting = waiting.clone();
    let timed = snowflakes::alone(Layout::WIDE, ClockPolicy::Borrow);
    vec![
        each("wide, `try_next`", move || {
            fast.try_next().expect("the clock keeps up")
        }),
        each("wide, `next_blocking`", move || {
            blocking.next_blocking().expect("the clock keeps up")
        }),
        each("wide, policy wait, `next_blocking`", move || {
            waiting.next_blocking().expect("a tick is soon over")
        }),
        each("wide, `try_next` that reads the clock", move || {
            timed.try_next().expect("the clock keeps up")
        }),
        many("wide, `try_next_many(1000)`", move |count| {
            for _ in 0..count / 1000 {
                for id in in_bulk.try_next_many(1000).expect("the clock keeps up") {
                    black_box(id);
                }
            }
        }),
        many("the same, collected and summed", move |count| {
            let mut ids = Vec::with_capacity(1000);
            for _ in 0..count / 1000 {
                ids.clear();
                ids.extend(collected.try_next_many(1000).expect("the clock keeps up"));
                let sum = ids.iter().map(|id| id.get()).fold(0, u64::wrapping_add);
                black_box(sum);
            }
        }),
    ]
}

fn others() -> Vec<Case> {
    vec![
        each(
            "ferroid, mastodon (65,536 a ms), spins",
            snowflakes::ferroid_mastodon(Backoff::Spin),
        ),
        each(
            "ferroid, twitter (4096 a ms), spins",
            snowflakes::ferroid_twitter(Backoff::Spin),
        ),
        each("snowflaked (4096 a ms)", snowflakes::snowflaked()),
        each(
            "rs-snowflake, lock, real time (4096 a ms)",
            snowflakes::rs_snowflake_real_time(),
        ),
        each(
            "rs-snowflake, lock, lazy (no limit)",
            snowflakes::rs_snowflake_lazy(),
        ),
    ]
}
