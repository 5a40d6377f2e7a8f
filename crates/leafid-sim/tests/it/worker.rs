//! The simulation of worker ids itself: a seed decides everything, it meets what it was made for,
//! the core keeps its promises, and bugs put back on purpose are found.

use std::time::Duration;

use leafid_sim::worker::{Bug, LIVE, START_INTERVAL, WORKER_BITS, churn, run};
use leafid_sim::{Report, Violation};

/// Few enough for a build that is not optimised; `cargo xtask sim` runs many more.
const RUNS: u64 = 25;
const STEPS: u64 = 500;

fn run_all(seed: u64, bug: Option<Bug>) -> Result<Report, (u64, Violation)> {
    let mut all = Report::default();
    for seed in seed..seed + RUNS {
        let report = run(seed, STEPS, bug).map_err(|violation| (seed, violation))?;
        all.add(&report);
    }
    Ok(all)
}

#[test]
fn a_seed_decides_everything() {
    for seed in 1..6 {
        let first = run(seed, STEPS, None);
        assert_eq!(first, run(seed, STEPS, None), "seed {seed}");
        assert_ne!(first, run(seed + 1, STEPS, None), "seed {seed}");
    }
}

#[test]
fn the_core_keeps_its_promises() {
    let fresh = fastrand::u64(..u64::MAX / 2);
    if let Err((seed, violation)) = run_all(fresh, None) {
        panic!("seed {seed}, {STEPS} steps: {violation}");
    }
}

#[test]
fn every_fault_strikes() {
    let report = run_all(1, None).unwrap_or_else(|(seed, violation)| panic!("{seed}: {violation}"));
    let idle = report.counted.iter().filter(|(_, count)| **count == 0);
    let idle: Vec<&str> = idle.map(|(what, _)| *what).collect();
    assert!(idle.is_empty(), "never happened: {idle:?}");
}

/// The reports of an id that should not have been issued.
const ID_CHECKS: [&str; 6] = [
    "unique",
    "ascending",
    "ownership",
    "journal",
    "promptness",
    "stop_after_loss",
];

/// Each is found within the first 25 now; the exact number may change with the calls of the core.
const BUG_RUNS: u64 = 2 * RUNS;

/// Guards that the simulation detects each mistake that other systems made.
#[test]
fn bugs_put_back_are_found() {
    for bug in Bug::ALL {
        let found = (1..=BUG_RUNS).find_map(|seed| {
            let violation = run(seed, STEPS, Some(bug)).err()?;
            let is_right = ID_CHECKS.contains(&violation.check);
            is_right.then_some((seed, violation))
        });
        let (seed, violation) = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        println!("{bug:?}: seed {seed}, {violation}");
    }
}

/// Guards that a cluster which replaces its servers for ever does not run out of worker ids, as long
/// as the leases of killed servers end in time; and that the formula for it is right.
#[test]
fn two_thousand_starts_share_few_worker_ids() {
    // Every second one that ends is killed.
    let spare = (1 << WORKER_BITS) - u32::try_from(LIVE).unwrap();
    let lease_max = START_INTERVAL * 2 * spare;
    churn(1, 2_000, lease_max.saturating_sub(Duration::from_secs(4)))
        .unwrap_or_else(|found| panic!("{found}"));
    let found = churn(1, 2_000, lease_max * 3 / 2).unwrap_err();
    assert_eq!(found.check, "exhausted", "{found}");
}
