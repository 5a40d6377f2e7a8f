//! Measures `Generators` in this process: a closed loop on each thread.

use std::sync::Arc;
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::{MemoryStore, SegmentStore, TagSettings};
use leafid::{Clock, Generator, Generators, Options, SystemClock};

use super::{Bench, Measured, Report, call_until, run_callers};
use crate::failure::{Failure, Outcome};
use crate::source;

/// Reading the clock takes longer than taking an id, so only a sample of the calls is timed.
const CALLS_PER_TIMING: u64 = 64;

pub(super) fn run(bench: &Bench) -> Outcome<Report> {
    leafid_server::warm_up();
    // Stores wait on this runtime; it also runs the driver.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(error, "raise the limit on processes"))?;
    let (store, place): (Arc<dyn SegmentStore>, String) = if bench.store.name_a_store() {
        let config = bench.store.load_store()?.config;
        let url = source::url(&config)?;
        (runtime.block_on(source::open(&config))?, url.to_string())
    } else {
        (Arc::new(MemoryStore::new()), "a store in memory".to_owned())
    };
    let clock = Arc::new(SystemClock::new());
    let options = Options::default().with_create_missing(Some(TagSettings::default()));
    let (generators, driver) = Generators::open_with(
        store,
        Arc::<SystemClock>::clone(&clock),
        Arc::new(()),
        options,
    );
    runtime.spawn(driver);
    let generator = generators.generator(bench.tag.as_str())?;
    generator.next_blocking()?;
    bench.report(format!("in process, {place}"), &clock, |duration| {
        measure(bench, &generator, &clock, duration)
    })
}

/// Lets all callers run for that long.
fn measure(
    bench: &Bench,
    generator: &Generator,
    clock: &SystemClock,
    duration: Duration,
) -> Outcome<Measured> {
    let until = clock.now() + duration;
    run_callers((0..bench.callers).map(|_| {
        let (generator, clock) = (generator.clone(), clock.clone());
        move || match bench.count {
            1 => call_until(until, &clock, CALLS_PER_TIMING - 1, || {
                generator.next_blocking().is_ok()
            }),
            count => call_until(until, &clock, 0, || {
                block_on(generator.next_many(count)).is_ok()
            }),
        }
    }))
}
