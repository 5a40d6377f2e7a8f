//! Tags of kind snowflake: they have no segments, whatever happens to their row.

use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::{SegmentStore as _, StoreError, TagKind, TagSettings, TagSpec};
use leafid::{Formatted, IssueError, Options, OtherKind, Permanent, Stage, Tag};

use crate::world::{Mood, World};

fn spec(kind: TagKind) -> TagSpec {
    let mut spec = TagSpec::new(Tag::new("trace").unwrap());
    spec.settings.kind = kind;
    spec
}

fn with_snowflake_tag() -> World {
    let world = World::new(Options::default());
    block_on(world.store.memory.create(&spec(TagKind::Snowflake))).unwrap();
    world
}

#[track_caller]
fn check_no_segments(world: &mut World) {
    let error = world.next("trace").unwrap_err();
    let is_refused = matches!(error, IssueError::Permanent(Permanent::NoSegments { .. }));
    assert!(is_refused, "{error:?}");
    assert!(error.to_string().contains("issues snowflake ids"));
}

/// Deletes the tag and creates it again: as another server would, or as a segment tag by hand,
/// because no store does that.
fn swap(world: &World, kind: TagKind) {
    let (memory, tag) = (&world.store.memory, Tag::new("trace").unwrap());
    block_on(memory.delete(&tag)).unwrap();
    match kind {
        TagKind::Segment => memory.put_row(&tag, 1),
        TagKind::Snowflake | TagKind::Family(_) => {
            drop(block_on(memory.create(&spec(kind))).unwrap());
        }
    }
}

/// Guards that no call reserves anything for a snowflake tag.
#[test]
fn a_snowflake_tag_never_reserves() {
    let mut world = with_snowflake_tag();
    check_no_segments(&mut world);
    let generators = world.generators.clone();
    let many = world.run(generators.next_many("trace", 5000)).unwrap_err();
    let range = world.run(generators.take("trace", 5)).unwrap_err();
    for error in [many, range] {
        let is_refused = matches!(error, IssueError::Permanent(Permanent::NoSegments { .. }));
        assert!(is_refused, "{error:?}");
    }
    let past_memory = block_on(generators.reserve(&Tag::new("trace").unwrap(), 5)).unwrap_err();
    assert!(matches!(past_memory, StoreError::Unsupported { .. }));
    world.advance(Duration::from_secs(600));
    assert!(world.store.reserves().is_empty());
    let stage = generators.status("trace").unwrap().stage;
    assert_eq!(stage, Stage::OtherKind);
}

/// Guards that a store that is down does not hide the kind: snowflake ids need no store.
#[test]
fn the_kind_is_known_while_the_store_is_down() {
    let mut world = with_snowflake_tag();
    check_no_segments(&mut world);
    world.store.set(Mood::Down, Duration::ZERO);
    for _ in 0..20 {
        world.advance(Duration::from_secs(60));
        check_no_segments(&mut world);
    }
}

/// Guards that the row is read occasionally and not once for each id.
#[test]
fn the_row_is_read_at_the_refresh_interval() {
    let mut world = with_snowflake_tag();
    for _ in 0..100 {
        check_no_segments(&mut world);
    }
    assert_eq!(world.store.reads.lock().unwrap().len(), 1);
}

#[track_caller]
fn check_no_segments_again(world: &mut World) {
    let error = world.next("trace").unwrap_err();
    let is_refused = matches!(error, IssueError::Permanent(Permanent::BadRow { .. }));
    assert!(is_refused, "{error:?}");
    assert!(
        error.to_string().contains("restart this process"),
        "{error}"
    );
}

/// Guards that a process which knew a snowflake tag issues no segments under its name, although the
/// store says so: it went back, or someone changed the kind by hand. The process remembers it
/// longer than the names of tags that never were.
#[test]
fn a_segment_tag_in_its_place_is_refused() {
    let mut world = with_snowflake_tag();
    check_no_segments(&mut world);
    swap(&world, TagKind::Segment);
    check_no_segments(&mut world);
    for _ in 0..3 {
        world.advance(Options::default().refresh_interval * 2);
        check_no_segments_again(&mut world);
    }
    assert!(world.store.reserves().is_empty());
    block_on(world.store.memory.delete(&Tag::new("trace").unwrap())).unwrap();
    world.advance(Duration::from_secs(3600));
    world.next("trace").unwrap_err();
    world.store.memory.put_row(&Tag::new("trace").unwrap(), 1);
    world.advance(Duration::from_secs(3600));
    check_no_segments_again(&mut world);
}

/// Guards that what memory holds of a segment tag is not issued once the tag is a snowflake tag.
#[test]
fn a_snowflake_tag_in_its_place_is_seen() {
    let mut world = World::with_tag("trace", 100, Options::default());
    assert_eq!(world.next("trace").unwrap(), 1);
    swap(&world, TagKind::Snowflake);
    world.advance(Options::default().refresh_interval * 2);
    check_no_segments(&mut world);
    swap(&world, TagKind::Segment);
    world.advance(Options::default().refresh_interval * 2);
    check_no_segments_again(&mut world);
}

/// Guards that a tag replaced through this very process has its new kind at once, and that its
/// segment ids cannot come again: not as snowflake ids, and not as those of a later segment tag.
#[test]
fn a_swap_here_is_seen_at_once() {
    let mut world = World::with_tag("trace", 100, Options::default());
    assert_eq!(world.next("trace").unwrap(), 1);
    let (generators, tag) = (world.generators.clone(), Tag::new("trace").unwrap());
    let max_id = block_on(generators.read_tag(&tag)).unwrap().unwrap().max_id;
    block_on(generators.delete_tag(&tag)).unwrap();
    block_on(generators.create_tag(&spec(TagKind::Snowflake))).unwrap();
    check_no_segments(&mut world);
    let error = world.next("trace").unwrap_err();
    let IssueError::Permanent(Permanent::NoSegments { min_id, .. }) = error else {
        panic!("{error:?}");
    };
    assert!(min_id == max_id && max_id > 100, "{min_id}, {max_id}");
    block_on(generators.delete_tag(&tag)).unwrap();
    let refused = block_on(generators.create_tag(&spec(TagKind::Segment))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a deleted tag of this name had the kind snowflake, and its ids could repeat: choose \
        another name, or create it with that kind"
    );
}

/// Guards that a process keeps what it knows of its segments when the store has forgotten it.
#[test]
fn a_forgotten_segment_is_not_issued_as_snowflakes() {
    let mut world = World::with_tag("trace", 100, Options::default());
    assert_eq!(world.next("trace").unwrap(), 1);
    let tag = Tag::new("trace").unwrap();
    world.store.memory.put_max_id(&tag, 1).unwrap();
    swap(&world, TagKind::Snowflake);
    world.advance(Options::default().refresh_interval * 2);
    let error = world.next("trace").unwrap_err();
    let IssueError::Permanent(Permanent::NoSegments { min_id, .. }) = error else {
        panic!("{error:?}");
    };
    assert!(min_id > 100, "{min_id}");
}

/// Guards that a server that still takes the tag for a segment tag reserves nothing once it is a
/// snowflake tag, and drops what it has in memory.
#[test]
fn a_stale_server_reserves_nothing() {
    let mut world = World::with_tag("trace", 100, Options::default());
    for id in 1..=100 {
        assert_eq!(world.next("trace").unwrap(), id);
    }
    swap(&world, TagKind::Snowflake);
    let left = (0..100_000)
        .take_while(|_| world.next("trace").is_ok())
        .count();
    let record = block_on(world.store.memory.list(None, 1))
        .unwrap()
        .remove(0);
    assert!(101 + left as u64 <= record.max_id, "{left}, {record:?}");
    world.advance(Options::default().unknown_for * 2);
    check_no_segments(&mut world);
}

/// Guards that a server that notices the new kind by a refused reservation does not answer meanwhile
/// that there is no such tag.
#[test]
fn a_new_kind_is_never_an_unknown_tag() {
    let mut world = World::with_tag("trace", 100, Options::default());
    assert_eq!(world.next("trace").unwrap(), 1);
    swap(&world, TagKind::Snowflake);
    let error = (0..100_000).find_map(|_| world.next("trace").err());
    let error = error.unwrap();
    let is_refused = matches!(error, IssueError::Permanent(Permanent::NoSegments { .. }));
    assert!(is_refused, "{error:?}");
}

/// Guards that tags created on first use may be of this kind too.
#[test]
fn a_snowflake_tag_is_created_on_first_use() {
    let created = TagSettings {
        kind: TagKind::Snowflake,
        ..TagSettings::default()
    };
    let mut world = World::new(Options::default().with_create_missing(Some(created)));
    check_no_segments(&mut world);
    assert!(world.store.reserves().is_empty());
}

/// The answer of the calls that front ends make.
#[track_caller]
fn answered(world: &World) -> OtherKind {
    match world
        .generators
        .try_next_formatted("trace", |_| Ok(()))
        .unwrap()
    {
        Formatted::OtherKind(other) => other,
        Formatted::Numbers { ids, .. } => panic!("the number {ids}"),
        Formatted::Refused(error) => panic!("{error}"),
    }
}

/// Guards that a caller who asks in the way of the front ends, without the allocator's lock, learns
/// the same, and that its asking keeps the row in sight: a tag deleted elsewhere is given up.
#[test]
fn the_way_without_the_lock_ends_with_the_row() {
    let mut world = with_snowflake_tag();
    check_no_segments(&mut world);
    let refresh = Options::default().refresh_interval;
    for _ in 0..5 {
        world.advance(refresh * 2);
        assert_eq!(
            (answered(&world).kind, answered(&world).min_id),
            (TagKind::Snowflake, 1)
        );
    }
    let reads = world.store.reads.lock().unwrap().len();
    assert!((5..=7).contains(&reads), "{reads}");
    block_on(world.store.memory.delete(&Tag::new("trace").unwrap())).unwrap();
    answered(&world);
    world.advance(refresh * 2);
    assert!(
        world
            .generators
            .try_next_formatted("trace", |_| Ok(()))
            .is_err()
    );
    let error = world.next("trace").unwrap_err();
    let is_unknown = matches!(error, IssueError::Permanent(Permanent::UnknownTag { .. }));
    assert!(is_unknown, "{error:?}");
    assert!(world.generators.other_kind("trace").is_none());
}

/// Guards that the way without the lock is closed by whatever closes the other: a deletion and a
/// change of the kind through this process, and a row that says otherwise.
#[test]
fn the_way_without_the_lock_is_closed_at_once() {
    let mut world = with_snowflake_tag();
    check_no_segments(&mut world);
    answered(&world);
    let (generators, tag) = (world.generators.clone(), Tag::new("trace").unwrap());
    block_on(generators.delete_tag(&tag)).unwrap();
    assert!(generators.try_next_formatted("trace", |_| Ok(())).is_err());
    block_on(generators.create_tag(&spec(TagKind::Snowflake))).unwrap();
    assert!(
        generators
            .try_next_formatted("trace", |_| Ok(()))
            .unwrap_err()
            .is_retryable()
    );
    world.settle();
    answered(&world);
    swap(&world, TagKind::Segment);
    world.advance(Options::default().refresh_interval * 2);
    check_no_segments_again(&mut world);
    for _ in 0..3 {
        let error = generators
            .try_next_formatted("trace", |_| Ok(()))
            .unwrap_err();
        let is_refused = matches!(error, IssueError::Permanent(Permanent::BadRow { .. }));
        assert!(is_refused, "{error:?}");
    }
}

/// Guards the smallest id that a snowflake tag may have, also where no error says it.
#[test]
fn the_way_without_the_lock_says_where_segments_ended() {
    let mut world = World::with_tag("trace", 100, Options::default());
    assert_eq!(world.next("trace").unwrap(), 1);
    swap(&world, TagKind::Snowflake);
    world.advance(Options::default().refresh_interval * 2);
    assert!(answered(&world).min_id > 100, "{:?}", answered(&world));
}
