//! Every interleaving of takers and the writer who grants and halts a [`SnowflakeState`], under a
//! weak memory model. Guards: no number twice, none outside a lease, none at or above the reported
//! end of a halted lease.
//!
//! The same must fail with `LEAFID_MUTANT=halt` (the lease ends without notice to those who draw),
//! `bound` (a drawn number is not checked again) and `worker` (a bound of one worker id
//! is used for another). `cargo xtask loom` runs all four.

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::state::{Grant, Moment, SnowflakeState};
use crate::layout::{Layout, LayoutSpec};
use crate::worker_id::WorkerId;

/// One id a tick, so that a lease is a handful of ids.
fn layout() -> Layout {
    let leaf = Layout::LEAF;
    Layout::new(LayoutSpec {
        time_bits: 41,
        data_center_bits: 0,
        worker_bits: 22,
        sequence_bits: 0,
        shard_bits: 0,
        unit: leaf.unit(),
        epoch: leaf.epoch(),
        sequence_place: leaf.sequence_place(),
    })
    .expect("the widths make 63 bits")
}

const NOW: Moment = Moment {
    tick: 1,
    ahead_max: 1000,
};

fn grant(worker: u32, start: u64, until: u64) -> Grant {
    Grant {
        worker: WorkerId::new(worker),
        start,
        until,
    }
}

/// A worker id and a tick.
type Issued = Vec<(u32, u64)>;

fn parts(state: &SnowflakeState, number: u64) -> (u32, u64) {
    let parts = layout().decompose(state.id(number).get());
    (parts.worker.get(), parts.tick)
}

fn take_fast(state: &SnowflakeState, times: usize) -> Issued {
    let drawn = (0..times).filter_map(|_| state.try_draw_fast());
    drawn.map(|number| parts(state, number)).collect()
}

fn take(state: &SnowflakeState, times: usize) -> Issued {
    let drawn = (0..times).filter_map(|_| state.draw(1, NOW, || 0).ok());
    drawn.map(|drawn| parts(state, drawn.first)).collect()
}

fn spawn(
    state: &Arc<SnowflakeState>,
    body: impl FnOnce(&SnowflakeState) -> Issued + 'static,
) -> JoinHandle<Issued> {
    let state = Arc::clone(state);
    thread::spawn(move || body(&state))
}

/// Checks the ids of all takers together; the leases are (worker id, first tick, end).
fn check(takers: Vec<Issued>, leases: &[(u32, u64, u64)]) {
    let mut all: Issued = takers.into_iter().flatten().collect();
    all.sort_unstable();
    assert!(
        all.windows(2).all(|pair| pair[0] != pair[1]),
        "an id was issued twice: {all:?}"
    );
    for (worker, tick) in all {
        let is_leased = leases
            .iter()
            .any(|(of, start, end)| *of == worker && (*start..*end).contains(&tick));
        assert!(
            is_leased,
            "tick {tick} of worker id {worker} was never ours: {leases:?}"
        );
    }
}

fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

fn state(first: Grant) -> Arc<SnowflakeState> {
    let state = SnowflakeState::new(layout(), 0);
    state.grant(first);
    state.set_fast(Some(NOW), || 0);
    Arc::new(state)
}

/// Takers of both kinds run into the end of a lease.
#[test]
fn takers_meet_at_the_end() {
    model(2, || {
        let state = state(grant(3, 1, 3));
        let fast = spawn(&state, |state| take_fast(state, 2));
        let timed = spawn(&state, |state| take(state, 1));
        let own = take_fast(&state, 1);
        let takers = vec![own, fast.join().unwrap(), timed.join().unwrap()];
        check(takers, &[(3, 1, 3)]);
    });
}

/// A lease is halted, and another server may start at its reported end.
#[test]
fn a_lease_is_halted_behind_a_taker() {
    model(2, || {
        let state = state(grant(3, 1, 5));
        let fast = spawn(&state, |state| take_fast(state, 1));
        let timed = spawn(&state, |state| take(state, 1));
        let end = state.halt().expect("there was a lease");
        let takers = vec![fast.join().unwrap(), timed.join().unwrap()];
        check(takers, &[(3, 1, end)]);
    });
}

/// The worker id changes to a smaller one, whose lease is short.
#[test]
fn a_worker_id_changes_behind_a_taker() {
    model(2, || {
        let state = state(grant(3, 1, 5));
        let fast = spawn(&state, |state| take_fast(state, 1));
        let timed = spawn(&state, |state| take(state, 1));
        let end = state.halt().expect("there was a lease");
        state.grant(grant(2, 1, 2));
        state.set_fast(Some(NOW), || 0);
        let own = take_fast(&state, 1);
        let takers = vec![own, fast.join().unwrap(), timed.join().unwrap()];
        check(takers, &[(3, 1, end), (2, 1, 2)]);
    });
}

/// The same worker id comes back, above where its first lease ended.
#[test]
fn a_worker_id_comes_back() {
    model(3, || {
        let state = state(grant(3, 1, 3));
        let fast = spawn(&state, |state| take_fast(state, 2));
        let end = state.halt().expect("there was a lease");
        state.grant(grant(3, 3, 5));
        let own = take(&state, 2);
        let takers = vec![own, fast.join().unwrap()];
        check(takers, &[(3, 1, end), (3, 3, 5)]);
    });
}

/// A lease is extended while takers are at its end.
#[test]
fn a_lease_is_extended_behind_a_taker() {
    model(3, || {
        let state = state(grant(3, 1, 2));
        let fast = spawn(&state, |state| take_fast(state, 2));
        state.grant(grant(3, 1, 4));
        state.set_fast(Some(NOW), || 0);
        let own = take(&state, 2);
        let takers = vec![own, fast.join().unwrap()];
        check(takers, &[(3, 1, 4)]);
    });
}
