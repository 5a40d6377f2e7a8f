//! The crates that `leafid` pulls into a program, compared with the list kept in
//! `xtask/leafid-dependencies.txt`. A new line there is a decision, never an accident.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::run::{cargo, output, root};
use crate::tidy::Finding;

/// The list, from the root.
const LIST: &str = "xtask/leafid-dependencies.txt";
/// Crates that bring a runtime, which `leafid` must work without.
const RUNTIMES: [&str; 5] = ["tokio", "async-std", "smol", "async-executor", "mio"];
const HEADING: &str = "\
# Every crate that `leafid` pulls into a program, with all features.
# Written by: cargo xtask codegen
";

/// Compares the list with what cargo says.
///
/// # Errors
///
/// When cargo or the file system fails.
pub(crate) fn check() -> Result<Vec<Finding>> {
    let listed = fs::read_to_string(path()).with_context(|| format!("cannot read {LIST}"))?;
    Ok(compare(&listed, &actual()?))
}

/// Writes the list anew.
///
/// # Errors
///
/// When cargo or the file system fails.
pub(crate) fn rewrite() -> Result<()> {
    let text = format!("{HEADING}{}\n", actual()?.join("\n"));
    fs::write(path(), text).with_context(|| format!("cannot write {LIST}"))
}

fn path() -> PathBuf {
    root().join(LIST)
}

/// The names, sorted. Versions are left to `Cargo.lock`.
fn actual() -> Result<Vec<String>> {
    let words = ["tree", "--package", "leafid", "--all-features"];
    let tree = output(cargo(&words).args(["--edges", "normal", "--prefix", "none", "--locked"]))?;
    let mut names: Vec<String> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn compare(listed: &str, actual: &[String]) -> Vec<Finding> {
    let listed: Vec<(usize, &str)> = (1..)
        .zip(listed.lines())
        .filter(|(_, line)| !line.starts_with('#') && !line.is_empty())
        .collect();
    let gone = listed
        .iter()
        .filter(|(_, name)| !actual.iter().any(|crate_name| crate_name == name))
        .map(|(line, name)| {
            let message = format!("leafid no longer needs {name}: run cargo xtask codegen");
            Finding::new(LIST, *line, message)
        });
    let added = actual
        .iter()
        .filter(|name| !listed.iter().any(|(_, listed)| listed == name))
        .map(|name| {
            let message = format!(
                "leafid now pulls in {name}: remove it, or run cargo xtask codegen and give the \
                 reason in the commit"
            );
            Finding::new(LIST, 1, message)
        });
    let runtimes = actual
        .iter()
        .filter(|name| RUNTIMES.contains(&name.as_str()))
        .map(|name| {
            let message = format!("leafid must work without a runtime: remove {name}");
            Finding::new(LIST, 1, message)
        });
    gone.chain(added).chain(runtimes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listed: &str, actual: &[&str], expected: &[&str]) {
        let actual: Vec<String> = actual.iter().map(ToString::to_string).collect();
        let found: Vec<String> = compare(listed, &actual)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_difference_and_a_runtime_are_found() {
        check("# heading\nleafid\npapaya\n", &["leafid", "papaya"], &[]);
        check(
            "leafid\npapaya\n",
            &["leafid"],
            &[":2: leafid no longer needs papaya"],
        );
        check(
            "leafid\n",
            &["leafid", "rand"],
            &["leafid now pulls in rand"],
        );
        check("tokio\n", &["tokio"], &["without a runtime"]);
    }
}
