//! `leafid-sim`: runs the simulation for a number of seeds, and prints the one that fails.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for people, whose output is the point"
)]

use std::panic::catch_unwind;
use std::process::ExitCode;

use leafid_sim::segment::{self, STEPS};
use leafid_sim::{Report, Violation};

const USAGE: &str = "\
leafid-sim [--seed N] [--runs K] [--steps N]
  --seed N   the first seed; default: SEED of the environment, or a fresh one
  --runs K   how many seeds, from that one on; default: 1
  --steps N  how many calls for ids each run makes under faults; default: 5000";

/// What is to be run.
struct Wish {
    seed: u64,
    runs: u64,
    steps: u64,
}

fn main() -> ExitCode {
    let Some(wish) = wish(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    println!(
        "seed {}, {} runs of {} steps",
        wish.seed, wish.runs, wish.steps
    );
    let mut all = Report::default();
    for seed in (0..wish.runs).map(|run| wish.seed.wrapping_add(run)) {
        match run_caught(seed, wish.steps) {
            Ok(report) => all.add(&report),
            Err(violation) => {
                println!("seed {seed} FAILED: {violation}");
                println!(
                    "again: cargo run -p leafid-sim -- --seed {seed} --steps {}",
                    wish.steps
                );
                return ExitCode::FAILURE;
            }
        }
    }
    print!("all kept every promise: {all}");
    ExitCode::SUCCESS
}

/// A panic in the core is a broken promise too.
fn run_caught(seed: u64, steps: u64) -> Result<Report, Violation> {
    catch_unwind(|| segment::run(seed, steps, None)).unwrap_or_else(|_| {
        Err(Violation {
            check: "panics",
            message: "a task panicked, as printed above".into(),
        })
    })
}

fn wish(mut words: impl Iterator<Item = String>) -> Option<Wish> {
    let seed = std::env::var("SEED").ok();
    let mut wish = Wish {
        seed: seed.map_or_else(|| Some(fastrand::u64(..)), |text| text.parse().ok())?,
        runs: 1,
        steps: STEPS,
    };
    while let Some(word) = words.next() {
        let number = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seed" => wish.seed = number,
            "--runs" => wish.runs = number,
            "--steps" => wish.steps = number,
            _ => return None,
        }
    }
    Some(wish)
}
