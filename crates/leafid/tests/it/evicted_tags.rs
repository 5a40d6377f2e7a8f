//! Tags that were used and whose rows are gone, in virtual time: they leave memory, and none of
//! their numbers comes twice.

use std::sync::Arc;

use leafid::format::{CompileFormat, FormatCompiler, FormatContext, FormatError, IdFormat, Period};
use leafid::store::{SegmentStore as _, StoreError, TagSpec};
use leafid::{Options, Tag};

use crate::world::{World, fixed, seconds, tag};

/// Longer than an idle tag waits for a look.
const A_WHILE: u64 = 2 * 3600;

fn few() -> Options {
    fixed().with_tags_max(3)
}

fn create(world: &World, name: &str, step: u32) {
    let mut spec = TagSpec::new(tag(name));
    spec.settings.step = step;
    leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
}

/// Deletes the row past these generators, as another server does.
fn delete(world: &World, name: &str) {
    leafid::blocking::block_on(world.store.memory.delete(&tag(name))).unwrap();
}

/// Guards that tags which others delete do not fill `tags_max` in time, as the periods of a calendar
/// counter do; and that tags with rows stay, idle or not.
#[test]
fn tags_whose_rows_are_gone_leave_room_for_others() {
    let mut world = World::with_tag("order", 10, few());
    assert_eq!(world.next("order").unwrap(), 1);
    for hour in 0..20 {
        let name = format!("invoice@{hour}");
        create(&world, &name, 10);
        assert_eq!(world.next(&name).unwrap(), 1, "{name}");
        delete(&world, &name);
        world.advance(seconds(A_WHILE));
    }
    assert_eq!(world.generators.loaded_len(), 1);
    assert_eq!(world.generators.used_len(), 1);
    assert_eq!(world.next("order").unwrap(), 2);
}

/// Guards the floor of a tag that left memory: its row comes back lower than it was, because the
/// store went back before it was deleted.
#[test]
fn a_tag_that_comes_back_lower_repeats_nothing() {
    let mut world = World::with_tag("invoice@1", 10, few());
    for number in 1..=25 {
        assert_eq!(world.next("invoice@1").unwrap(), number);
    }
    world.store.memory.put_max_id(&tag("invoice@1"), 1).unwrap();
    delete(&world, "invoice@1");
    world.advance(seconds(A_WHILE));
    assert_eq!(world.generators.loaded_len(), 0);
    create(&world, "invoice@1", 10);
    assert!(world.next("invoice@1").unwrap() > 30);
    assert_eq!(world.log.count("Regressed"), 1);
}

/// Guards that reservations past memory know the floor of a tag that left it.
#[test]
fn a_reservation_past_memory_knows_the_floor_of_an_evicted_tag() {
    let mut world = World::with_tag("invoice@1", 10, few());
    assert_eq!(world.next("invoice@1").unwrap(), 1);
    world.store.memory.put_max_id(&tag("invoice@1"), 1).unwrap();
    delete(&world, "invoice@1");
    world.advance(seconds(A_WHILE));
    assert_eq!(world.generators.loaded_len(), 0);
    create(&world, "invoice@1", 10);
    let (generators, name) = (world.generators.clone(), tag("invoice@1"));
    let segment = world.run(async move { generators.reserve(&name, 1).await });
    assert!(segment.unwrap().start() > 10);
}

/// Guards that a handle keeps its tag, and that a tag whose row returns while it is loaded goes on.
#[test]
fn a_tag_that_is_held_stays() {
    let mut world = World::with_tag("invoice@1", 10, few());
    let held = world.generators.generator("invoice@1").unwrap();
    assert_eq!(world.next("invoice@1").unwrap(), 1);
    delete(&world, "invoice@1");
    world.advance(seconds(A_WHILE));
    assert_eq!(world.generators.loaded_len(), 1);
    create(&world, "invoice@1", 10);
    assert_eq!(world.next("invoice@1").unwrap(), 11);
    drop(held);
}

/// Guards that idle tags cost a statement an hour, some hundred in one.
#[test]
fn idle_tags_are_read_together() {
    let mut world = World::new(fixed());
    for number in 0..100 {
        let name = format!("tag-{number}");
        create(&world, &name, 10);
        assert_eq!(world.next(&name).unwrap(), 1);
    }
    world.advance(seconds(600));
    world.store.reads.lock().unwrap().clear();
    world.advance(seconds(3600));
    let reads = world.store.reads.lock().unwrap().clone();
    assert_eq!(reads.iter().sum::<usize>(), 100, "{reads:?}");
    assert!(reads.len() <= 2, "{reads:?}");
}

/// A calendar counter whose periods have 999 numbers.
#[derive(Debug)]
struct Yearly;

impl IdFormat for Yearly {
    fn write(&self, _: u64, _: &FormatContext, _: &mut String) -> Result<(), FormatError> {
        Ok(())
    }

    fn read(&self, text: &str) -> Result<u64, FormatError> {
        Err(FormatError::NotOfFormat(text.to_owned()))
    }

    fn largest(&self) -> u64 {
        999
    }

    fn period(&self, _: u64) -> Option<Period> {
        let (label, first, last) = (2001, 1, 999);
        Some(Period { label, first, last })
    }
}

impl CompileFormat for Yearly {
    fn compile(&self, _: &Tag, _: &str) -> Result<Arc<dyn IdFormat>, FormatError> {
        Ok(Arc::new(Self))
    }
}

/// Guards that a period whose row is gone is not begun below what this process knows to be issued:
/// it would go on above that, whatever the answer said.
#[test]
fn a_period_is_not_begun_below_its_floor() {
    let compiler = FormatCompiler::new(Yearly);
    let mut world = World::new(few().with_formats(Some(compiler)));
    let mut spec = TagSpec::new(tag("invoice"));
    spec.format = Some("yearly".into());
    leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
    create(&world, "invoice@2026", 10);
    for number in 1..=25 {
        assert_eq!(world.next("invoice@2026").unwrap(), number);
    }
    // Nothing in the store knows that it went further.
    world
        .store
        .memory
        .put_max_id(&tag("invoice@2026"), 1)
        .unwrap();
    delete(&world, "invoice@2026");
    world.advance(seconds(A_WHILE));
    assert_eq!(world.generators.loaded_len(), 0);
    let generators = world.generators.clone();
    for behind in [5, 30] {
        let period = tag("invoice@2026");
        let raised = world.run(generators.raise_tag(&period, behind));
        match raised.unwrap_err() {
            StoreError::NextBehind { max_id, .. } => assert!(max_id > behind, "{max_id}"),
            other => panic!("{other}"),
        }
    }
    let row = world
        .run(generators.read_tag(&tag("invoice@2026")))
        .unwrap();
    assert_eq!(row, None);
    let begun = world
        .run(generators.raise_tag(&tag("invoice@2026"), 500))
        .unwrap();
    assert_eq!(
        (begun.max_id, world.next("invoice@2026").unwrap()),
        (500, 500)
    );
}

/// Guards the same for a period that only the store remembers: what was named was not taken.
#[test]
fn a_period_is_not_begun_below_what_the_store_remembers() {
    let compiler = FormatCompiler::new(Yearly);
    let mut world = World::new(few().with_formats(Some(compiler)));
    let mut spec = TagSpec::new(tag("invoice"));
    spec.format = Some("yearly".into());
    leafid::blocking::block_on(world.store.memory.create(&spec)).unwrap();
    let period = tag("invoice@2026");
    create(&world, period.as_str(), 10);
    world.store.memory.put_max_id(&period, 50).unwrap();
    delete(&world, period.as_str());
    let generators = world.generators.clone();
    let refused = world.run(generators.raise_tag(&period, 1001));
    assert!(
        matches!(refused, Err(StoreError::NextBeyond { .. })),
        "{refused:?}"
    );
    for _ in 0..2 {
        let refused = world.run(generators.raise_tag(&period, 3)).unwrap_err();
        assert!(refused.to_string().contains("starts at 50"), "{refused}");
    }
    assert_eq!(
        world.run(generators.raise_tag(&period, 60)).unwrap().max_id,
        60
    );
}
