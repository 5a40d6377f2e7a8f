//! Guards calendar counters on the real binary: three servers on one database, whose clocks differ
//! by seconds, pass the end of a period, and no text comes twice. libfaketime moves the clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use leafid::SystemClock;
use leafid_testbed::{FakeClock, shared_mariadb};
use serde_json::Value;
use tempfile::tempdir;

use crate::server_process::{Server, run, until};
use crate::snowflake_load::now_ms;

/// How the clocks of the servers differ, in seconds.
const SKEWS: [f64; 3] = [0.0, 1.5, -1.5];
/// How long before the end of the period the first clock starts.
const BEFORE_S: f64 = 4.0;

/// Takes ids from three servers while their clocks pass `end`, until each has given some of the
/// period after it; returns the numbers by what comes before them in the text.
fn numbers_across(end: &str, format: &str, after: &str) -> BTreeMap<String, BTreeSet<u64>> {
    let database = shared_mariadb().create_database();
    let folder = tempdir().unwrap();
    let store = ["--store", &database.url];
    run(folder.path(), &["store", "init", "--store", &database.url]).ok();
    let create = [
        &["tag", "create", "invoice", "--format", format],
        &store[..],
    ]
    .concat();
    run(folder.path(), &create).ok();
    let end_ms = end.parse::<Timestamp>().unwrap().as_millisecond() as f64;
    let clocks = SKEWS.map(|_| FakeClock::new());
    let servers = [0, 1, 2].map(|index: usize| {
        let data = folder.path().join(index.to_string());
        let arguments = [
            &store[..],
            &["--snowflake=false", "--data-dir", data.to_str().unwrap()],
        ];
        Server::spawn(folder.path(), &arguments.concat(), |command| {
            clocks[index].apply(command);
        })
    });
    for server in &servers {
        server.wait_until_ready();
    }
    let offset = (end_ms - now_ms(&SystemClock::new()) as f64) / 1000.0 - BEFORE_S;
    for (clock, skew) in clocks.iter().zip(SKEWS) {
        clock.offset(offset + skew);
    }
    let done = AtomicBool::new(false);
    let texts: Vec<String> = thread::scope(|scope| {
        let callers = servers.each_ref().map(|server| {
            let done = &done;
            scope.spawn(move || {
                let mut texts = Vec::new();
                let mut is_past = false;
                while !(is_past && done.load(Ordering::Relaxed)) {
                    let batch = server.json("/v1/tags/invoice/ids?count=7");
                    let batch = batch["ids"].as_array().unwrap();
                    texts.extend(batch.iter().map(|text| text.as_str().unwrap().to_owned()));
                    is_past |= texts.last().unwrap().starts_with(after);
                    thread::sleep(Duration::from_millis(2));
                }
                texts
            })
        });
        thread::sleep(Duration::from_secs_f64(BEFORE_S + 3.0));
        done.store(true, Ordering::Relaxed);
        callers
            .into_iter()
            .flat_map(|caller| caller.join().unwrap())
            .collect()
    });
    let mut numbers: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for text in &texts {
        let (period, number) = text.split_once('-').unwrap();
        let is_new = numbers
            .entry(period.to_owned())
            .or_default()
            .insert(number.parse().unwrap());
        assert!(is_new, "{text} came twice");
    }
    let counts: Vec<_> = numbers
        .iter()
        .map(|(period, all)| (period, all.len()))
        .collect();
    println!("{} texts: {counts:?}", texts.len());
    for server in servers {
        server.stop();
    }
    numbers
}

#[test]
fn a_daily_counter_restarts_at_midnight_in_shanghai() {
    let format = "{zone Asia/Shanghai}{date %Y%m%d}-{number width=6 restart=day}";
    let numbers = numbers_across("2026-12-31T16:00:00Z", format, "20270101");
    let days: Vec<_> = numbers.keys().map(String::as_str).collect();
    assert_eq!(days, ["20261231", "20270101"]);
    for (day, numbers) in &numbers {
        assert_eq!(numbers.first(), Some(&1), "{day} begins at 1");
        assert!(numbers.len() > 100, "{day} has only {}", numbers.len());
    }
}

/// The day on which New York repeats an hour has 25 hours; its counter restarts at its end.
#[test]
fn a_daily_counter_restarts_after_the_long_day_in_new_york() {
    let format = "{zone America/New_York}{date %Y%m%d}-{number width=6 restart=day}";
    let numbers = numbers_across("2026-11-02T05:00:00Z", format, "20261102");
    let days: Vec<_> = numbers.keys().map(String::as_str).collect();
    assert_eq!(days, ["20261101", "20261102"]);
    assert!(numbers.values().all(|numbers| numbers.first() == Some(&1)));
}

/// At the end of summer time the hour from 1 to 2 comes twice: its counter goes on.
#[test]
fn an_hourly_counter_goes_on_in_the_hour_that_new_york_repeats() {
    let format = "{zone America/New_York}{date %Y%m%d%H}-{number width=7 restart=hour}";
    let numbers = numbers_across("2026-11-01T06:00:00Z", format, "2026110101");
    let hours: Vec<_> = numbers.keys().map(String::as_str).collect();
    assert_eq!(hours, ["2026110101"]);
    assert!(numbers.values().all(|numbers| numbers.first() == Some(&1)));
}

/// At its beginning the hour from 2 to 3 does not exist: the counter restarts for the next.
#[test]
fn an_hourly_counter_restarts_after_the_hour_that_new_york_leaves_out() {
    let format = "{zone America/New_York}{date %Y%m%d%H}-{number width=7 restart=hour}";
    let numbers = numbers_across("2027-03-14T07:00:00Z", format, "2027031403");
    let hours: Vec<_> = numbers.keys().map(String::as_str).collect();
    assert_eq!(hours, ["2027031401", "2027031403"]);
    assert!(numbers.values().all(|numbers| numbers.first() == Some(&1)));
}

/// Guards that old periods are deleted when one begins, and that one that begins again goes on.
#[test]
fn old_periods_are_deleted_and_never_start_again() {
    let folder = tempdir().unwrap();
    let clock = FakeClock::new();
    let start = |folder: &std::path::Path| {
        let server = Server::spawn(folder, &["--periods-kept=1d"], |command| {
            clock.apply(command);
        });
        server.wait_until_ready();
        server
    };
    let server = start(folder.path());
    let format = "{date %Y%m%d}-{number restart=day}";
    let create = [
        "tag",
        "create",
        "invoice",
        "--format",
        format,
        "--server",
        &server.url,
    ];
    run(folder.path(), &create).ok();
    let next = || {
        server.json("/v1/tags/invoice/ids")["ids"][0]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = next();
    let day = first.strip_suffix("-1").unwrap();
    clock.offset(3.0 * 86_400.0);
    assert!(next().ends_with("-1"));
    let listed = || {
        let page = server.json("/v1/tags");
        let names = page["tags"].as_array().unwrap().iter();
        names
            .map(|tag: &Value| tag["tag"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    until("deletion", || {
        (!listed().contains(&format!("invoice@{day}"))).then_some(())
    });
    assert_eq!(listed().len(), 2, "{:?}", listed());
    clock.offset(0.0);
    let again = next();
    let number: u64 = again
        .strip_prefix(&format!("{day}-"))
        .unwrap()
        .parse()
        .unwrap();
    assert!(number > 1, "{again}");
    server.stop();
}
