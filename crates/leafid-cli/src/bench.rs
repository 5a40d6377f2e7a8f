//! `leafid bench`: measures throughput in ids per second, and the latency of a call.

mod in_process;
mod over_http;

use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use leafid::{Clock, SystemClock, Tag};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::flags::StoreFlags;
use crate::output;
use crate::target::CallFlags;

/// Measure ids per second and the latency of a call.
///
/// In process, ids come from a store in memory, or from the named store. With --server they come
/// over HTTP; this client is then often slower than the server. Without --rate, callers call again
/// as soon as they have an answer (a closed loop). With --rate they call on time, whether or not
/// earlier calls are answered, and latency counts from when a call was due (an open loop). Ids that
/// are taken cannot be used again, so choose a tag for the benchmark alone.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid bench                                     in process, on a store in memory
  leafid bench --callers 2 --count 1000
  leafid bench --server http://127.0.0.1:8080 --callers 8
  leafid bench --server http://127.0.0.1:8080 --rate 5000 --seconds 10")]
pub(crate) struct Bench {
    /// Measure a running server instead.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    call: CallFlags,
    /// The tag.
    #[arg(long, default_value = "leafid-bench")]
    tag: Tag,
    /// For how long, after a second of warm-up.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// The number of concurrent callers: threads, or connections.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    callers: u16,
    /// The number of ids in a call.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    count: u64,
    /// Calls per second by all callers together, in an open loop; needs --server.
    #[arg(long, value_name = "COUNT", requires = "server")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreFlags,
}

const WARM_UP: Duration = Duration::from_secs(1);

/// What one caller, or all of them, measured.
struct Measured {
    calls: u64,
    failures: u64,
    /// Times of calls, in nanoseconds.
    times: Histogram<u64>,
}

impl Measured {
    fn new() -> Outcome<Self> {
        let times = Histogram::new_with_bounds(1, 600_000_000_000, 3);
        Ok(Self {
            calls: 0,
            failures: 0,
            times: times.map_err(not_counted)?,
        })
    }

    fn count(&mut self, is_issued: bool) {
        self.calls += u64::from(is_issued);
        self.failures += u64::from(!is_issued);
    }

    /// Makes a call, and records how long it took since then.
    fn time(&mut self, clock: &SystemClock, since: Duration, call: impl FnOnce() -> bool) {
        let is_issued = call();
        let took = clock.now().saturating_sub(since);
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.times.saturating_record(ns.max(1));
        self.count(is_issued);
    }

    fn add(&mut self, other: &Self) -> Outcome {
        self.calls += other.calls;
        self.failures += other.failures;
        self.times.add(&other.times).map_err(not_counted)
    }
}

fn not_counted(error: impl std::fmt::Display) -> Failure {
    Failure::new(
        format!("cannot count the calls: {error}"),
        "free some memory",
    )
}

/// The heading of a measurement.
struct Report {
    place: String,
    loop_kind: &'static str,
    callers: u16,
    count: u64,
    took: Duration,
    all: Measured,
}

impl Bench {
    pub(crate) fn run(self) -> Outcome {
        if self.server.is_some() && self.store.name_a_store() {
            let next = "leave out --server, or --store and --data-dir";
            return Err(Failure::usage("both a server and a store are named", next));
        }
        let report = match &self.server {
            Some(server) => over_http::run(&self, server)?,
            None => in_process::run(&self)?,
        };
        if self.json {
            return output::json(&report.as_json());
        }
        output::print(&report.as_text())
    }

    /// Warms up, then measures.
    fn report(
        &self,
        place: String,
        clock: &SystemClock,
        measure: impl Fn(Duration) -> Outcome<Measured>,
    ) -> Outcome<Report> {
        measure(WARM_UP)?;
        let before = clock.now();
        let all = measure(Duration::from_secs(self.seconds))?;
        Ok(Report {
            place,
            loop_kind: self.rate.map_or("closed", |_| "open"),
            callers: self.callers,
            count: self.count,
            took: clock.now().saturating_sub(before),
            all,
        })
    }
}

/// Runs each caller on a thread of its own, and sums up what they measured.
fn run_callers<C>(callers: impl Iterator<Item = C>) -> Outcome<Measured>
where
    C: FnOnce() -> Outcome<Measured> + Send,
{
    let each: Vec<Outcome<Measured>> = thread::scope(|scope| {
        let threads: Vec<_> = callers.map(|caller| scope.spawn(caller)).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|joined| joined.unwrap_or_else(|_| Measured::new()))
            .collect()
    });
    let mut all = Measured::new()?;
    for measured in each {
        all.add(&measured?)?;
    }
    Ok(all)
}

/// Calls again and again, and times each call that follows `untimed` others.
fn call_until(
    until: Duration,
    clock: &SystemClock,
    untimed: u64,
    call: impl Fn() -> bool,
) -> Outcome<Measured> {
    let mut measured = Measured::new()?;
    loop {
        for _ in 0..untimed {
            measured.count(call());
        }
        let now = clock.now();
        if now >= until {
            return Ok(measured);
        }
        measured.time(clock, now, &call);
    }
}

const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("max", 1.0),
];

impl Report {
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
    fn per_second(&self, number: u64) -> f64 {
        number as f64 / self.took.as_secs_f64()
    }

    fn ids(&self) -> u64 {
        self.all.calls * self.count
    }

    fn as_json(&self) -> Value {
        let times = QUANTILES.iter().map(|(name, quantile)| {
            let ns = self.all.times.value_at_quantile(*quantile);
            ((*name).to_owned(), Value::from(ns))
        });
        json!({
            "place": self.place,
            "loop": self.loop_kind,
            "callers": self.callers,
            "ids_per_call": self.count,
            "seconds": self.took.as_secs_f64(),
            "calls": self.all.calls,
            "failures": self.all.failures,
            "ids_per_second": self.per_second(self.ids()),
            "call_ns": times.collect::<serde_json::Map<_, _>>(),
        })
    }

    fn as_text(&self) -> String {
        let times = QUANTILES.iter().map(|(name, quantile)| {
            format!(
                "{name} {}",
                time_text(self.all.times.value_at_quantile(*quantile))
            )
        });
        let times: Vec<String> = times.collect();
        format!(
            "{}; {} loop; callers: {}, ids a call: {}; {:.1} s\n\
             ids/s     {:.0}\ncalls/s   {:.0}\nfailures  {}\na call    {}\n",
            self.place,
            self.loop_kind,
            self.callers,
            self.count,
            self.took.as_secs_f64(),
            self.per_second(self.ids()),
            self.per_second(self.all.calls),
            self.all.failures,
            times.join(", "),
        )
    }
}

fn time_text(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{} us", ns / 1000),
        _ => format!("{} ms", ns / 1_000_000),
    }
}
