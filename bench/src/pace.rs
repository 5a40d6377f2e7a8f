//! Callers at a fixed rate, and how long each waited.

use std::error::Error as _;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use leafid::{Event, Generator, Generators, Observer, Options, StepPolicy};
use leafid_stores::{StoreOptions, StoreUrl};
use leafid_testbed::{LEAF_ALLOC, MariaDb};
use tokio::runtime::Runtime;

/// A tick of the callers: each takes its share of the rate at once.
const TICK: Duration = Duration::from_millis(1);
const CALLERS: u32 = 2;

/// What callers saw in one phase.
pub(crate) struct Phase {
    name: &'static str,
    waits_ns: Histogram<u64>,
    failures: u64,
}

impl Phase {
    pub(crate) fn print_head() {
        println!("| phase | ids | failures | p50 us | p99 us | p99.9 us | p99.99 us | max us |");
        println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    }

    pub(crate) fn print(&self) {
        let waits = &self.waits_ns;
        let microseconds = |nanoseconds: u64| Duration::from_nanos(nanoseconds).as_secs_f64() * 1e6;
        let at = |quantile| microseconds(waits.value_at_quantile(quantile));
        println!(
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
            self.name,
            waits.len(),
            self.failures,
            at(0.5),
            at(0.99),
            at(0.999),
            at(0.9999),
            microseconds(waits.max()),
        );
    }
}

/// Takes `per_second` ids with `next` for so long, from two threads.
pub(crate) fn spend(
    name: &'static str,
    orders: &Generator,
    per_second: u32,
    time: Duration,
) -> Phase {
    let a_tick = per_second / 1000 / CALLERS;
    let phases = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| scope.spawn(|| caller(orders, a_tick, time)))
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().expect("no panic"))
            .collect::<Vec<_>>()
    });
    let mut phase = Phase {
        name,
        waits_ns: histogram(),
        failures: 0,
    };
    for (waits, failures) in phases {
        phase.waits_ns.add(waits).expect("the same bounds");
        phase.failures += failures;
    }
    phase
}

fn caller(orders: &Generator, a_tick: u32, time: Duration) -> (Histogram<u64>, u64) {
    let (mut waits, mut failures) = (histogram(), 0);
    let started = Instant::now();
    let mut due = Duration::ZERO;
    while due < time {
        thread::sleep(due.saturating_sub(started.elapsed()));
        for _ in 0..a_tick {
            let asked = Instant::now();
            failures += u64::from(orders.next_blocking().is_err());
            waits.saturating_record(u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        due += TICK;
    }
    (waits, failures)
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("sound bounds")
}

/// Says on stderr what failed, so that a surprise in a table can be explained.
struct Failures;

impl Observer for Failures {
    fn event(&self, event: &Event<'_>) {
        if let Event::Failed {
            error, failures, ..
        } = event
        {
            let source = error.source().map(ToString::to_string).unwrap_or_default();
            eprintln!("call to the store failed, {failures} in a row: {error}: {source}");
        }
    }
}

/// Generators on a MariaDB table of Leaf's, with the tag `order`, through this port.
pub(crate) fn open(
    database: &MariaDb,
    port: u16,
    policy: StepPolicy,
) -> (Runtime, Generators, Generator) {
    let name = database.create_database().name;
    database.sql(&name, LEAF_ALLOC);
    database.sql(
        &name,
        "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000)",
    );
    let runtime = Runtime::new().expect("a runtime");
    let url: StoreUrl = database
        .url_at(port, &name)
        .parse()
        .expect("the testbed's own URL");
    let store = runtime
        .block_on(leafid_stores::open(&url, &StoreOptions::default()))
        .expect("opening does not connect");
    let (generators, driver) = Generators::open_with(
        store,
        std::sync::Arc::new(leafid::SystemClock::new()),
        std::sync::Arc::new(Failures),
        Options::default().with_policy(policy),
    );
    runtime.spawn(driver);
    let orders = generators.generator("order").expect("a tag");
    (runtime, generators, orders)
}

pub(crate) fn reserves(generators: &Generators) -> u64 {
    generators
        .status("order")
        .map_or(0, |status| status.reserves)
}
