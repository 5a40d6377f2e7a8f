//! Measures `Generators` in this process: a closed loop on each thread.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use leafid::blocking::block_on;
use leafid::store::{MemoryStore, SegmentStore, TagSettings};
use leafid::{Clock, Generator, Generators, Options, SystemClock};

use super::{Bench, Measured, Report, WARM_UP};
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
    let (store, place): (Arc<dyn SegmentStore>, String) = if bench.store.0.name_a_store() {
        let config = bench.store.0.load_store()?.config;
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
    measure(bench, &generator, &clock, WARM_UP)?;
    let before = clock.now();
    let all = measure(bench, &generator, &clock, bench.duration())?;
    Ok(Report {
        place: format!("in process, {place}"),
        loop_kind: "closed",
        callers: bench.callers,
        count: bench.count,
        took: clock.now().saturating_sub(before),
        all,
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
    let mut all = Measured::new()?;
    let each: Vec<Outcome<Measured>> = thread::scope(|scope| {
        let callers = (0..bench.callers).map(|_| {
            let (generator, clock) = (generator.clone(), clock.clone());
            scope.spawn(move || match bench.count {
                1 => call_singly(&generator, &clock, until),
                count => call_many(&generator, &clock, until, count),
            })
        });
        let callers: Vec<_> = callers.collect();
        let joined = callers.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|joined| joined.unwrap_or_else(|_| Measured::new()))
            .collect()
    });
    for measured in each {
        all.add(&measured?)?;
    }
    Ok(all)
}

fn call_singly(generator: &Generator, clock: &SystemClock, until: Duration) -> Outcome<Measured> {
    let mut measured = Measured::new()?;
    loop {
        for _ in 1..CALLS_PER_TIMING {
            let is_issued = generator.next_blocking().is_ok();
            measured.calls += u64::from(is_issued);
            measured.failures += u64::from(!is_issued);
        }
        let before = clock.now();
        if before >= until {
            return Ok(measured);
        }
        let is_issued = generator.next_blocking().is_ok();
        measured.record(clock.now().saturating_sub(before));
        measured.calls += u64::from(is_issued);
        measured.failures += u64::from(!is_issued);
    }
}

fn call_many(
    generator: &Generator,
    clock: &SystemClock,
    until: Duration,
    count: u64,
) -> Outcome<Measured> {
    let mut measured = Measured::new()?;
    loop {
        let before = clock.now();
        if before >= until {
            return Ok(measured);
        }
        let is_issued = block_on(generator.next_many(count)).is_ok();
        measured.record(clock.now().saturating_sub(before));
        measured.calls += u64::from(is_issued);
        measured.failures += u64::from(!is_issued);
    }
}
