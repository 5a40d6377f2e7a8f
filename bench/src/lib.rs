//! What is measured, shared by the benchmarks.

pub mod snowflakes;

use std::time::Duration;

use leafid::store::{MemoryStore, TagSettings};
use leafid::{Generators, Options, StepPolicy, blocking};

/// Generators over a store in memory, with segments so long that a benchmark never sees the end
/// of one, and `tags` tags loaded, named `tag-0`, `tag-1` and so on.
///
/// # Panics
///
/// When the machine gives no thread.
#[must_use]
pub fn generators(tags: u32) -> Generators {
    let settings = TagSettings {
        step: TagSettings::STEP_MAX,
        ..TagSettings::default()
    };
    let options = Options::default()
        .with_create_missing(Some(settings))
        .with_policy(StepPolicy::Fixed)
        .with_refresh_interval(Duration::from_secs(3600));
    let (generators, driver) = Generators::open(MemoryStore::new(), options);
    let _detached = blocking::spawn(driver).expect("a thread for the driver");
    for tag in 0..tags {
        generators
            .next_blocking(&format!("tag-{tag}"))
            .expect("a store in memory answers");
    }
    generators
}
