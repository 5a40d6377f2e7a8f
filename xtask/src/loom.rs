//! The loom models of the issuing paths, and the check of that check: with each of their operations
//! weakened, a model must fail.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::run::{cargo, root, run, succeeds};

/// A model: how cargo runs it, and the operations that `LEAFID_MUTANT` weakens.
struct Model {
    of: &'static str,
    arguments: &'static [&'static str],
    mutants: &'static [&'static str],
}

const MODELS: [Model; 2] = [
    Model {
        of: "segment/buffer.rs and its folder",
        arguments: &["--lib", "segment::model"],
        mutants: &["cursor", "publish", "start", "undo"],
    },
    Model {
        of: "snowflake/state.rs",
        arguments: &["--lib", "snowflake::model"],
        mutants: &["halt", "bound", "worker"],
    },
];

/// Runs the models, and then every weakened one.
///
/// # Errors
///
/// When a model fails, or a weakened one does not.
pub(crate) fn check() -> Result<()> {
    for model in &MODELS {
        run(&mut command(model))?;
        model
            .mutants
            .iter()
            .try_for_each(|mutant| must_fail(model, mutant))?;
    }
    Ok(())
}

fn must_fail(model: &Model, mutant: &str) -> Result<()> {
    let mut weakened = command(model);
    weakened
        .env("LEAFID_MUTANT", mutant)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    ensure!(
        !succeeds(&mut weakened)?,
        "the model passes although {mutant} is weakened in {}: it proves nothing there",
        model.of
    );
    println!("weakened {mutant}: the model fails, as it must");
    Ok(())
}

/// In a target folder of its own: the flag changes every crate, and would rebuild the others.
fn command(model: &Model) -> Command {
    let words = ["test", "--package", "leafid", "--profile", "checked"];
    let mut command = cargo(&words);
    command
        .args(model.arguments)
        .env("RUSTFLAGS", "--cfg leafid_loom")
        .env("CARGO_TARGET_DIR", root().join("target/loom"));
    command
}
