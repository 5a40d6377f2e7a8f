//! Keeps the time while ids are taken so fast that reading the clock for each would cost more than
//! the id: `next` and its bound are updated when a tick begins, at least once a millisecond.
//! Nothing runs otherwise.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Shared;
use crate::snowflake::{Core, WAIT_MIN};

/// The longest time between two updates, for longer ticks.
const INTERVAL_MAX: Duration = Duration::from_millis(1);
/// Below this many ids per update, each can read the clock.
const LEN_MIN: u64 = 200;
/// After this many quiet updates in a row, a tenth of a second, it ends.
const QUIET_MAX: u32 = 100;

/// Runs forever.
pub(super) async fn run(shared: &Shared) {
    let core = &*shared.core;
    loop {
        let called = core.driver_wake.listen();
        if !core.is_fast.load(Ordering::Relaxed) {
            called.await;
            continue;
        }
        keep_while_fast(shared).await;
        core.state.set_fast(None, || 0);
        core.is_fast.store(false, Ordering::Relaxed);
    }
}

async fn keep_while_fast(shared: &Shared) {
    let core = &*shared.core;
    let mut quiet = 0;
    while quiet < QUIET_MAX {
        let before = step(core);
        shared.sleep(until_next_tick(core)).await;
        let drawn = core.state.drawn().wrapping_sub(before);
        quiet = if drawn < LEN_MIN { quiet + 1 } else { 0 };
    }
}

/// Just until the next tick begins: under a policy that does not borrow, `next` stands at the end
/// of a tick from then on, and a taker before the update reads the clock itself.
fn until_next_tick(core: &Core) -> Duration {
    core.tick().map_or(INTERVAL_MAX, |tick| {
        core.until(tick + 1).clamp(WAIT_MIN, INTERVAL_MAX)
    })
}

/// Updates `next` and its bound; returns where `next` stands.
fn step(core: &Core) -> u64 {
    match core.moment() {
        Some(moment) => core.state.set_fast(Some(moment), || core.jitter()),
        None => core.state.set_fast(None, || 0),
    }
    core.state.drawn()
}
