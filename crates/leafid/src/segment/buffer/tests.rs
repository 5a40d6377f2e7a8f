//! Tests for which the loom model is too slow: long ranges, ends of the numbers, threads that
//! collide.

use std::collections::BTreeSet;
use std::thread;

use super::{Segment, SegmentBuffer};
use crate::id::Id;

fn segment(start: u64, end: u64) -> Segment {
    Segment::new(start, end).unwrap()
}

#[track_caller]
fn check(buffer: &SegmentBuffer, expected: u64) {
    assert_eq!(buffer.last().map_or(0, Id::get), expected, "{buffer:?}");
}

/// Guards that the high-water mark is never a number that was not issued: not one beyond the end of
/// a segment, and none that was dropped.
#[test]
fn the_last_id_is_known_over_segments_gaps_and_drops() {
    let buffer = SegmentBuffer::new();
    check(&buffer, 0);
    buffer.put(segment(1, 4)).unwrap();
    check(&buffer, 0);
    assert_eq!(buffer.try_take_many(3).unwrap().len(), 3);
    check(&buffer, 3);
    assert!(buffer.try_take().is_none());
    check(&buffer, 3);
    buffer.put(segment(100, 110)).unwrap();
    check(&buffer, 3);
    assert_eq!(buffer.try_take().unwrap().id.get(), 100);
    check(&buffer, 100);
    // The slot of the first is reused.
    buffer.put(segment(200, 210)).unwrap();
    check(&buffer, 100);
    assert_eq!(buffer.try_take_range(10), Some((segment(200, 210), 9)));
    check(&buffer, 209);
    buffer.put(segment(300, 310)).unwrap();
    assert_eq!(buffer.try_take().unwrap().id.get(), 300);
    assert_eq!(buffer.skip_to(310), 9);
    check(&buffer, 300);
    buffer.put(segment(310, 320)).unwrap();
    check(&buffer, 300);
    assert_eq!(buffer.try_take().unwrap().id.get(), 310);
    check(&buffer, 310);
    // Dropped up to the middle of a segment.
    assert_eq!(buffer.skip_to(315), 4);
    check(&buffer, 310);
    assert_eq!(buffer.try_take().unwrap().id.get(), 315);
    check(&buffer, 315);
}

/// Guards that the high-water mark does not go back while a slot is reused for another segment.
#[test]
fn the_last_id_does_not_go_back_while_segments_come() {
    let buffer = SegmentBuffer::new();
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for at in 0..300_000 {
                buffer.put(segment(2 * at + 1, 2 * at + 3)).unwrap();
                assert_eq!(buffer.try_take_many(2).unwrap().len(), 2);
            }
        });
        let mut last = None;
        while !writing.is_finished() {
            let now = buffer.last();
            assert!(now >= last, "{now:?} after {last:?}");
            last = now;
        }
    });
}

/// Guards that even takers of all numbers do not make the cursor wrap around.
#[test]
fn huge_batches_do_not_wrap() {
    let buffer = SegmentBuffer::new();
    buffer.put(segment(1, i64::MAX as u64)).unwrap();
    let most = buffer.try_take_many(1 << 62).unwrap();
    assert_eq!((most.len(), most.ranges().len()), (1 << 62, 1));
    assert!(buffer.try_take_many(1 << 62).is_none());
    let rest = buffer.try_take_many((1 << 62) - 2).unwrap();
    assert_eq!(rest.len(), (1 << 62) - 2);
    assert!(buffer.try_take().is_none() && buffer.try_take_many(u64::MAX).is_none());
}

/// Guards that wherever the cursor is set, it does not wrap around to issued numbers.
#[test]
fn a_cursor_sent_to_the_end_stays_there() {
    let buffer = SegmentBuffer::new();
    buffer.put(segment(1, 11)).unwrap();
    assert_eq!(buffer.try_take().unwrap().id.get(), 1);
    assert_eq!(buffer.skip_to(u64::MAX), 9);
    for _ in 0..100 {
        assert!(buffer.try_take().is_none() && buffer.try_take_many(2).is_none());
    }
    assert_eq!(buffer.skip_to(1), 0);
    assert!(buffer.try_take().is_none() && buffer.remaining() == 0);
}

/// Guards that threads which take batches from one buffer at once lose no id: what is too little
/// for one of them is left for a smaller batch.
#[test]
fn batches_lose_nothing() {
    const END: u64 = 200_001;
    let buffer = SegmentBuffer::new();
    buffer.put(segment(1, 90_001)).unwrap();
    buffer.put(segment(90_001, END)).unwrap();
    let drain = |count: u64| {
        let mut ids = Vec::new();
        while let Some(taken) = buffer.try_take_many(count) {
            assert_eq!(taken.len(), count);
            ids.extend(taken.ids().map(Id::get));
        }
        ids
    };
    let all: Vec<u64> = thread::scope(|scope| {
        let takers: Vec<_> = [3, 7, 64, 100, 129, 1000]
            .into_iter()
            .map(|count| scope.spawn(move || drain(count)))
            .collect();
        takers
            .into_iter()
            .flat_map(|taker| taker.join().unwrap())
            .collect()
    });
    let rest = END - 1 - all.len() as u64;
    assert!(rest < 3, "{rest} are left for a batch of 3");
    assert_eq!(buffer.remaining(), rest);
    let distinct: BTreeSet<u64> = all.iter().copied().collect();
    assert_eq!(distinct.len(), all.len(), "an id twice");
}
