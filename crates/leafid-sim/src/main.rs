//! `leafid-sim`: runs the simulations for a number of seeds, and prints the one that fails.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for people, whose output is the point"
)]

use std::panic::catch_unwind;
use std::process::ExitCode;

use leafid_sim::{Report, Violation, segment, worker};

const USAGE: &str = "\
leafid-sim [--seed N] [--runs K] [--steps N] [--of segment|worker]
  --seed N   the first seed; default: SEED of the environment, or a fresh one
  --runs K   how many seeds, from that one on; default: 1
  --steps N  how many calls for ids each run makes under faults; default: 5000 and 1000
  --of WHAT  one of the two simulations; default: both";

/// What can be simulated.
#[derive(Debug, Clone, Copy)]
struct System {
    name: &'static str,
    steps: u64,
    run: fn(u64, u64) -> Result<Report, Violation>,
}

const SYSTEMS: [System; 2] = [
    System {
        name: "segment",
        steps: segment::STEPS,
        run: |seed, steps| segment::run(seed, steps, None),
    },
    System {
        name: "worker",
        steps: worker::STEPS,
        run: |seed, steps| worker::run(seed, steps, None),
    },
];

/// The arguments of a run.
struct Arguments {
    seed: u64,
    runs: u64,
    steps: Option<u64>,
    of: Option<String>,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    println!("seed {}, {} runs", arguments.seed, arguments.runs);
    let is_wanted = |system: &&System| arguments.of.as_ref().is_none_or(|of| of == system.name);
    for system in SYSTEMS.iter().filter(is_wanted) {
        if !run_all(system, &arguments) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Whether every seed kept every promise.
fn run_all(system: &System, arguments: &Arguments) -> bool {
    let steps = arguments.steps.unwrap_or(system.steps);
    let name = system.name;
    let mut all = Report::default();
    for seed in (0..arguments.runs).map(|run| arguments.seed.wrapping_add(run)) {
        match run_caught(system, seed, steps) {
            Ok(report) => all.add(&report),
            Err(violation) => {
                println!("{name}: seed {seed} FAILED: {violation}");
                println!(
                    "again: cargo run -p leafid-sim -- --of {name} --seed {seed} --steps {steps}"
                );
                return false;
            }
        }
    }
    print!("{name}: all kept every promise: {all}");
    true
}

/// A panic in the core is a broken promise too.
fn run_caught(system: &System, seed: u64, steps: u64) -> Result<Report, Violation> {
    catch_unwind(|| (system.run)(seed, steps)).unwrap_or_else(|_| {
        Err(Violation {
            check: "panics",
            message: "a task panicked, as printed above".into(),
        })
    })
}

fn arguments(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let seed = std::env::var("SEED").ok();
    let mut arguments = Arguments {
        seed: seed.map_or_else(|| Some(fastrand::u64(..)), |text| text.parse().ok())?,
        runs: 1,
        steps: None,
        of: None,
    };
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--seed" => arguments.seed = value.parse().ok()?,
            "--runs" => arguments.runs = value.parse().ok()?,
            "--steps" => arguments.steps = Some(value.parse().ok()?),
            "--of" if SYSTEMS.iter().any(|system| system.name == value) => {
                arguments.of = Some(value);
            }
            _ => return None,
        }
    }
    Some(arguments)
}
