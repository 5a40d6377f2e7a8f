//! Measures a running server: each caller has one connection and one request in flight.

use std::thread;
use std::time::Duration;

use leafid::{Clock, SystemClock};

use super::{Bench, Measured, Report, WARM_UP};
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
    measure(bench, &clients, &clock, WARM_UP)?;
    let before = clock.now();
    let all = measure(bench, &clients, &clock, bench.duration())?;
    Ok(Report {
        place: format!("over HTTP, {server}"),
        loop_kind: if bench.rate.is_some() {
            "open"
        } else {
            "closed"
        },
        callers: bench.callers,
        count: bench.count,
        took: clock.now().saturating_sub(before),
        all,
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
    let interval = bench
        .rate
        .map(|rate| Duration::from_secs(1) * bench.callers.into() / rate);
    let mut all = Measured::new()?;
    let each: Vec<Outcome<Measured>> = thread::scope(|scope| {
        let callers = (0u32..).zip(clients).map(|(index, client)| {
            let caller = Caller {
                bench,
                client,
                clock,
                until: start + duration,
            };
            // Callers of an open loop take turns.
            let first = interval.map(|interval| start + interval * index / bench.callers.into());
            scope.spawn(move || match (interval, first) {
                (Some(interval), Some(first)) => caller.call_on_time(first, interval),
                _ => caller.call_again_and_again(),
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

struct Caller<'a> {
    bench: &'a Bench,
    client: &'a Client,
    clock: &'a SystemClock,
    until: Duration,
}

impl Caller<'_> {
    fn call_again_and_again(&self) -> Outcome<Measured> {
        let mut measured = Measured::new()?;
        loop {
            let now = self.clock.now();
            if now >= self.until {
                return Ok(measured);
            }
            self.call(now, &mut measured);
        }
    }

    /// A call that is late because an earlier one took long counts from when it was due, so that a
    /// slow answer does not hide the calls behind it (coordinated omission).
    fn call_on_time(&self, first: Duration, interval: Duration) -> Outcome<Measured> {
        let mut measured = Measured::new()?;
        let mut due = first;
        while due < self.until {
            thread::sleep(due.saturating_sub(self.clock.now()));
            self.call(due, &mut measured);
            due += interval;
        }
        Ok(measured)
    }

    fn call(&self, since: Duration, measured: &mut Measured) {
        let Bench { tag, count, .. } = self.bench;
        let is_issued = self.client.take(tag.as_str(), *count).is_ok();
        measured.record(self.clock.now().saturating_sub(since));
        measured.calls += u64::from(is_issued);
        measured.failures += u64::from(!is_issued);
    }
}
