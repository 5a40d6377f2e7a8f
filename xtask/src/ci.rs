//! `cargo xtask ci`: the checks in order, the quick ones first. Each can be run alone.

use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::run::{cargo, run};
use crate::{console, loom, scripts, tidy};

/// One check.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        run: || run(&mut cargo(&["fmt", "--all", "--check"])),
    },
    Step {
        name: "tidy",
        about: "the house rules that a machine can check",
        run: tidy::run,
    },
    Step {
        name: "shellcheck",
        about: "shell scripts have no known traps",
        run: scripts::check,
    },
    Step {
        name: "clippy",
        about: "no warning in any target",
        run: clippy,
    },
    Step {
        name: "features",
        about: "the stores compile without features, and with each alone; the program without traces",
        run: features,
    },
    Step {
        name: "console",
        about: "the pages of the console pass their tests, and are built from their sources",
        run: console::check,
    },
    Step {
        name: "test",
        about: "unit and integration tests, against real servers",
        run: test,
    },
    Step {
        name: "doctest",
        about: "the examples in the documentation run",
        run: || {
            let words = ["test", "--workspace", "--all-features", "--doc"];
            run(&mut cargo(&words))
        },
    },
    Step {
        name: "docs",
        about: "the documentation builds without a warning",
        run: docs,
    },
    Step {
        name: "package",
        about: "the crates for others can be packaged",
        run: package,
    },
    Step {
        name: "loom",
        about: "every interleaving of the issuing path, and its weakened variants fail",
        run: loom::check,
    },
    Step {
        name: "sim",
        about: "the whole system under faults, from a fresh seed",
        run: sim,
    },
];

/// Runs every check.
///
/// # Errors
///
/// The first check that fails.
pub(crate) fn run_all() -> Result<()> {
    let all = timed("ci", || STEPS.iter().try_for_each(run_step));
    all.context("a check failed; run it alone with: cargo xtask CHECK")
}

/// Runs one check.
///
/// # Errors
///
/// When there is none of that name, or it fails.
pub(crate) fn run_one(name: &str) -> Result<()> {
    let step = STEPS
        .iter()
        .find(|step| step.name == name)
        .with_context(|| format!("no command {name}; cargo xtask help lists them"))?;
    run_step(step)
}

/// Prints the names of the checks.
pub(crate) fn list() {
    for Step { name, about, .. } in STEPS {
        println!("{name:<12}{about}");
    }
}

fn run_step(step: &Step) -> Result<()> {
    println!("== {}: {}", step.name, step.about);
    timed(step.name, step.run).with_context(|| format!("check {} failed", step.name))
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a check really took is what is wanted"
)]
fn timed(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let started = Instant::now();
    let done = work();
    let verdict = if done.is_ok() { "ok" } else { "FAILED" };
    let seconds = started.elapsed().as_secs_f64();
    println!("== {name}: {verdict} after {seconds:.1} s");
    done
}

/// The features of `leafid-stores`.
const FEATURES: [&str; 7] = [
    "sqlite",
    "mysql",
    "postgres",
    "redis",
    "etcd",
    "zookeeper",
    "tls",
];

fn features() -> Result<()> {
    let words = ["clippy", "-p", "leafid-stores", "--no-default-features"];
    let check = |features: &[&str]| {
        let mut check = cargo(&words);
        run(check.args(features).args(["--", "-D", "warnings"]))
    };
    check(&[])?;
    FEATURES
        .iter()
        .try_for_each(|feature| check(&["--features", feature]))?;
    let words = ["clippy", "-p", "leafid-cli", "--no-default-features"];
    run(cargo(&words).args(["--", "-D", "warnings"]))
}

fn clippy() -> Result<()> {
    let words = ["clippy", "--workspace", "--all-targets", "--all-features"];
    run(cargo(&words).args(["--", "-D", "warnings"]))
}

/// Not the doc tests, which are a check of their own: so they run once.
fn test() -> Result<()> {
    let words = ["test", "--workspace", "--all-features"];
    run(cargo(&words).args(["--lib", "--bins", "--tests", "--examples"]))
}

fn docs() -> Result<()> {
    let words = ["doc", "--workspace", "--all-features", "--no-deps"];
    run(cargo(&words).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Without building what is in the packages: the other checks have built the same files.
fn package() -> Result<()> {
    let words = ["package", "--no-verify", "--allow-dirty", "--quiet"];
    let crates = [
        "leafid",
        "leafid-formats",
        "leafid-stores",
        "leafid-no-openapi",
        "leafid-server",
    ];
    let crates = crates.iter().flat_map(|name| ["-p", name]);
    run(cargo(&words).args(crates))
}

/// How many seeds a run of the checks tries.
const SIM_RUNS: &str = "500";

fn sim() -> Result<()> {
    let words = ["run", "--package", "leafid-sim", "--profile", "checked"];
    run(cargo(&words).args(["--", "--runs", SIM_RUNS]))
}
