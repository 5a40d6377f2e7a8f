//! The crates that `leafid`, and `leafid-stores` with SQLite alone, pull into a program, compared
//! with the lists kept in `xtask`. A new line there is a decision, never an accident.

use std::fs;

use anyhow::{Context as _, Result};

use crate::run::{cargo, output, root};
use crate::tidy::Finding;

/// A list of crates.
struct List {
    /// From the root.
    file: &'static str,
    /// What pulls them in.
    of: &'static str,
    with: &'static str,
    features: &'static [&'static str],
    may_have_runtime: bool,
}

const LISTS: [List; 2] = [
    List {
        file: "xtask/leafid-dependencies.txt",
        of: "leafid",
        with: "all features but sqlx, which is for programs that have it",
        features: &["--features", "conformance,serde"],
        may_have_runtime: false,
    },
    List {
        file: "xtask/sqlite-dependencies.txt",
        of: "leafid-stores",
        with: "the feature sqlite alone",
        features: &["--no-default-features", "--features", "sqlite"],
        may_have_runtime: true,
    },
];

/// Crates that bring a runtime, which `leafid` must work without.
const RUNTIMES: [&str; 5] = ["tokio", "async-std", "smol", "async-executor", "mio"];

/// Compares the lists with what cargo says.
///
/// # Errors
///
/// When cargo or the file system fails.
pub(crate) fn check() -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for list in &LISTS {
        let file = list.file;
        let listed = fs::read_to_string(root().join(file));
        let listed = listed.with_context(|| format!("cannot read {file}"))?;
        findings.extend(list.compare(&listed, &list.actual()?));
    }
    Ok(findings)
}

/// Writes the lists anew.
///
/// # Errors
///
/// When cargo or the file system fails.
pub(crate) fn rewrite() -> Result<()> {
    for list in &LISTS {
        let List { file, of, with, .. } = list;
        let crates = list.actual()?.join("\n");
        let text = format!(
            "# Every crate that `{of}` pulls into a program, with {with}.\n\
            # Written by: cargo xtask codegen\n{crates}\n"
        );
        fs::write(root().join(file), text).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

impl List {
    /// The names, sorted. Versions are left to `Cargo.lock`.
    fn actual(&self) -> Result<Vec<String>> {
        let mut tree = cargo(&["tree", "--package", self.of]);
        tree.args(self.features);
        let tree = output(tree.args(["--edges", "normal", "--prefix", "none", "--locked"]))?;
        let mut names: Vec<String> = tree
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn compare(&self, listed: &str, actual: &[String]) -> Vec<Finding> {
        let of = self.of;
        let listed: Vec<(usize, &str)> = (1..)
            .zip(listed.lines())
            .filter(|(_, line)| !line.starts_with('#') && !line.is_empty())
            .collect();
        let gone = listed
            .iter()
            .filter(|(_, name)| !actual.iter().any(|crate_name| crate_name == name))
            .map(|(line, name)| {
                let message = format!("{of} no longer needs {name}: run cargo xtask codegen");
                Finding::new(self.file, *line, message)
            });
        let added = actual
            .iter()
            .filter(|name| !listed.iter().any(|(_, listed)| listed == name))
            .map(|name| {
                let message = format!(
                    "{of} now pulls in {name}: remove it, or run cargo xtask codegen and give the \
                     reason in the commit"
                );
                Finding::new(self.file, 1, message)
            });
        let is_runtime =
            |name: &&String| !self.may_have_runtime && RUNTIMES.contains(&name.as_str());
        let runtimes = actual.iter().filter(is_runtime).map(|name| {
            let message = format!("{of} must work without a runtime: remove {name}");
            Finding::new(self.file, 1, message)
        });
        gone.chain(added).chain(runtimes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listed: &str, actual: &[&str], expected: &[&str]) {
        let actual: Vec<String> = actual.iter().map(ToString::to_string).collect();
        let found: Vec<String> = LISTS[0]
            .compare(listed, &actual)
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
