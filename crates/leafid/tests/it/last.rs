//! The last id given out, as callers who ask for it without taking one see it.

use leafid::{Id, Segment, SegmentBuffer};

fn segment(start: u64, end: u64) -> Segment {
    Segment::new(start, end).unwrap()
}

#[track_caller]
fn check(buffer: &SegmentBuffer, expected: u64) {
    assert_eq!(buffer.last().map_or(0, Id::get), expected, "{buffer:?}");
}

/// Guards that no number is told that was not given out: not one beyond the end of a segment, and
/// none of what was dropped.
#[test]
fn the_last_id_is_known_over_segments_gaps_and_drops() {
    let buffer = SegmentBuffer::new();
    check(&buffer, 0);
    buffer.put(segment(1, 4)).unwrap();
    check(&buffer, 0);
    assert_eq!(buffer.try_take_many(3).len(), 3);
    check(&buffer, 3);
    assert!(buffer.try_take().is_none());
    check(&buffer, 3);
    buffer.put(segment(100, 110)).unwrap();
    check(&buffer, 3);
    assert_eq!(buffer.try_take().unwrap().id.get(), 100);
    check(&buffer, 100);
    // The slot of the first is taken over.
    buffer.put(segment(200, 210)).unwrap();
    check(&buffer, 100);
    assert_eq!(buffer.try_take_run(10), Some(segment(200, 210)));
    check(&buffer, 209);
    buffer.put(segment(300, 310)).unwrap();
    assert_eq!(buffer.try_take().unwrap().id.get(), 300);
    buffer.skip_to(310);
    check(&buffer, 300);
    buffer.put(segment(310, 320)).unwrap();
    check(&buffer, 300);
    assert_eq!(buffer.try_take().unwrap().id.get(), 310);
    check(&buffer, 310);
}

/// Guards that the last id does not go back while a slot is taken over by another segment.
#[test]
fn the_last_id_does_not_go_back_while_segments_come() {
    let buffer = SegmentBuffer::new();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for at in 0..300_000 {
                buffer.put(segment(2 * at + 1, 2 * at + 3)).unwrap();
                assert_eq!(buffer.try_take_many(2).len(), 2);
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
