//! Many unknown names, in virtual time: they delay neither tags in use, nor tags that exist.

use std::time::Duration;

use leafid::store::{SegmentStore as _, TagSettings, TagSpec};
use leafid::{Clock as _, Generators, IssueError, Options, TransientReason};

use crate::world::{Mood, World, fixed, seconds, tag};

const SLOW: Duration = Duration::from_millis(300);

fn few_calls() -> Options {
    fixed().with_calls_max(8)
}

/// Requests this many unknown names, without waiting for any.
fn invent(generators: &Generators, from: usize, count: usize) {
    for number in from..from + count {
        assert!(generators.try_next(&format!("invented-{number}")).is_err());
    }
}

/// Guards that a segment of a tag in use is reserved at once, however many new names there are.
#[test]
fn tags_in_use_are_refilled_beside_a_crowd_of_names() {
    let mut world = World::with_tag("order", 10, few_calls());
    world.next("order").unwrap();
    world.store.set(Mood::Well, SLOW);
    let began = world.clock.now();
    for round in 0..20 {
        invent(&world.generators, round * 1000, 1000);
        for _ in 0..10 {
            world.next("order").unwrap();
        }
    }
    // Each round lasts as long as one reservation, at the most.
    let took = world.clock.now().saturating_sub(began);
    assert!(took <= SLOW * 21, "{took:?}");
}

/// Guards that an existing tag which is new here is loaded by the next statements, not behind all
/// names.
#[test]
fn a_real_tag_is_loaded_beside_a_crowd_of_names() {
    let mut world = World::with_tag("order", 10, few_calls());
    world.store.set(Mood::Well, SLOW);
    invent(&world.generators, 0, 1);
    world.settle();
    invent(&world.generators, 1, 449);
    world.settle();
    invent(&world.generators, 450, 100);
    // Both calls for new tags are under way; it shares the next one, and then has its segment.
    assert_eq!(world.next("order").unwrap(), 1);
    assert!(world.clock.now() <= SLOW * 3, "{:?}", world.clock.now());
    assert_eq!(*world.store.reads.lock().unwrap(), [1, 449, 101]);
}

/// Guards against work in vain: a name for which no caller waits costs no call.
#[test]
fn names_that_no_caller_waits_for_are_not_looked_up() {
    let mut world = World::with_tag("order", 10, few_calls());
    world.store.set(Mood::Silent, Duration::ZERO);
    for number in 0..2 {
        invent(&world.generators, number, 1);
        world.settle();
    }
    invent(&world.generators, 2, 1000);
    world.advance(seconds(29));
    assert_eq!(world.store.reads.lock().unwrap().len(), 2);
    world.store.set(Mood::Well, Duration::ZERO);
    world.advance(seconds(10));
    // A failed one shows that the store is back.
    assert_eq!(*world.store.reads.lock().unwrap(), [1, 1, 1]);
    assert_eq!(world.generators.loaded_len(), 0);
    assert_eq!(world.next("order").unwrap(), 1);
}

/// Guards that names which were only requested are evicted for tags, even while they are loaded,
/// and that tags with a segment never are.
#[test]
fn unknown_names_are_evicted_for_tags() {
    let mut world = World::with_tag("a", 10, few_calls().with_tags_max(3));
    for name in ["b", "c", "d"] {
        let spec = TagSpec::new(tag(name));
        leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
    }
    assert_eq!(world.next("a").unwrap(), 1);
    for number in 0..20 {
        let error = world.next(&format!("invented-{number}")).unwrap_err();
        assert!(!error.is_retryable(), "{error}");
    }
    assert!(world.next("b").is_ok() && world.next("c").is_ok());
    assert_eq!(world.generators.loaded_len(), 3);
    let Err(IssueError::Transient(transient)) = world.next("d") else {
        panic!("all tags are in use");
    };
    assert!(matches!(transient.reason, TransientReason::TooManyTags(3)));
    assert_eq!(world.next("a").unwrap(), 2);
}

/// Guards that a handle keeps its tag, so that it is not looked up for each id; and that a tag with
/// a segment stays.
#[test]
fn tags_that_are_held_or_used_stay() {
    let mut world = World::with_tag("order", 10, fixed());
    let held = world.generators.generator("order").unwrap();
    world.advance(seconds(60));
    assert_eq!(world.generators.loaded_len(), 1);
    drop(held);
    world.advance(seconds(60));
    assert_eq!(world.generators.loaded_len(), 0);
    assert_eq!(world.next("order").unwrap(), 1);
    world.advance(seconds(600));
    assert_eq!(world.generators.loaded_len(), 1);
    assert_eq!(world.next("order").unwrap(), 2);
}

/// Guards that many new tags at once are created by a program that wants them, each once.
#[test]
fn many_tags_are_created_at_once() {
    let mut world = World::new(few_calls().with_create_missing(Some(TagSettings::default())));
    world.store.set(Mood::Well, Duration::from_millis(1));
    for number in 0..300 {
        assert!(world.generators.try_next(&format!("tag-{number}")).is_err());
    }
    world.advance(seconds(2));
    for number in 0..300 {
        let id = world.generators.try_next(&format!("tag-{number}"));
        assert_eq!(id.unwrap().get(), 1);
    }
    assert_eq!(world.log.count("Created"), 300);
}
