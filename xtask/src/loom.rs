//! The loom model of the issuing path, and the check of that check: with each of its operations
//! weakened, the model must fail.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::run::{cargo, root, run, succeeds};

/// The operations in `segment.rs` that `LEAFID_MUTANT` weakens.
const MUTANTS: [&str; 4] = ["cursor", "publish", "start", "undo"];

/// Runs the model, and then every weakened one.
///
/// # Errors
///
/// When the model fails, or a weakened one does not.
pub(crate) fn check() -> Result<()> {
    run(&mut model())?;
    MUTANTS.iter().try_for_each(|mutant| must_fail(mutant))
}

fn must_fail(mutant: &str) -> Result<()> {
    let mut weakened = model();
    weakened
        .env("LEAFID_MUTANT", mutant)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    ensure!(
        !succeeds(&mut weakened)?,
        "the model passes although {mutant} is weakened in segment.rs: it proves nothing there"
    );
    println!("weakened {mutant}: the model fails, as it must");
    Ok(())
}

/// In a target folder of its own: the flag changes every crate, and would rebuild the others.
fn model() -> Command {
    let words = ["test", "--package", "leafid", "--profile", "checked"];
    let mut command = cargo(&words);
    command
        .args(["--test", "loom"])
        .env("RUSTFLAGS", "--cfg leafid_loom")
        .env("CARGO_TARGET_DIR", root().join("target/loom"));
    command
}
