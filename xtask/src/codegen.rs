//! `cargo xtask codegen`: rewrites the checked-in files that are made from code.
//!
//! Each such file has a test whose name contains `generated`. It compares file and code, so that
//! the `test` check finds a stale file; with `LEAFID_UPDATE=1` it writes the file instead.

use anyhow::Result;

use crate::dependencies;
use crate::run::{cargo, run};

/// Rewrites all of them.
///
/// # Errors
///
/// When one cannot be made or written.
pub(crate) fn rewrite() -> Result<()> {
    dependencies::rewrite()?;
    let words = ["test", "--workspace", "--all-features"];
    run(cargo(&words)
        .args(["--lib", "--bins", "--tests", "--", "generated"])
        .env("LEAFID_UPDATE", "1"))
}
