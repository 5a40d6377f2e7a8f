//! `cargo xtask codegen`: rewrites the checked-in files that are made from code.
//!
//! Each such file has a test whose name contains `generated`. It compares file and code, so that
//! the `test` check finds a stale file; with `LEAFID_UPDATE=1` it writes the file instead.

use anyhow::Result;

use crate::run::{cargo, run};
use crate::{dependencies, public_api};

/// Rewrites all of them.
///
/// # Errors
///
/// When one cannot be made or written.
pub(crate) fn rewrite() -> Result<()> {
    dependencies::rewrite()?;
    public_api::rewrite()?;
    // First, because nothing else can be built while it does not fit.
    write(&["test", "--package", "xtask", "--bins"])?;
    write(&[
        "test",
        "--workspace",
        "--all-features",
        "--lib",
        "--bins",
        "--tests",
    ])
}

/// Runs the tests that compare, as tests that write.
fn write(words: &[&str]) -> Result<()> {
    run(cargo(words)
        .args(["--", "generated"])
        .env("LEAFID_UPDATE", "1"))
}
