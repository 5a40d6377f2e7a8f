//! A store that answers in a second, beside one that answers at once, in alternating phases.

use std::time::Duration;

use leafid::StepPolicy;
use leafid_testbed::{MariaDb, Proxy};

use crate::pace::{Phase, open, reserves, spend};

const RATE: u32 = 20_000;
const PHASE: Duration = Duration::from_secs(15);
/// Short, so that each phase sees several reservations.
const COVER: Duration = Duration::from_secs(5);

pub(crate) fn run() {
    let database = MariaDb::start();
    let proxy = Proxy::new(database.port());
    let policy = StepPolicy::Cover {
        cover: COVER,
        step_max: 10_000_000,
    };
    let (_runtime, generators, orders) = open(&database, proxy.port(), policy);
    println!("each reply of MariaDB delayed by 1 s, or not, under {RATE} ids/s;");
    println!("a segment lasts {COVER:?}, so that reservations fall into each phase\n");
    Phase::print_head();
    spend("warming up", &orders, RATE, PHASE).print();
    let mut counts = Vec::new();
    for round in 0..6 {
        let before = reserves(&generators);
        let is_slow = round % 2 == 1;
        let delay = if is_slow {
            Duration::from_secs(1)
        } else {
            Duration::ZERO
        };
        proxy.delay(delay);
        let name = if is_slow {
            "answers in 1 s"
        } else {
            "answers at once"
        };
        spend(name, &orders, RATE, PHASE).print();
        counts.push(reserves(&generators) - before);
    }
    println!("\nreservations in each phase: {counts:?}");
}
