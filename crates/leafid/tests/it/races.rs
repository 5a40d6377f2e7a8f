//! Changes during a call to the store, and the limits of requests.

use std::time::Duration;

use leafid::store::{SegmentStore as _, TagPatch, TagSettings, TagSpec};
use leafid::{Clock as _, IssueError, Limit, Permanent};

use crate::world::{Mood, World, fixed, seconds, tag};

/// A world with a tag of that step and largest id.
fn limited(step: u32, largest: u64) -> World {
    let mut world = World::new(fixed());
    let mut spec = TagSpec::new(tag("short"));
    spec.settings = TagSettings {
        step,
        limit: Limit::new(largest).unwrap(),
        ..TagSettings::default()
    };
    world.run(world.store.clone().create(&spec)).unwrap();
    world
}

fn max_id(world: &mut World, name: &str) -> u64 {
    let generators = world.generators.clone();
    let record = world.run(generators.read_tag(&tag(name))).unwrap();
    record.unwrap().max_id
}

fn set_limit(world: &mut World, largest: u64) {
    let generators = world.generators.clone();
    let patch = TagPatch {
        limit: Limit::new(largest),
        ..TagPatch::default()
    };
    world
        .run(generators.update_tag(&tag("short"), &patch))
        .unwrap();
}

/// Guards that a range that cannot fit below the limit is refused, and uses up no numbers.
#[test]
fn an_impossible_range_costs_nothing() {
    let mut world = limited(10, 1_000_000);
    assert_eq!(world.next("short").unwrap(), 1);
    let generators = world.generators.clone();
    for count in [1_000_000, 5_000_000, 1 << 60] {
        let refused = world.run(generators.take("short", count)).unwrap_err();
        assert!(refused.is_exhausted(), "{refused:?}");
        let refused = world.run(generators.next_many("short", count)).unwrap_err();
        assert!(refused.is_exhausted(), "{refused:?}");
    }
    assert!(max_id(&mut world, "short") <= 200, "numbers were burnt");
    assert!(world.next("short").unwrap() < 200);
    assert_eq!(
        world.run(generators.take("short", 5000)).unwrap().len(),
        5000
    );
    // Batches may use what memory holds and the last numbers in the store.
    let left = 1_000_000 - world.next("short").unwrap();
    let batch = world.run(generators.next_many("short", left)).unwrap();
    assert_eq!(batch.ids().last().unwrap().get(), 1_000_000);
}

/// Guards that of several long ranges, those that fit are served, and the others take nothing.
#[test]
fn ranges_that_fit_only_one_by_one_burn_nothing() {
    let mut world = limited(10, 1000);
    assert_eq!(world.next("short").unwrap(), 1);
    let generators = world.generators.clone();
    let callers = [600, 600, 300].map(|count| generators.take("short", count));
    let taken = world.run(futures_util::future::join_all(callers));
    let lens: Vec<u64> = taken
        .iter()
        .map(|range| range.as_ref().map_or(0, leafid::Segment::len))
        .collect();
    assert_eq!(lens, [600, 0, 300]);
}

/// Guards that a limit applies that is raised while the store is refusing at the former one.
#[test]
fn a_limit_raised_during_a_refusal_counts() {
    let mut world = limited(30, 100);
    for expected in 1..=99 {
        assert_eq!(world.next("short").unwrap(), expected);
    }
    let mut world = limited(30, 30);
    assert_eq!(world.next("short").unwrap(), 1);
    world.store.set(Mood::AnswersLate, seconds(5));
    for expected in 2..=30 {
        assert_eq!(world.next("short").unwrap(), expected);
    }
    world.settle();
    set_limit(&mut world, 200);
    world.advance(seconds(5));
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(120));
    assert_eq!(world.next("short").unwrap(), 31);
}

/// Guards that a tag issues which is deleted and created anew while the store refuses the former
/// one.
#[test]
fn a_tag_made_anew_during_a_refusal_issues() {
    let mut world = limited(30, 30);
    assert_eq!(world.next("short").unwrap(), 1);
    world.store.set(Mood::AnswersLate, seconds(5));
    for expected in 2..=30 {
        assert_eq!(world.next("short").unwrap(), expected);
    }
    world.settle();
    let generators = world.generators.clone();
    world.run(generators.delete_tag(&tag("short"))).unwrap();
    world
        .run(generators.create_tag(&TagSpec::new(tag("short"))))
        .unwrap();
    world.advance(seconds(5));
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(120));
    assert_eq!(world.next("short").unwrap(), 31);
}

/// Guards that raising a limit early resets the warnings.
#[test]
fn a_raised_limit_warns_again() {
    let mut world = limited(10, 1000);
    for _ in 0..995 {
        world.next("short").unwrap();
    }
    assert_eq!(world.log.count("LimitNear"), 2);
    set_limit(&mut world, 3000);
    for _ in 0..2000 {
        world.next("short").unwrap();
    }
    assert_eq!(world.log.count("LimitNear"), 4);
}

/// Guards that `create_tag` applies at once, even if the store is just answering "no such tag".
#[test]
fn a_tag_created_during_its_look_up_issues() {
    let mut world = World::new(fixed());
    world
        .store
        .set(Mood::AnswersLate, Duration::from_millis(500));
    let generators = world.generators.clone();
    assert!(generators.try_next("order").unwrap_err().is_retryable());
    world.settle();
    world
        .run(generators.create_tag(&TagSpec::new(tag("order"))))
        .unwrap();
    world.advance(Duration::from_millis(500));
    world.store.set(Mood::Well, Duration::ZERO);
    let next = world.next("order");
    assert!(matches!(&next, Ok(1)), "{next:?}");
}

/// Guards that `update_tag` applies at once, even if the row was being read.
#[test]
fn a_change_is_not_undone_by_an_older_read() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    let set_step = |world: &mut World, step: u32| {
        let patch = TagPatch {
            step: Some(step),
            ..TagPatch::default()
        };
        let generators = world.generators.clone();
        world
            .run(generators.update_tag(&tag("order"), &patch))
            .unwrap();
    };
    world.store.set(Mood::AnswersLate, seconds(1));
    assert!(generators.try_next("order").unwrap_err().is_retryable());
    world.settle();
    set_step(&mut world, 7);
    world.advance(seconds(5));
    assert_eq!(generators.status("order").unwrap().own_step, 7, "a load");
    world.next("order").unwrap();
    let refresh_at = seconds(60).saturating_sub(world.clock.now());
    world.advance(refresh_at);
    set_step(&mut world, 8);
    world.advance(seconds(5));
    assert_eq!(generators.status("order").unwrap().own_step, 8, "a refresh");
}

/// Guards that a tag created anew is not dropped by an older read.
#[test]
fn a_tag_made_anew_is_not_dropped_by_an_older_read() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    assert_eq!(world.next("order").unwrap(), 1);
    world.advance(seconds(59));
    // Deleted elsewhere, which the refresh sees; created anew here before its answer arrives.
    world
        .run(world.store.clone().delete(&tag("order")))
        .unwrap();
    world.store.set(Mood::AnswersLate, seconds(2));
    world.advance(seconds(1));
    world
        .run(generators.create_tag(&TagSpec::new(tag("order"))))
        .unwrap();
    world.advance(seconds(10));
    assert_eq!(world.log.count("Dropped"), 0);
}

/// Guards that the floor never falls, whichever way numbers were reserved.
#[test]
fn the_floor_counts_numbers_reserved_past_memory() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.set(Mood::AnswersLate, seconds(2));
    for expected in 2..=100 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    world.settle();
    world.store.set(Mood::Well, Duration::ZERO);
    let own = world.run(generators.reserve(&tag("order"), 50)).unwrap();
    world.advance(seconds(2));
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    for _ in 0..500 {
        let id = world.next("order").unwrap();
        assert!(
            !(own.start()..own.end()).contains(&id),
            "{id} of {own} twice"
        );
    }
}

/// Guards that a handle from before the tag existed issues batches too.
#[test]
fn an_old_handle_finds_the_new_tag_for_batches() {
    let mut world = World::new(fixed());
    let held = world.generators.generator("a").unwrap();
    let error = world.next("a").unwrap_err();
    assert!(matches!(
        error,
        IssueError::Permanent(Permanent::UnknownTag { .. })
    ));
    world.advance(seconds(2));
    assert_eq!(world.generators.loaded_len(), 0);
    world
        .run(world.store.clone().create(&TagSpec::new(tag("a"))))
        .unwrap();
    assert!(held.try_next_many(5).unwrap_err().is_retryable());
    world.settle();
    assert_eq!(held.try_next_many(5).unwrap().len(), 5);
}

/// Guards that infinite times do not panic.
#[test]
fn endless_times_are_allowed() {
    let options = fixed()
        .with_wait_max(Duration::MAX)
        .with_refresh_interval(Duration::MAX)
        .with_unknown_for(Duration::MAX)
        .with_call_max(Duration::MAX);
    let mut world = World::with_tag("order", 100, options.clone());
    world.advance(seconds(1));
    assert_eq!(world.next("order").unwrap(), 1);
    assert!(world.next("nobody").unwrap_err().retry_after().is_none());
    let store = leafid::store::MemoryStore::new();
    let (generators, driver) = leafid::Generators::open(store, options);
    let driver = leafid::blocking::spawn(driver).unwrap();
    assert!(generators.next_blocking("nobody").is_err());
    drop(generators);
    driver.join().unwrap();
}

/// Guards that times of 0 do not make a busy loop, and an unknown tag is reported as such.
#[test]
fn times_of_nothing_are_allowed() {
    let options = fixed()
        .with_unknown_for(Duration::ZERO)
        .with_retry_min(Duration::ZERO);
    let mut world = World::with_tag("order", 100, options);
    let error = world.next("nobody").unwrap_err();
    assert!(error.retry_after().is_none(), "{error}");
    world.store.set(Mood::Down, Duration::ZERO);
    assert!(world.next("order").unwrap_err().is_retryable());
    world.store.set(Mood::Well, Duration::ZERO);
    assert_eq!(world.next("order").unwrap(), 1);
}

/// Guards that a store that refuses what is below the limit counts as failing, and is not asked
/// again at once forever.
#[test]
fn a_baseless_refusal_is_a_failure() {
    let mut world = World::with_tag("order", 100, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.set(Mood::Refusing, Duration::ZERO);
    for expected in 2..=100 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    let error = world.next("order").unwrap_err();
    assert!(error.to_string().contains("contract"), "{error}");
    assert!(world.store.reserves().len() < 20);
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(10));
    assert_eq!(world.next("order").unwrap(), 101);
}
