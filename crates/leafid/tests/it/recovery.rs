//! Waiting, failing and recovering, in virtual time.

use std::time::Duration;

use futures_util::future::join_all;
use leafid::store::{SegmentStore as _, TagPatch, TagSettings, TagSpec};
use leafid::{IssueError, Limit, Options, Permanent, StepPolicy, TransientReason};

use crate::world::{Mood, World, fixed, seconds, tag};

/// Guards that ids of a new tag are 1, 2, 3 … without a gap, over many segments.
#[test]
fn a_single_caller_sees_no_gap() {
    for step in [1, 2, 7, 1000] {
        let mut world = World::with_tag("order", step, fixed());
        for expected in 1..=3000 {
            assert_eq!(world.next("order").unwrap(), expected, "step {step}");
        }
    }
}

/// Guards that there is one refill for all waiting callers, not one each.
#[test]
fn fifty_waiters_share_one_reservation() {
    let mut world = World::with_tag("order", 1000, fixed());
    world.store.set(Mood::Well, Duration::from_millis(300));
    let generators = world.generators.clone();
    let callers = (0..50).map(|_| generators.next("order"));
    let mut ids: Vec<u64> = world
        .run(join_all(callers))
        .into_iter()
        .map(|id| id.unwrap().get())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=50).collect::<Vec<_>>());
    assert_eq!(world.store.reserves(), [1000]);
}

/// Guards that a caller waits no longer than `wait_max`, and is told when to retry.
#[test]
fn a_wait_ends_at_its_deadline() {
    let mut world = World::with_tag("order", 10, fixed());
    world.store.set(Mood::Well, seconds(20));
    let error = world.next("order").unwrap_err();
    assert_eq!(leafid::Clock::now(&world.clock), seconds(1));
    assert!(matches!(&error, IssueError::Transient(transient)
        if matches!(transient.reason, TransientReason::Loading)));
    world.advance(seconds(60));
    assert_eq!(world.next("order").unwrap(), 1);
}

/// Guards that while a failed store is retried its error is reported, and not only that a segment
/// is under way; but no longer once it has answered.
#[test]
fn a_store_that_failed_is_named_while_it_is_tried_again() {
    let mut world = World::with_tag("order", 10, fixed());
    let reason = |world: &mut World| match world.next("order").unwrap_err() {
        IssueError::Transient(transient) => transient.reason,
        other => panic!("{other:?}"),
    };
    world.store.set(Mood::Down, Duration::ZERO);
    let told = reason(&mut world);
    assert!(matches!(told, TransientReason::StoreFailed(_)), "{told:?}");
    world.store.set(Mood::Well, seconds(20));
    world.advance(seconds(60));
    for id in 1..=10 {
        assert_eq!(world.next("order").unwrap(), id);
    }
    world.store.set(Mood::Down, Duration::ZERO);
    while world.next("order").is_ok() {}
    // It answers again, but each call takes long.
    world.store.set(Mood::Well, seconds(20));
    world.advance(seconds(10));
    let told = reason(&mut world);
    assert!(matches!(told, TransientReason::StoreFailed(_)), "{told:?}");
    world.advance(seconds(60));
    while world.next("order").is_ok() {}
    let told = reason(&mut world);
    assert!(matches!(told, TransientReason::Loading), "{told:?}");
}

/// Guards that a failing store is retried automatically, that callers wait for a near retry and are
/// refused before a far one, with its time and the cause.
#[test]
fn a_failing_store_is_tried_again() {
    let mut world = World::with_tag("order", 10, fixed());
    world.store.set(Mood::Down, Duration::ZERO);
    let error = world.next("order").unwrap_err();
    let IssueError::Transient(transient) = &error else {
        panic!("{error:?}")
    };
    assert!(
        matches!(transient.reason, TransientReason::StoreFailed(_)),
        "{error}"
    );
    world.advance(seconds(60));
    let failures = world.log.count("Failed");
    assert!(
        (13..=40).contains(&failures),
        "{failures} tries in a minute"
    );
    let started = leafid::Clock::now(&world.clock);
    let far = world.next("order").unwrap_err();
    assert!(far.retry_after().unwrap() <= seconds(5));
    assert!(leafid::Clock::now(&world.clock).saturating_sub(started) <= seconds(1));
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(5));
    assert_eq!(world.next("order").unwrap(), 1);
    assert!(
        world
            .generators
            .status("order")
            .unwrap()
            .last_error
            .is_none()
    );
}

/// Guards that while the store is down, ids in memory are issued.
#[test]
fn memory_issues_without_the_store() {
    let mut world = World::with_tag("order", 100, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.set(Mood::Down, Duration::ZERO);
    for expected in 2..=100 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    assert!(world.next("order").unwrap_err().is_retryable());
}

/// Guards that when the answer to a reservation is lost, its ids count as lost.
#[test]
fn a_lost_answer_loses_the_segment() {
    let mut world = World::with_tag("order", 10, fixed());
    world.store.set(Mood::AnswersLost, Duration::ZERO);
    // The read of the row fails too, so nothing was reserved yet.
    assert!(world.next("order").unwrap_err().is_retryable());
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(10));
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.set(Mood::AnswersLost, Duration::ZERO);
    for expected in 2..=10 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    world.advance(seconds(1));
    let lost = world.log.count("Failed") as u64 - 1;
    assert!(lost > 1, "several reservations were lost");
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(10));
    let next = world.next("order").unwrap();
    assert!(next > 10 + 10, "{next} was in a lost segment");
    assert_eq!(next % 10, 1, "a whole number of segments was lost");
}

/// Guards that a call to a store that never answers is given up after `call_max`.
#[test]
fn a_silent_store_is_given_up_on() {
    let mut world = World::with_tag("order", 10, fixed());
    world.store.set(Mood::Silent, Duration::ZERO);
    assert!(world.next("order").unwrap_err().is_retryable());
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(31));
    assert_eq!(world.next("order").unwrap(), 1);
}

/// Guards that a store that went back is noticed, corrected, and reported once.
#[test]
fn a_store_that_went_back_is_healed() {
    let mut world = World::with_tag("order", 100, fixed());
    for expected in 1..=95 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    for expected in 96..=100 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    // Sixteen segments are skipped above 101, and the one after them is discarded.
    for expected in 1801..=2200 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    assert_eq!(world.log.count("Regressed"), 1);
    let status = world.generators.status("order").unwrap();
    assert_eq!((status.regressions, status.skipped), (1, 100));
    assert_eq!(status.issued, 500);
}

/// Guards that the last number is issued, none after it, and that a larger limit continues.
#[test]
fn a_limit_is_reached_exactly() {
    let mut world = World::new(fixed());
    let mut spec = TagSpec::new(tag("short"));
    spec.settings = TagSettings {
        step: 30,
        limit: Limit::new(100).unwrap(),
        ..TagSettings::default()
    };
    world.run(world.store.clone().create(&spec)).unwrap();
    for expected in 1..=100 {
        assert_eq!(world.next("short").unwrap(), expected);
    }
    let error = world.next("short").unwrap_err();
    assert!(error.is_exhausted() && !error.is_retryable(), "{error:?}");
    assert_eq!(world.log.count("LimitReached"), 1);
    assert_eq!(
        world.log.count("LimitNear"),
        2,
        "at a tenth and at a hundredth"
    );
    let generators = world.generators.clone();
    assert!(
        world
            .run(generators.take("short", 5))
            .unwrap_err()
            .is_exhausted()
    );
    let patch = TagPatch {
        limit: Some(Limit::new(103).unwrap()),
        ..TagPatch::default()
    };
    world
        .run(generators.update_tag(&tag("short"), &patch))
        .unwrap();
    let range = world.run(generators.take("short", 5)).unwrap_err();
    assert!(
        range.is_exhausted(),
        "a range that does not fit is refused: {range:?}"
    );
    for expected in 101..=103 {
        assert_eq!(world.next("short").unwrap(), expected);
    }
}

/// Guards that ranges longer than a segment are one piece, batches are complete, and all ids
/// ascend.
#[test]
fn long_ranges_and_batches_ascend() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    let mut last = world.next("order").unwrap();
    let mut after = |start: u64, end: u64| {
        assert!(start > last && end > start, "[{start}, {end}) after {last}");
        last = end - 1;
    };
    for count in [1, 50, 99, 100, 101, 5000, 3, 250, 1] {
        let range = world.run(generators.take("order", count)).unwrap();
        assert_eq!(range.len(), count);
        after(range.start(), range.end());
        let batch = world.run(generators.next_many("order", count)).unwrap();
        assert_eq!(batch.len(), count);
        batch
            .ranges()
            .iter()
            .for_each(|range| after(range.start(), range.end()));
        let id = world.next("order").unwrap();
        after(id, id + 1);
    }
    let status = generators.status("order").unwrap();
    assert_eq!(status.max_id.unwrap(), last + 1 + status.remaining);
    let nothing = world.run(generators.next_many("order", 0)).unwrap_err();
    assert!(matches!(
        nothing,
        IssueError::Permanent(Permanent::BadCount { count: 0 })
    ));
}

/// Guards that batches skip nothing: what memory holds is used before a new segment.
#[test]
fn batches_leave_no_gap() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    let mut expected = 1;
    for count in [30, 200, 7, 1000, 99, 1] {
        let batch = world.run(generators.next_many("order", count)).unwrap();
        let ids: Vec<u64> = batch.ids().map(leafid::Id::get).collect();
        assert_eq!(ids, (expected..expected + count).collect::<Vec<_>>());
        expected += count;
    }
}

/// Guards that a cancelled caller's range is a gap, and the tag continues.
#[test]
fn a_cancelled_range_is_a_gap() {
    let mut world = World::with_tag("order", 100, fixed());
    world.store.set(Mood::Well, seconds(3));
    let generators = world.generators.clone();
    assert!(
        world
            .run(generators.take("order", 5000))
            .unwrap_err()
            .is_retryable()
    );
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(10));
    assert!(world.next("order").unwrap() >= 1);
    assert!(world.run(generators.take("order", 5000)).unwrap().len() == 5000);
}

/// Guards that without a driver memory runs out, and then the caller gets the reason.
#[test]
fn a_stopped_driver_is_named() {
    let mut world = World::with_tag("order", 10, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world.drop_driver();
    for expected in 2..=10 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    assert!(matches!(
        world.next("order").unwrap_err(),
        IssueError::Permanent(Permanent::Stopped { .. })
    ));
}

/// Guards Leaf's rule end to end: the table's step twice, then doubled at each load.
#[test]
fn leaf_policy_doubles_under_load() {
    let options = Options::default().with_policy(StepPolicy::leaf());
    let mut world = World::with_tag("order", 1000, options);
    for _ in 0..20_000 {
        world.next("order").unwrap();
    }
    world.advance(seconds(1));
    assert_eq!(world.store.reserves()[..5], [1000, 1000, 2000, 4000, 8000]);
}

/// Guards the default policy: once warm at 20,000 ids/s, callers notice neither a minute without
/// the store, nor a store that takes a second, nor a burst of a hundred times the rate; when the
/// rate falls, so does the step.
#[test]
fn a_warm_tag_feels_neither_outage_nor_burst() {
    let mut world = World::with_tag("order", 1000, Options::default());
    world.next("order").unwrap();
    let spend = |world: &mut World, per_second: u64, seconds_long: u64| {
        for _ in 0..seconds_long * 20 {
            for _ in 0..per_second / 20 {
                world.generators.try_next("order").expect("no caller waits");
            }
            world.advance(Duration::from_millis(50));
        }
    };
    // Warming up: the first segments are short, so the first seconds are gentle.
    spend(&mut world, 1000, 5);
    spend(&mut world, 20_000, 30);
    let warm = world.generators.status("order").unwrap();
    assert!(warm.cover.unwrap() > seconds(120), "{warm:?}");
    world.store.set(Mood::Down, Duration::ZERO);
    spend(&mut world, 20_000, 60);
    world.store.set(Mood::Well, seconds(1));
    spend(&mut world, 20_000, 30);
    spend(&mut world, 2_000_000, 10);
    world.store.set(Mood::Well, Duration::ZERO);
    assert!(world.generators.status("order").unwrap().step <= 10_000_000);
    // A quiet tag shrinks: two hours at 100 ids/s use up nothing of 10,000,000, so skip ahead.
    let generators = world.generators.clone();
    for _ in 0..4 {
        world.advance(seconds(3600));
        let left = generators.status("order").unwrap().remaining;
        world.run(generators.next_many("order", left)).unwrap();
        world.advance(seconds(1));
    }
    world.advance(seconds(36_000));
    for _ in 0..3 {
        let left = generators.status("order").unwrap().remaining;
        world
            .run(generators.next_many("order", left - left / 20))
            .unwrap();
        world.advance(seconds(360_000));
    }
    let quiet = generators.status("order").unwrap();
    assert!(quiet.step < 1_000_000, "{quiet:?}");
}
