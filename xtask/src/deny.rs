//! `cargo xtask deny`: licences, sources and duplicate versions of dependencies, by `deny.toml`.
//!
//! Not part of `ci`: its tool takes minutes to install, and its answer changes only when
//! `Cargo.lock` does.

use anyhow::Result;

use crate::run::{cargo, output, run};

/// Runs the check, installing cargo-deny first where it is missing.
///
/// # Errors
///
/// When the tool cannot be installed, or the check fails.
pub(crate) fn run_check() -> Result<()> {
    if output(&mut cargo(&["deny", "--version"])).is_err() {
        println!("cargo-deny is missing: installing it, which takes a few minutes");
        run(&mut cargo(&["install", "--locked", "cargo-deny"]))?;
    }
    let words = ["deny", "--all-features", "check"];
    run(cargo(&words).args(["licenses", "sources", "bans"]))
}
