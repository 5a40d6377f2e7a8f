//! A fixed rate, through segment changes, with a store that takes a second for each call, beside
//! nginx at the same rate.

use std::time::Duration;

use hdrhistogram::Histogram;
use leafid_testbed::{LEAF_ALLOC, MariaDb, Proxy};

use crate::contest::{self, Case, Length, Outcome, Slice, as_f64, yes_or_no};
use crate::load::{HttpSpeech, Load, Speech as _};
use crate::median;
use crate::peers::nginx;
use crate::serve::Serve;

use super::Settings;
use super::http::{CONNECTIONS, PATH, constant, ids};

pub(super) const RATE: u32 = 50_000;
const STORE_DELAY: Duration = Duration::from_secs(1);
/// Four seconds of the rate, so that each slice sees a change of segments.
const STEP: u64 = 200_000;
/// Twelve rounds of five seconds: a minute under load for each.
const LENGTH: Length = Length {
    rounds: 12,
    slice: Duration::from_secs(5),
};
const RATIO_MAX: f64 = 1.1;

pub(super) fn run(settings: &Settings) {
    let store = SlowStore::start();
    let leafid = store.serve();
    store.proxy.delay(STORE_DELAY);
    let nginx = nginx();
    let mut to_nginx = Load::connect(nginx.address, CONNECTIONS, constant());
    let mut to_leafid = Load::connect(leafid.address, CONNECTIONS, ids());
    let before = store.max_id();
    let cases = vec![
        at_rate("nginx", nginx.process(), &mut to_nginx),
        at_rate("leafid", leafid.process(), &mut to_leafid),
    ];
    let outcome = contest::run(cases, settings.length(LENGTH.rounds, LENGTH.slice));
    println!("{RATE} requests/s on {CONNECTIONS} connections, waits from when each was due;");
    println!("each reply of the store {STORE_DELAY:?} late, a segment for 4 s of the rate\n");
    print(&outcome);
    let changes = (store.max_id() - before) / STEP;
    let failures = to_leafid.speech().expected().failures();
    println!(
        "\nsegments reserved meanwhile: {changes}; errors: {failures} (must be 0: {}); ids that \
         came twice: {}",
        yes_or_no(failures == 0),
        to_leafid.speech().expected().repeated()
    );
}

/// A server at the rate of this scenario.
pub(super) fn at_rate<'a>(name: &str, process: u32, load: &'a mut Load<HttpSpeech>) -> Case<'a> {
    Case::new(name, process, move |time| load.open(RATE, time))
}

/// All slices together, beside nginx's; and the median of the rounds' ratios.
fn print(outcome: &Outcome) {
    println!(
        "| wait | nginx us | leafid us | beside | median of the rounds | must reach | reached |"
    );
    println!("|{}", " --- |".repeat(7));
    let together = outcome.servers.iter().map(|(_, slices)| merged(slices));
    let together: Vec<_> = together.collect();
    for (name, quantile) in [
        ("p50", 0.5),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
    ] {
        let us = |number: usize| as_f64(together[number].value_at_quantile(quantile)) / 1e3;
        let (nginx, leafid) = (us(0), us(1));
        let (must, reached) = match quantile < 0.9999 {
            true => ("<= 1.1", yes_or_no(leafid <= nginx * RATIO_MAX)),
            false => ("", ""),
        };
        println!(
            "| {name} | {nginx:.1} | {leafid:.1} | {:.2} | {:.2} | {must} | {reached} |",
            leafid / nginx,
            outcome.ratio(1, |slice| slice.wait_us(quantile)),
        );
    }
    let cpu = |number: usize| {
        let slices = &outcome.servers[number].1;
        median(slices.iter().map(Slice::cpu_us).collect())
    };
    println!(
        "| server CPU a request | {:.2} | {:.2} | {:.2} | {:.2} | | |",
        cpu(0),
        cpu(1),
        cpu(1) / cpu(0),
        outcome.ratio(1, Slice::cpu_us),
    );
    outcome.print_noise("open-loop");
}

pub(super) fn merged(slices: &[Slice]) -> Histogram<u64> {
    let mut all = slices[0].tally.waits_ns.clone();
    for slice in &slices[1..] {
        all.add(&slice.tally.waits_ns).expect("the same bounds");
    }
    all
}

/// MariaDB behind a proxy that can hold its replies back.
struct SlowStore {
    database: MariaDb,
    name: String,
    proxy: Proxy,
    /// For the journal of the server.
    folder: tempfile::TempDir,
}

impl SlowStore {
    fn start() -> Self {
        let database = MariaDb::start();
        let name = database.create_database().name;
        database.sql(&name, LEAF_ALLOC);
        let row = format!("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('t', 1, {STEP})");
        database.sql(&name, &row);
        let proxy = Proxy::new(database.port());
        Self {
            database,
            name,
            proxy,
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// The server on this store, while that still answers at once.
    fn serve(&self) -> Serve {
        let url = self.database.url_at(self.proxy.port(), &self.name);
        let serve = Serve::start_pinned(&[
            "--store",
            &url,
            "--policy",
            "fixed",
            "--data-dir",
            self.folder.path().to_str().expect("a plain path"),
        ]);
        serve.first_answer(PATH);
        serve
    }

    fn max_id(&self) -> u64 {
        let text = self
            .database
            .sql(&self.name, "SELECT max_id FROM leaf_alloc");
        text.parse().expect("a number")
    }
}
