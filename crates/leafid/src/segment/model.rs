//! Every interleaving of takers and the one writer of a [`SegmentBuffer`], under a weak memory
//! model. Guards: no id twice, no id outside an owned segment, ids ascend.
//!
//! ```text
//! RUSTFLAGS="--cfg leafid_loom" cargo test -p leafid --lib segment::model --release
//! ```
//!
//! The same must fail with `LEAFID_MUTANT=cursor` (drawing a number is not atomic), `publish` (a
//! new end may be seen before its start), `start` (a stale taker may use a number that lies before
//! the segment put into its slot behind its back) and `undo` (a number is put back although others
//! were drawn after it). `cargo xtask loom` runs all five.

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::{Segment, SegmentBuffer};

const OWNED: [(u64, u64); 3] = [(1, 2), (2, 3), (5, 7)];

fn segment((start, end): (u64, u64)) -> Segment {
    Segment::new(start, end).expect("the bounds are in order")
}

fn take(buffer: &SegmentBuffer, times: usize) -> Vec<u64> {
    (0..times)
        .filter_map(|_| buffer.try_take())
        .map(|taken| taken.id.get())
        .collect()
}

fn take_many(buffer: &SegmentBuffer, count: u64) -> Vec<u64> {
    let taken = buffer.try_take_many(count);
    taken
        .iter()
        .flat_map(|taken| taken.ids().map(|id| id.get()))
        .collect()
}

fn spawn(
    buffer: &Arc<SegmentBuffer>,
    body: impl FnOnce(&SegmentBuffer) -> Vec<u64> + 'static,
) -> JoinHandle<Vec<u64>> {
    let buffer = Arc::clone(buffer);
    thread::spawn(move || body(&buffer))
}

/// Checks the ids of all takers together.
fn check(takers: Vec<Vec<u64>>) {
    check_of(&OWNED, takers);
}

fn check_of(owned: &[(u64, u64)], takers: Vec<Vec<u64>>) {
    for ids in &takers {
        assert!(ids.is_sorted(), "one taker's ids descend: {ids:?}");
    }
    let mut all: Vec<u64> = takers.into_iter().flatten().collect();
    all.sort_unstable();
    assert!(
        all.windows(2).all(|pair| pair[0] != pair[1]),
        "an id was issued twice: {all:?}"
    );
    for id in all {
        let is_owned = owned
            .iter()
            .any(|(start, end)| (*start..*end).contains(&id));
        assert!(is_owned, "id {id} was never ours");
    }
}

fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

fn full_buffer() -> Arc<SegmentBuffer> {
    let buffer = SegmentBuffer::new();
    buffer
        .put(segment(OWNED[0]))
        .expect("the first slot is free");
    buffer
        .put(segment(OWNED[1]))
        .expect("the second slot is free");
    Arc::new(buffer)
}

/// Two takers run into the end of a segment while the writer refills the slot they look at.
#[test]
fn a_slot_is_refilled_behind_a_stale_taker() {
    model(3, || {
        let buffer = full_buffer();
        let taker = spawn(&buffer, |buffer| take(buffer, 2));
        let own = take(&buffer, 1);
        let _full_or_put = buffer.put(segment(OWNED[2]));
        let later = take(&buffer, 1);
        check(vec![taker.join().expect("no panic"), [own, later].concat()]);
    });
}

/// Takers at the end of all segments put their numbers back while others draw and a segment
/// arrives.
#[test]
fn numbers_are_put_back_while_others_draw() {
    model(2, || {
        let buffer = SegmentBuffer::new();
        buffer
            .put(segment(OWNED[0]))
            .expect("the first slot is free");
        let buffer = Arc::new(buffer);
        let first = spawn(&buffer, |buffer| take(buffer, 2));
        let second = spawn(&buffer, |buffer| take(buffer, 1));
        buffer
            .put(segment(OWNED[1]))
            .expect("the second slot is free");
        let rest = take(&buffer, 1);
        check(vec![
            first.join().expect("no panic"),
            second.join().expect("no panic"),
            rest,
        ]);
    });
}

/// A number is put back while another taker holds the one above it, and the segment of both comes.
#[test]
fn a_number_is_put_back_below_one_that_is_held() {
    const OWNED: [(u64, u64); 2] = [(1, 2), (2, 4)];
    model(3, || {
        let buffer = SegmentBuffer::new();
        buffer
            .put(segment(OWNED[0]))
            .expect("the first slot is free");
        let first = take(&buffer, 1);
        let buffer = Arc::new(buffer);
        let taker = spawn(&buffer, |buffer| take(buffer, 1));
        let none_yet = take(&buffer, 1);
        buffer
            .put(segment(OWNED[1]))
            .expect("the second slot is free");
        let rest = take(&buffer, 2);
        let own = [first, none_yet, rest].concat();
        check_of(&OWNED, vec![taker.join().expect("no panic"), own]);
    });
}

/// Batches take several numbers at once, across a gap between two segments.
#[test]
fn batches_cross_a_gap() {
    model(3, || {
        let buffer = full_buffer();
        let batch = spawn(&buffer, |buffer| take_many(buffer, 2));
        let own = take(&buffer, 1);
        let _full_or_put = buffer.put(segment(OWNED[2]));
        let later = take_many(&buffer, 2);
        check(vec![batch.join().expect("no panic"), [own, later].concat()]);
    });
}

/// A contiguous range is taken by compare-and-exchange while single ids are drawn.
#[test]
fn a_range_is_taken_in_one_piece() {
    model(3, || {
        let buffer = full_buffer();
        let taker = spawn(&buffer, |buffer| take(buffer, 2));
        let range = buffer
            .try_take_range(2)
            .map(|(range, _)| range.ids().map(|id| id.get()).collect());
        let later = take(&buffer, 1);
        check(vec![
            taker.join().expect("no panic"),
            range.unwrap_or_default(),
            later,
        ]);
    });
}

/// The writer skips ids that a long range left behind.
#[test]
fn the_writer_skips_while_others_draw() {
    model(3, || {
        let buffer = full_buffer();
        let taker = spawn(&buffer, |buffer| take(buffer, 2));
        let _skipped = buffer.skip_to(OWNED[2].0);
        buffer
            .put(segment(OWNED[2]))
            .expect("the skip freed both slots");
        let later = take(&buffer, 1);
        assert!(
            later.iter().all(|id| *id >= OWNED[2].0),
            "skipped ids came back: {later:?}"
        );
        check(vec![taker.join().expect("no panic"), later]);
    });
}
