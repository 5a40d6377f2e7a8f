//! Measures a running server: each caller has one connection and one request in flight.

use std::thread;
use std::time::Duration;

use leafid::{Clock, SystemClock};

use super::{Bench, Measured, Report, call_until, run_callers};
use crate::client::Client;
use crate::failure::Outcome;
use crate::target;

pub(super) fn run(bench: &Bench, server: &str) -> Outcome<Report> {
    let clock = SystemClock::new();
    let clients: Outcome<Vec<Client>> = (0..bench.callers)
        .map(|_| target::client(Some(server), &bench.call))
        .collect();
    let clients = clients?;
    // A call that cannot work at all fails at once, and is not counted.
    if let Some(client) = clients.first() {
        client.take(bench.tag.as_str(), bench.count)?;
    }
    bench.report(format!("over HTTP, {server}"), &clock, |duration| {
        measure(bench, &clients, &clock, duration)
    })
}

/// Lets all callers run for that long.
fn measure(
    bench: &Bench,
    clients: &[Client],
    clock: &SystemClock,
    duration: Duration,
) -> Outcome<Measured> {
    let start = clock.now();
    let until = start + duration;
    let interval = bench
        .rate
        .map(|rate| Duration::from_secs(1) * bench.callers.into() / rate);
    run_callers((0u32..).zip(clients).map(|(index, client)| {
        let call = || client.take(bench.tag.as_str(), bench.count).is_ok();
        move || match interval {
            None => call_until(until, clock, 0, call),
            // Callers of an open loop take turns.
            Some(interval) => {
                let first = start + interval * index / bench.callers.into();
                call_on_time(first, interval, until, clock, call)
            }
        }
    }))
}

/// A call that is late because an earlier one took long counts from when it was due, so that a slow
/// answer does not hide the calls behind it (coordinated omission).
fn call_on_time(
    first: Duration,
    interval: Duration,
    until: Duration,
    clock: &SystemClock,
    call: impl Fn() -> bool,
) -> Outcome<Measured> {
    let mut measured = Measured::new()?;
    let mut due = first;
    while due < until {
        thread::sleep(due.saturating_sub(clock.now()));
        measured.time(clock, due, &call);
        due += interval;
    }
    Ok(measured)
}
