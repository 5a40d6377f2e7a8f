//! The simulation of worker ids itself: a seed decides everything, it meets what it was made for,
//! the core keeps its promises, and bugs put back on purpose are found.

use leafid_sim::worker::{Bug, run};
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

/// Guards that the simulation would notice each mistake that peers made.
#[test]
fn bugs_put_back_are_found() {
    for bug in Bug::ALL {
        let found = run_all(1, Some(bug)).err();
        let (_, violation) = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        assert!(
            ["unique", "ownership", "journal"].contains(&violation.check),
            "{bug:?}: {violation}"
        );
    }
}
