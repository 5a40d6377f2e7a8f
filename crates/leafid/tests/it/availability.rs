//! Whether the store answers: noticed without a caller, reported once, and the consequences, in
//! virtual time.

use std::time::Duration;

use leafid::Clock as _;
use leafid::store::{SegmentStore as _, StoreState, TagSpec};

use crate::world::{Mood, World, fixed, seconds, tag};

/// How soon an outage and its end must be noticed.
const NOTICED_MAX: Duration = Duration::from_secs(5);

fn is_down(world: &World) -> bool {
    matches!(world.generators.store_state(), StoreState::Down { .. })
}

/// Guards that an outage and its end are noticed although no caller needs the store, are reported
/// once each, and that the store is not probed more often while it is down.
#[test]
fn an_outage_without_calls_is_noticed() {
    for mood in [Mood::Down, Mood::Silent] {
        let mut world = World::new(fixed());
        world.advance(seconds(10));
        assert!(world.generators.store_state().is_up(), "{mood:?}");
        assert_eq!(world.log.count("StoreUp"), 0, "it was never down");
        world.store.set(mood, Duration::ZERO);
        world.advance(NOTICED_MAX);
        assert!(is_down(&world), "{mood:?}");
        let before = *world.store.probes.lock().unwrap();
        world.advance(seconds(60));
        let probes = *world.store.probes.lock().unwrap() - before;
        assert!((25..=31).contains(&probes), "{mood:?}: {probes} in 60 s");
        world.store.set(Mood::Well, Duration::ZERO);
        world.advance(NOTICED_MAX);
        assert!(world.generators.store_state().is_up(), "{mood:?}");
        let told = ["StoreDown", "StoreUp"].map(|event| world.log.count(event));
        assert_eq!(told, [1, 1], "{mood:?}");
        // From the first failure to the first success.
        let spans = (58..=66).filter(|span| world.log.count(&format!("down_for: {span}")) == 1);
        assert_eq!(spans.count(), 1, "{mood:?}");
    }
}

/// Guards that when the store is back, all tags that wait out a pause are served at once, and not
/// when each pause is over.
#[test]
fn a_store_that_is_back_serves_all_that_wait() {
    let mut world = World::new(fixed());
    let names: Vec<String> = (0..200).map(|number| format!("tag{number}")).collect();
    for name in &names {
        let spec = TagSpec::new(tag(name));
        leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
    }
    world.store.set(Mood::Down, Duration::ZERO);
    let generators = world.generators.clone();
    let ask_all = || {
        let ask = |name: &String| assert!(generators.try_next(name).is_err());
        names.iter().for_each(ask);
    };
    for _ in 0..60 {
        ask_all();
        world.advance(seconds(1));
    }
    ask_all();
    world.store.set(Mood::Well, Duration::ZERO);
    let back = world.clock.now();
    while is_down(&world) {
        world.advance(Duration::from_millis(1));
    }
    let noticed = world.clock.now().saturating_sub(back);
    assert!(noticed <= seconds(2), "noticed after {noticed:?}");
    let served = names
        .iter()
        .filter(|name| world.generators.try_next(name).is_ok());
    assert_eq!(served.count(), names.len());
}

/// Guards that a store that answers all but reservations, as with a full disk, is down until one
/// succeeds; no probe says otherwise, and one tag alone is retried ahead of its time.
#[test]
fn a_probe_does_not_outweigh_a_reservation_that_fails() {
    let mut world = World::with_tag("order", 10, fixed());
    world.store.set(Mood::Full, Duration::ZERO);
    assert!(world.next("order").is_err());
    world.advance(seconds(120));
    assert!(is_down(&world));
    let told = ["StoreDown", "StoreUp"].map(|event| world.log.count(event));
    assert_eq!(told, [1, 0]);
    let tries = world.store.reserves().len();
    assert!(tries <= 120, "{tries} reservations tried in 120 s");
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(NOTICED_MAX);
    assert!(world.generators.store_state().is_up());
    assert_eq!(world.next("order").unwrap(), 1);
}

/// Guards that a failed call of an administrator makes the driver probe the store, and does not
/// bring it down by itself; a store that serves reservations is not probed.
#[test]
fn reservations_and_other_calls_count_for_what_they_show() {
    let mut world = World::with_tag("order", 1, fixed());
    world.advance(seconds(1));
    let before = *world.store.probes.lock().unwrap();
    for _ in 0..100 {
        world.next("order").unwrap();
        world.advance(Duration::from_millis(500));
    }
    assert_eq!(*world.store.probes.lock().unwrap(), before);

    // The reservation under way will show it.
    world.store.set(Mood::Well, Duration::from_millis(1_500));
    for _ in 0..10 {
        assert!(world.generators.try_next("order").is_ok());
        world.advance(Duration::from_millis(1_500));
        world.advance(Duration::from_millis(1_800));
    }
    assert_eq!(*world.store.probes.lock().unwrap(), before);

    world.store.set(Mood::Down, Duration::ZERO);
    let generators = world.generators.clone();
    let order = tag("order");
    assert!(world.run(generators.read_tag(&order)).is_err());
    world.advance(Duration::from_millis(1));
    assert!(is_down(&world), "found out at once");
}

/// Guards that a call which loses against another transaction is retried almost at once, without
/// the pause or the report of an outage; but not without end.
#[test]
fn a_conflict_is_no_outage() {
    let mut world = World::with_tag("order", 10, fixed());
    *world.store.conflicts.lock().unwrap() = 9;
    let began = world.clock.now();
    assert_eq!(world.next("order").unwrap(), 1);
    let took = world.clock.now().saturating_sub(began);
    assert!(took < seconds(1), "{took:?}");
    let told = ["Conflict {", "Failed {", "StoreDown"].map(|event| world.log.count(event));
    assert_eq!(told, [9, 0, 0]);

    *world.store.conflicts.lock().unwrap() = 1_000_000;
    while world.next("order").is_ok() {}
    world.advance(seconds(60));
    assert!(world.generators.store_state().is_up());
    let tries = 1_000_000 - *world.store.conflicts.lock().unwrap();
    assert!(tries < 1_000, "{tries} in a minute");
    *world.store.conflicts.lock().unwrap() = 0;
    world.advance(seconds(10));
    assert_eq!(world.next("order").unwrap(), 11);
}

/// Guards that a tag that fails for good does not show as an outage of a store that serves the
/// others, even after a real one; and does not hide one.
#[test]
fn a_tag_that_fails_alone_is_no_outage() {
    let mut world = World::with_tag("order", 10, fixed());
    let locked = TagSpec::new(tag("locked"));
    leafid::blocking::block_on(world.store.memory.create(&locked)).unwrap();
    *world.store.locked.lock().unwrap() = Some(locked.tag);
    assert!(world.next("locked").is_err());
    assert!(is_down(&world), "no other tag shows more");
    let use_both = |world: &mut World, rounds: u64| {
        let downs = world.log.count("StoreDown");
        for _ in 0..rounds {
            assert!(world.next("locked").is_err());
            for _ in 0..10 {
                world.next("order").unwrap();
            }
            world.advance(seconds(5));
            assert!(!is_down(world));
        }
        assert_eq!(world.log.count("StoreDown"), downs);
    };
    use_both(&mut world, 60);

    world.store.set(Mood::Down, Duration::ZERO);
    world.advance(NOTICED_MAX);
    assert!(is_down(&world));
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(NOTICED_MAX);
    assert!(!is_down(&world), "although the locked tag fails still");
    use_both(&mut world, 3);

    world.store.set(Mood::Full, Duration::ZERO);
    while world.next("order").is_ok() {}
    world.advance(seconds(60));
    assert!(is_down(&world), "two tags fail now");
    world.store.set(Mood::Well, Duration::ZERO);
    *world.store.locked.lock().unwrap() = None;
    world.advance(seconds(60));
    assert!(!is_down(&world));
    assert!(world.next("locked").is_ok());
}

/// Guards that a call that hung on a dead server says nothing about the one that serves others
/// since.
#[test]
fn a_call_that_hung_before_a_fail_over_is_no_outage() {
    let mut world = World::with_tag("order", 1, fixed());
    let spec = TagSpec::new(tag("other"));
    leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
    world.next("order").unwrap();
    world.advance(seconds(1));
    world.store.set(Mood::Silent, Duration::ZERO);
    while world.generators.try_next("order").is_ok() {}
    world.advance(Duration::from_millis(500));
    world.store.set(Mood::Well, Duration::ZERO);
    world.next("other").unwrap();
    world.advance(seconds(60));
    assert_eq!(world.log.count("StoreDown"), 0);
    assert!(world.log.count("Failed {") >= 1, "the call did not hang");
    world.next("order").unwrap();
}

/// Guards that a reservation which is repeated after a conflict knows that a tag was raised
/// meanwhile.
#[test]
fn a_repeated_reservation_has_the_current_floor() {
    let mut world = World::with_tag("order", 10, fixed());
    let order = tag("order");
    world.next("order").unwrap();
    world.advance(seconds(1));
    let generators = world.generators.clone();
    // Some of the tries meet the raise in between.
    for round in 1..=50 {
        *world.store.conflicts.lock().unwrap() = 1;
        while generators.try_next("order").is_ok() {}
        world.advance(Duration::from_micros(round));
        world
            .run(generators.raise_tag(&order, round * 10_000))
            .unwrap();
        world.advance(seconds(1));
    }
    let floors = world.store.floors.lock().unwrap();
    assert!(floors.is_sorted(), "{floors:?}");
}

#[test]
fn a_repeated_reservation_past_memory_has_the_current_floor() {
    let mut world = World::with_tag("order", 10, fixed());
    let order = tag("order");
    world.next("order").unwrap();
    let generators = world.generators.clone();
    *world.store.conflicts.lock().unwrap() = 1;
    let both = futures_util::future::join(
        generators.reserve(&order, 1),
        generators.raise_tag(&order, 10_000),
    );
    let (reserved, raised) = world.run(both);
    raised.unwrap();
    assert!(reserved.unwrap().start() >= 10_000);
    let floors = world.store.floors.lock().unwrap();
    assert!(floors.is_sorted(), "{floors:?}");
}
