//! Issuing in process, beside a bare `fetch_add`: alternating rounds in one run, medians, ratios.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use leafid::store::{TagKind, TagSpec};
use leafid::{Formatted, Generator, Tag, blocking};

use crate::rounds::{Rounds, case};

const ROUNDS: Rounds = Rounds {
    rounds: 21,
    ids: 2_000_000,
    warm_up: Duration::ZERO,
};
const TAGS: u32 = 1000;

pub(crate) fn run() {
    let generators = leafid_bench::generators(TAGS);
    let mut spec = TagSpec::new(Tag::new("trace").expect("a tag"));
    spec.settings.kind = TagKind::Snowflake;
    blocking::block_on(generators.create_tag(&spec)).expect("a store in memory");
    let other = blocking::block_on(generators.next_formatted("trace", |_| Ok(())));
    assert!(matches!(other, Ok(Formatted::OtherKind(_))), "{other:?}");
    let bare: &'static CachePadded<AtomicU64> = Box::leak(Box::default());
    let held: &'static Generator =
        Box::leak(Box::new(generators.generator("tag-7").expect("a tag")));
    let generators: &'static leafid::Generators = Box::leak(Box::new(generators));
    let names: &'static Vec<String> = Box::leak(Box::new(
        (0..TAGS).map(|tag| format!("tag-{tag}")).collect(),
    ));
    let cases = vec![
        case("bare fetch_add", move |count| {
            for _ in 0..count {
                black_box(bare.fetch_add(1, Ordering::Relaxed));
            }
        }),
        case("try_next, handle held", move |count| {
            for _ in 0..count {
                black_box(held.try_next().expect("the segment is long"));
            }
        }),
        case("next_blocking, handle held", move |count| {
            for _ in 0..count {
                black_box(held.next_blocking().expect("the segment is long"));
            }
        }),
        case("try_next, by name, 8 of 1000 tags", move |count| {
            let mut at = 0;
            for _ in 0..count {
                at = (at + 7) % names.len();
                black_box(
                    generators
                        .try_next(&names[at])
                        .expect("the segment is long"),
                );
            }
        }),
        case("try_next_formatted, by name, 1 tag", move |count| {
            for _ in 0..count {
                black_box(
                    generators
                        .try_next_formatted(black_box("tag-7"), |_| Ok(()))
                        .is_ok(),
                );
            }
        }),
        case("the same, a tag without segments", move |count| {
            for _ in 0..count {
                black_box(
                    generators
                        .try_next_formatted(black_box("trace"), |_| Ok(()))
                        .is_ok(),
                );
            }
        }),
        case("try_next_many(1000)", move |count| {
            for _ in 0..count / 1000 {
                for id in held.try_next_many(1000).expect("the segment is long").ids() {
                    black_box(id);
                }
            }
        }),
        case("block of 1024", move |count| {
            let mut block = held.block(1024);
            for _ in 0..count {
                black_box(block.next_blocking().expect("the segment is long"));
            }
        }),
    ];
    for threads in [1, 2] {
        ROUNDS.print(&cases, threads);
    }
}
