//! The simulation of segments itself: a seed decides everything, it meets what it was made for, the core keeps
//! its promises, and bugs put back on purpose are found.

use leafid_sim::segment::{Bug, run};
use leafid_sim::{Report, Violation};

/// Few enough for a build that is not optimised; `cargo xtask sim` runs many more.
const RUNS: u64 = 25;
const STEPS: u64 = 1_000;

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

/// Seeds that found a mistake in the core once, with what it was.
const ONCE_RED: [(u64, &str); 2] = [
    (
        1074,
        "a late refresh revived a retired allocator beside its successor",
    ),
    (
        101_713,
        "a limit raised while the store was asked left the tag exhausted for good",
    ),
];

#[test]
fn seeds_that_were_red_stay_green() {
    for (seed, mistake) in ONCE_RED {
        if let Err(violation) = run(seed, 5_000, None) {
            panic!("seed {seed} ({mistake}): {violation}");
        }
    }
}

#[test]
fn every_fault_strikes() {
    let report = run_all(1, None).unwrap_or_else(|(seed, violation)| panic!("{seed}: {violation}"));
    let idle = report.counted.iter().filter(|(_, count)| **count == 0);
    let idle: Vec<&str> = idle.map(|(what, _)| *what).collect();
    assert!(idle.is_empty(), "never happened: {idle:?}");
}

/// The seed and the promise by which a bug put back is found.
fn found(bug: Bug, checks: &[&str]) -> (u64, &'static str) {
    let found = run_all(1, Some(bug)).err();
    let (seed, violation) = found.unwrap_or_else(|| panic!("{bug:?} was not found"));
    assert!(checks.contains(&violation.check), "{bug:?}: {violation}");
    (seed, violation.check)
}

#[test]
fn fatal_bugs_put_back_are_found() {
    for bug in Bug::FATAL {
        println!("{bug:?}: {:?}", found(bug, &["unique", "gaps"]));
    }
}

/// Nothing repeats with these, and a caller waits for available ids, or is told what is not true.
#[test]
fn bugs_that_starve_are_found() {
    for bug in Bug::STARVING {
        let checks = ["conflicts", "liveness", "availability"];
        println!("{bug:?}: {:?}", found(bug, &checks));
    }
}

/// A store that breaks its contract in its very answer is not believed: no id is issued, although
/// numbers, and at last patience, are lost.
#[test]
fn visible_bugs_are_refused() {
    for bug in Bug::VISIBLE {
        let broken = (1..=RUNS).filter_map(|seed| run(seed, STEPS, Some(bug)).err());
        let checks: Vec<&str> = broken.map(|violation| violation.check).collect();
        assert!(!checks.is_empty(), "{bug:?} never struck");
        let got_out = |check: &&str| ["unique", "ascending", "ownership"].contains(check);
        assert!(!checks.iter().any(got_out), "{bug:?}: {checks:?}");
    }
}
