//! Tags that come, go and change while a process has them loaded, in virtual time.

use leafid::store::{
    SegmentStore as _, StoreError, TagField, TagKind, TagPatch, TagSettings, TagSpec,
};
use leafid::{IssueError, Limit, Permanent};

use crate::world::{World, fixed, seconds, tag};

/// Guards that an unknown tag is refused at once, is looked up again after `unknown_for`, and does
/// not use memory forever.
#[test]
fn unknown_tags_are_refused_and_forgotten() {
    let mut world = World::new(fixed());
    for name in ["a", "b", "c"] {
        let error = world.next(name).unwrap_err();
        assert!(
            matches!(error, IssueError::Permanent(Permanent::UnknownTag { .. })),
            "{error:?}"
        );
    }
    assert_eq!(world.store.reads.lock().unwrap().len(), 3);
    assert!(world.next("a").is_err());
    assert_eq!(
        world.store.reads.lock().unwrap().len(),
        3,
        "asked again too soon"
    );
    let held = world.generators.generator("a").unwrap();
    world.advance(seconds(2));
    assert_eq!(world.generators.loaded_len(), 0);
    world
        .run(world.store.clone().create(&TagSpec::new(tag("a"))))
        .unwrap();
    assert_eq!(world.next("a").unwrap(), 1);
    let generators = world.generators.clone();
    assert_eq!(
        held.try_next().unwrap().get(),
        2,
        "an old handle finds the new tag"
    );
    assert!(matches!(
        generators.try_next("\n").unwrap_err(),
        IssueError::Permanent(Permanent::BadTag(_))
    ));
}

/// Guards that with `create_missing` a tag is created on first use, by one of several servers.
#[test]
fn missing_tags_are_created_when_that_is_set() {
    let settings = TagSettings {
        step: 50,
        ..TagSettings::default()
    };
    let mut world = World::new(fixed().with_create_missing(Some(settings)));
    assert_eq!(world.next("new").unwrap(), 1);
    assert_eq!(world.log.count("Created"), 1);
    assert_eq!(world.store.reserves(), [50]);
}

/// Guards that no tag is created with a name that could pass for another; an existing one
/// continues.
#[test]
fn names_with_invisible_characters_are_for_old_tags_only() {
    let mut world = World::new(fixed().with_create_missing(Some(TagSettings::default())));
    let name = "order\u{200b}";
    assert!(matches!(
        world.next(name).unwrap_err(),
        IssueError::Permanent(Permanent::UnknownTag { .. })
    ));
    let (generators, spec) = (world.generators.clone(), TagSpec::new(tag(name)));
    let refused = world.run(async move { generators.create_tag(&spec).await });
    assert!(matches!(refused, Err(StoreError::Unsupported { .. })));
    assert_eq!(world.log.count("Created"), 0);
    let made_by_hand = world.store.clone();
    let spec = TagSpec::new(tag(name));
    world
        .run(async move { made_by_hand.create(&spec).await })
        .unwrap();
    world.advance(seconds(2));
    assert_eq!(world.next(name).unwrap(), 1);
}

/// Guards that a tag deleted elsewhere stops within `refresh_interval`; created again, it continues
/// above.
#[test]
fn a_deleted_tag_stops_and_never_starts_again_below() {
    let mut world = World::with_tag("order", 100, fixed());
    assert_eq!(world.next("order").unwrap(), 1);
    world
        .run(world.store.clone().delete(&tag("order")))
        .unwrap();
    world.advance(seconds(61));
    assert!(matches!(
        world.next("order").unwrap_err(),
        IssueError::Permanent(Permanent::UnknownTag { .. })
    ));
    assert_eq!(world.log.count("Dropped"), 1);
    world
        .run(world.store.clone().create(&TagSpec::new(tag("order"))))
        .unwrap();
    world.store.memory.put_max_id(&tag("order"), 1).unwrap();
    world.advance(seconds(2));
    // The store has recorded the former ids, and did not go back: no margin is skipped.
    assert_eq!(world.next("order").unwrap(), 101);
}

/// Guards that deletion and creation through this process apply at once.
#[test]
fn the_catalog_keeps_loaded_tags_in_step() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    assert_eq!(world.next("order").unwrap(), 1);
    world.run(generators.delete_tag(&tag("order"))).unwrap();
    assert!(world.next("order").unwrap_err().retry_after().is_none());
    world
        .run(generators.create_tag(&TagSpec::new(tag("order"))))
        .unwrap();
    assert_eq!(world.next("order").unwrap(), 101);
    let patch = TagPatch {
        step: Some(7),
        ..TagPatch::default()
    };
    world
        .run(generators.update_tag(&tag("order"), &patch))
        .unwrap();
    assert_eq!(generators.status("order").unwrap().own_step, 7);
}

/// Guards: a program cannot write settings into the store that a tag may not have.
#[test]
fn settings_out_of_bounds_are_refused() {
    let mut world = World::with_tag("order", 100, fixed());
    let generators = world.generators.clone();
    let field = |error: StoreError| match error {
        StoreError::BadField(error) => error.field,
        other => panic!("{other:?}"),
    };
    let mut snowflakes = TagSpec::new(tag("trace"));
    snowflakes.settings.kind = TagKind::Snowflake;
    let mut spec = snowflakes.clone();
    spec.settings.step = 7;
    let refused = world.run(generators.create_tag(&spec));
    assert_eq!(field(refused.unwrap_err()), TagField::Step);
    world.run(generators.create_tag(&snowflakes)).unwrap();
    let step = |step| TagPatch {
        step: Some(step),
        ..TagPatch::default()
    };
    for (name, step) in [("order", step(0)), ("trace", step(7))] {
        let refused = world.run(generators.update_tag(&tag(name), &step));
        assert_eq!(field(refused.unwrap_err()), TagField::Step, "{name}");
    }
    let refused = world.run(generators.raise_tag(&tag("order"), 0));
    assert_eq!(field(refused.unwrap_err()), TagField::Next);
}

/// Guards: settings changed elsewhere are seen within `refresh_interval`, and rows are read only
/// for tags in use, 500 a statement.
#[test]
fn only_tags_in_use_are_read_again() {
    let settings = TagSettings::default();
    let mut world = World::new(fixed().with_create_missing(Some(settings)));
    for number in 0..1200 {
        world.next(&format!("tag-{number}")).unwrap();
    }
    world.advance(seconds(61));
    world.store.reads.lock().unwrap().clear();
    world.advance(seconds(60));
    assert_eq!(
        *world.store.reads.lock().unwrap(),
        [] as [usize; 0],
        "nothing was used"
    );
    for number in 0..1100 {
        world.next(&format!("tag-{number}")).unwrap();
    }
    world.advance(seconds(60));
    assert_eq!(*world.store.reads.lock().unwrap(), [500, 500, 100]);
}

/// Guards the limit on loaded tags of one process.
#[test]
fn too_many_tags_are_refused() {
    let settings = TagSettings::default();
    let options = fixed().with_create_missing(Some(settings)).with_tags_max(2);
    let mut world = World::new(options);
    assert!(world.next("a").is_ok() && world.next("b").is_ok());
    let error = world.next("c").unwrap_err();
    assert!(
        error.is_retryable() && error.to_string().contains("2 tags are loaded"),
        "{error}"
    );
}

/// Guards the forecast: what is left below the limit at the measured rate, and nothing without one.
#[test]
fn headroom_is_told_in_days() {
    let mut world = World::new(fixed());
    let mut spec = TagSpec::new(tag("order"));
    spec.settings.step = 10_000;
    spec.settings.limit = Limit::new(10_000 + 8_640_000).unwrap();
    world.run(world.store.clone().create(&spec)).unwrap();
    let days = |world: &World| {
        let status = world.generators.status("order").unwrap();
        status.headroom_days(status.max_id.unwrap_or(1))
    };
    assert!(world.generators.try_next("order").is_err());
    assert_eq!(days(&world), None, "no rate is known");
    for _ in 0..100 {
        world.next("order").unwrap();
    }
    world.advance(seconds(10));
    // 10 ids a second leave 8,640,000 numbers for 864,000 s.
    let told = days(&world).unwrap();
    assert!((told - 10.0).abs() < 1e-6, "{told}");
    world.advance(seconds(10));
    let told = days(&world).unwrap();
    assert!((told - 20.0).abs() < 1e-6, "half the rate: {told}");
    let status = world.generators.status("order").unwrap();
    let used_up = status.headroom_days(status.limit.largest() + 1);
    assert_eq!(used_up, Some(0.0));
}
