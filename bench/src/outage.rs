//! A minute without the store, at 20,000 ids a second on a warm tag.

use std::thread;
use std::time::{Duration, Instant};

use leafid::{Generators, StepPolicy};
use leafid_testbed::MariaDb;

use crate::pace::{Phase, open, reserves, spend};

const RATE: u32 = 20_000;
/// A fifth of the default, so that a reservation falls due while the store is away.
const COVER: Duration = Duration::from_secs(120);

pub(crate) fn run() {
    let database = MariaDb::start();
    let policy = StepPolicy::Cover {
        cover: COVER,
        step_max: 10_000_000,
    };
    let (_runtime, generators, orders) = open(&database, database.port(), policy);
    println!("MariaDB killed for 60 s under {RATE} ids/s; every id by `next`, from two threads;");
    println!("a segment lasts {COVER:?}\n");
    Phase::print_head();
    spend("warming up, 40 s", &orders, RATE, Duration::from_secs(40)).print();
    while !(20..40).contains(&due_in_seconds(&generators)) {
        let _warm = spend("warm", &orders, RATE, Duration::from_secs(5));
    }
    spend("before, 15 s", &orders, RATE, Duration::from_secs(15)).print();
    let warm = generators.status("order").expect("it was used");
    database.kill();
    spend("store down, 60 s", &orders, RATE, Duration::from_secs(60)).print();
    let down = generators.status("order").expect("it was used");
    database.start_again();
    spend("after, 15 s", &orders, RATE, Duration::from_secs(15)).print();
    let resumed = resume(&generators);
    println!("\ncover when the store went: {:.0} s", seconds(warm.cover));
    println!("cover when it came back: {:.0} s", seconds(down.cover));
    println!(
        "calls to the store that failed: {}",
        down.failures - warm.failures
    );
    println!("first reservation after it came back, by itself: {resumed:.0} ms after it was due");
}

/// When the next reservation falls due: at a tenth of the newest segment.
fn due_in_seconds(generators: &Generators) -> u64 {
    let status = generators.status("order").expect("it was used");
    let newest = status
        .segments
        .into_iter()
        .max_by_key(leafid::Segment::start);
    let mark = newest.map_or(0, |newest| newest.start() + newest.len() / 10);
    mark.saturating_sub(status.cursor) / u64::from(RATE)
}

/// Uses up what memory holds until a reservation is due, and waits for it.
fn resume(generators: &Generators) -> f64 {
    let before = reserves(generators);
    let left = generators
        .status("order")
        .map_or(0, |status| status.remaining);
    let drain = generators.next_many("order", left - left / 100);
    leafid::blocking::block_on(drain).expect("memory holds as many");
    let due = Instant::now();
    while reserves(generators) == before {
        let _id = generators.next_blocking("order");
        thread::sleep(Duration::from_millis(1));
    }
    due.elapsed().as_secs_f64() * 1e3
}

fn seconds(cover: Option<Duration>) -> f64 {
    cover.map_or(f64::INFINITY, |cover| cover.as_secs_f64())
}
