//! `shellcheck` over every shell script of the repository.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::run::{root, run};
use crate::tidy::source_files;

/// Checks all scripts.
///
/// # Errors
///
/// When one has a finding, or shellcheck is not installed.
pub(crate) fn check() -> Result<()> {
    let files = source_files(&root())?;
    let scripts: Vec<&str> = files
        .iter()
        .filter(|file| is_script(&file.text))
        .map(|file| file.path.as_str())
        .collect();
    ensure!(
        !scripts.is_empty(),
        "no shell script found, not even ./test"
    );
    println!("{}", scripts.join(" "));
    run(Command::new("shellcheck").args(scripts).current_dir(root()))
}

fn is_script(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && (first.ends_with("/sh") || first.ends_with("bash"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_known_by_their_first_line() {
        assert!(is_script("#!/usr/bin/env bash\necho\n"));
        assert!(is_script("#!/bin/sh\n"));
        assert!(!is_script("#!/usr/bin/env python3\n"));
        assert!(!is_script("# bash\n"));
    }
}
