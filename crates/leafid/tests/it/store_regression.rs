//! A store that went back in time, under one server and under two.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafid::store::{MemoryStore, Reserve, SegmentStore, TagSpec};
use leafid::{Generators, Limit, Options, blocking};

use crate::world::{Mood, World, fixed, seconds, tag};

/// A server on a store that others use too.
fn server(store: &Arc<MemoryStore>, options: Options) -> Generators {
    let (generators, driver) = Generators::open_with(
        Arc::clone(store) as Arc<dyn SegmentStore>,
        Arc::new(leafid::SystemClock::new()),
        Arc::new(()),
        options,
    );
    let _detached = blocking::spawn(driver).unwrap();
    generators
}

fn store_with(step: u32) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let mut spec = TagSpec::new(tag("order"));
    spec.settings.step = step;
    blocking::block_on(store.create(&spec)).unwrap();
    store
}

fn take(from: &Generators, count: u64, into: &mut Vec<u64>) {
    let taken = blocking::block_on(from.next_many("order", count)).unwrap();
    into.extend(taken.ids().map(leafid::Id::get));
}

fn twice(ids: &[u64]) -> usize {
    ids.len() - ids.iter().collect::<BTreeSet<_>>().len()
}

/// Guards that of two servers the one that saw less reserves first after the store went back. What
/// the other one holds beyond that does not repeat.
#[test]
fn two_servers_repeat_nothing_when_the_store_goes_back_below_both() {
    for others in [1, 5, 40] {
        let store = store_with(100);
        let (slow, fast) = (server(&store, fixed()), server(&store, fixed()));
        let mut ids = Vec::new();
        // It has seen how fast the other one reserves.
        for _ in 0..3 {
            take(&slow, 100, &mut ids);
            take(&fast, 100 * others, &mut ids);
        }
        store.put_max_id(&tag("order"), 1).unwrap();
        for _ in 0..5 {
            take(&slow, 150, &mut ids);
            take(&fast, 150, &mut ids);
        }
        assert_eq!(twice(&ids), 0, "{others} segments of the other server");
    }
}

/// Guards a store that went back and is changed before any reservation: deleted, and created again
/// by another server, or raised to less than was issued.
#[test]
fn a_regressed_tag_is_repaired_before_it_is_changed() {
    for is_deleted in [true, false] {
        let store = store_with(100);
        let (first, second) = (server(&store, fixed()), server(&store, fixed()));
        let mut ids = Vec::new();
        take(&first, 5000, &mut ids);
        store.put_max_id(&tag("order"), 1).unwrap();
        if is_deleted {
            blocking::block_on(first.delete_tag(&tag("order"))).unwrap();
            let mut spec = TagSpec::new(tag("order"));
            spec.settings.step = 100;
            blocking::block_on(second.create_tag(&spec)).unwrap();
        } else {
            let raised = blocking::block_on(first.raise_tag(&tag("order"), 2000));
            let text = raised.unwrap_err().to_string();
            assert!(text.contains("can only be raised"), "{text}");
        }
        take(&second, 5000, &mut ids);
        assert_eq!(twice(&ids), 0, "deleted: {is_deleted}");
    }
}

/// Guards a configured margin.
#[test]
fn a_configured_margin_is_left_out() {
    let options = fixed().with_regression_margin(Some(1_000_000));
    let mut world = World::with_tag("order", 100, options);
    for expected in 1..=95 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    for expected in (96..=100).chain(1_000_201..1_000_300) {
        assert_eq!(world.next("order").unwrap(), expected);
    }
}

/// Guards that a store that forgets each reservation is refused, retried with back-off, and used
/// again once it keeps what it acknowledges.
#[test]
fn a_store_that_keeps_nothing_is_refused() {
    let mut world = World::with_tag("order", 100, fixed());
    world.store.set(Mood::Forgetting, seconds(0));
    for expected in 1..=100 {
        assert_eq!(world.next("order").unwrap(), expected);
    }
    let error = world.next("order").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("does not keep"), "{error}");
    world.advance(seconds(60));
    let tries = world.store.reserves().len();
    assert!((10..40).contains(&tries), "{tries} tries in a minute");
    assert!(world.next("order").is_err());
    world.store.set(Mood::Well, seconds(0));
    world.advance(seconds(10));
    let first = world.next("order").unwrap();
    assert!(first > 400, "{first}");
}

/// Guards that a demand is answered from the segment above the margin, and nothing else.
#[test]
fn demands_are_answered_above_the_margin() {
    let mut world = World::with_tag("order", 100, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    let generators = world.generators.clone();
    let many = world.run(generators.next_many("order", 250)).unwrap();
    let ranges: Vec<String> = many.ranges().iter().map(ToString::to_string).collect();
    // 99 are in memory. 1600 are skipped above 101, and the segment of 350 after them is discarded.
    assert_eq!(ranges, ["[2, 101)", "[2051, 2202)"]);
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    let range = world.run(generators.take("order", 1000)).unwrap();
    assert_eq!(range.start(), 9101, "5600 left out, 1100 discarded");
    assert_eq!(world.log.count("Regressed"), 2);
}

/// Guards the same for a range that is reserved past memory.
#[test]
fn a_reservation_past_memory_is_no_way_around() {
    let mut world = World::with_tag("order", 100, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    let generators = world.generators.clone();
    let order = tag("order");
    let segment = world.run(generators.reserve(&order, 10)).unwrap();
    assert_eq!(segment.to_string(), "[1711, 1721)");
    assert_eq!(world.log.count("Regressed"), 1);
    world.store.set(Mood::Forgetting, seconds(0));
    world.store.memory.put_max_id(&order, 1).unwrap();
    let error = world.run(generators.reserve(&order, 10)).unwrap_err();
    assert!(error.to_string().contains("does not keep"), "{error}");
}

/// Guards that a row that went back is raised when it is read again, so that a server which is
/// started after that does not begin below what others issued.
#[test]
fn a_row_that_went_back_is_healed_before_it_is_drawn_from() {
    let mut world = World::with_tag("order", 1000, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    assert_eq!(world.next("order").unwrap(), 2);
    world.advance(seconds(61));
    let store = world.store.clone();
    let order = [tag("order")];
    let rows = world.run(store.memory.read(&order)).unwrap();
    assert!(rows[0].max_id > 3000, "{rows:?}");
    assert_eq!(world.log.count("Regressed"), 1);
    assert_eq!(world.next("order").unwrap(), 3);
}

/// Guards that numbers in memory are dropped which the store assigned again since it went back.
#[test]
fn numbers_that_others_drew_since_are_dropped_from_memory() {
    let mut world = World::with_tag("order", 100, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    let order = tag("order");
    world.store.memory.put_max_id(&order, 1).unwrap();
    // A server that was started after that, and has seen nothing.
    let stranger = Reserve {
        tag: order,
        count: 50,
        floor: None,
        margin: 0,
        limit: Limit::INT64,
        is_longest: false,
    };
    let store = world.store.clone();
    let given = world.run(store.memory.reserve(&stranger)).unwrap();
    assert_eq!(given.segment.to_string(), "[1, 51)");
    world.advance(seconds(61));
    assert_eq!(world.next("order").unwrap(), 51);
    let status = world.generators.status("order").unwrap();
    // The first segment, the discarded one, and the one above the margin.
    let all = status.issued + status.remaining + status.skipped;
    assert_eq!(all, 300, "{status:?}");
}
