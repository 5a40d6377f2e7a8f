//! `GET /api/segment/get/t` at the rates of real life, beside nginx that answers a number: how long
//! a request waits from when it was due, and what it costs the server, while both are mostly idle.

use std::time::Duration;

use crate::contest::{self, Case, Outcome, Slice, as_f64, yes_or_no};
use crate::load::{Load, Speech as _};
use crate::median;
use crate::peers::nginx;

use super::Settings;
use super::http::{CONNECTIONS, Leafid, constant, ids};
use super::open_loop::merged;

/// Requests a second, and how much more CPU a request may cost than nginx's.
const RATES: [(u32, f64); 3] = [(2_000, 1.1), (10_000, 1.05), (25_000, 1.05)];
const WAIT_RATIO_MAX: f64 = 1.05;

pub(super) fn run(settings: &Settings) {
    let (nginx, leafid) = (nginx(), Leafid::start(&[]));
    let length = settings.length(15, Duration::from_secs(2));
    println!("{CONNECTIONS} connections, waits from when each request was due\n");
    println!("| requests/s | | nginx | leafid | median of the rounds | must reach | reached |");
    println!("|{}", " --- |".repeat(7));
    for (rate, cpu_max) in RATES {
        let mut to_nginx = Load::connect(nginx.address, CONNECTIONS, constant());
        let mut to_leafid = Load::connect(leafid.serve.address, CONNECTIONS, ids());
        let cases = vec![
            Case::new("nginx", nginx.process(), |time| to_nginx.open(rate, time)),
            Case::new("leafid", leafid.serve.process(), |time| {
                to_leafid.open(rate, time)
            }),
        ];
        print(rate, cpu_max, &contest::run(cases, length));
        assert_eq!(to_nginx.speech().expected().failures(), 0, "nginx failed");
        assert_eq!(to_leafid.speech().expected().failures(), 0, "leafid failed");
    }
}

fn print(rate: u32, cpu_max: f64, outcome: &Outcome) {
    let waits = outcome.servers.iter().map(|(_, slices)| merged(slices));
    let waits: Vec<_> = waits.collect();
    for (name, quantile, max) in [
        ("p50 us", 0.5, Some(WAIT_RATIO_MAX)),
        ("p99 us", 0.99, None),
    ] {
        let us = |number: usize| as_f64(waits[number].value_at_quantile(quantile)) / 1e3;
        let ratio = outcome.ratio(1, |slice| slice.wait_us(quantile));
        row(rate, name, [us(0), us(1)], ratio, max);
    }
    let cpu = |number: usize| {
        median(
            outcome.servers[number]
                .1
                .iter()
                .map(Slice::cpu_us)
                .collect(),
        )
    };
    let ratio = outcome.ratio(1, Slice::cpu_us);
    row(
        rate,
        "server CPU us a request",
        [cpu(0), cpu(1)],
        ratio,
        Some(cpu_max),
    );
}

fn row(rate: u32, name: &str, [nginx, leafid]: [f64; 2], ratio: f64, max: Option<f64>) {
    let must = max.map(|max| format!("<= {max}")).unwrap_or_default();
    let reached = max.map(|max| yes_or_no(ratio <= max)).unwrap_or_default();
    println!("| {rate} | {name} | {nginx:.1} | {leafid:.1} | {ratio:.2} | {must} | {reached} |");
}
