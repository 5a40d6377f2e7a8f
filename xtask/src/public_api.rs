//! The public items of the crates that are published, compared with the lists kept beside them. A
//! line that goes is a breaking change; a new one is a promise.
//!
//! The lists are read off the source as rustfmt writes it: every `pub` item counts, because the
//! lint `unreachable_pub` leaves none that users cannot reach. What a macro makes is shown as the
//! call of the macro.

mod read;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};

use crate::run::root;
use crate::tidy::{Finding, SourceFile, source_files};

/// The crates whose API is a promise, and the file that lists it.
const CRATES: [(&str, &str); 3] = [
    ("leafid", "crates/leafid/public-api.txt"),
    ("leafid-formats", "crates/leafid-formats/public-api.txt"),
    ("leafid-stores", "crates/leafid-stores/public-api.txt"),
];

/// Compares the lists with the source.
///
/// # Errors
///
/// When a list cannot be read.
pub(crate) fn check(files: &[SourceFile]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (name, list) in CRATES {
        let listed = fs::read_to_string(root().join(list));
        let listed = listed.with_context(|| format!("cannot read {list}"))?;
        findings.extend(compare(list, &listed, &items(name, files)));
    }
    Ok(findings)
}

/// Writes the lists anew.
///
/// # Errors
///
/// When the file system fails.
pub(crate) fn rewrite() -> Result<()> {
    let files = source_files(&root())?;
    for (name, list) in CRATES {
        let mut text = format!(
            "# Every public item of `{name}`: a line that goes is a breaking change.\n\
            # Written by: cargo xtask codegen\n"
        );
        for item in items(name, &files) {
            text.push_str(&item);
            text.push('\n');
        }
        fs::write(root().join(list), text).with_context(|| format!("cannot write {list}"))?;
    }
    Ok(())
}

fn items(name: &str, files: &[SourceFile]) -> BTreeSet<String> {
    let folder = format!("crates/{name}/src/");
    let sources: Vec<(&str, &str)> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .filter_map(|file| Some((file.path.strip_prefix(&folder)?, file.text.as_str())))
        .collect();
    read::items(&name.replace('-', "_"), &sources)
}

fn compare(list: &str, listed: &str, actual: &BTreeSet<String>) -> Vec<Finding> {
    let fix = "run cargo xtask codegen, and name it in CHANGELOG.md";
    let lines = (1..).zip(listed.lines());
    let lines = lines.filter(|(_, line)| !line.starts_with("# ") && !line.is_empty());
    let lines: Vec<(usize, &str)> = lines.collect();
    let gone = lines
        .iter()
        .filter(|(_, line)| !actual.contains(*line))
        .map(|(number, line)| {
            let message = format!("users lose `{line}`: put it back, or {fix}");
            Finding::new(list, *number, message)
        });
    let added = actual
        .iter()
        .filter(|item| !lines.iter().any(|(_, line)| line == item))
        .map(|item| Finding::new(list, 1, format!("`{item}` is new to users: {fix}")));
    gone.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
//! A file.

pub struct Id(u64);

impl Id {
    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn raw(self) -> u64 {
        self.0
    }
}
";

    fn check(source: &str, expected: &[&str]) {
        let before = read::items("x", &[("id.rs", SOURCE)]);
        let listed: Vec<String> = before.into_iter().collect();
        let now = read::items("x", &[("id.rs", source)]);
        let found = compare("list", &listed.join("\n"), &now);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    /// Guards that a public function that is removed, hidden or changed is found, and that what is
    /// not public is nobody's concern.
    #[test]
    fn a_removed_public_function_is_found() {
        check(SOURCE, &[]);
        check(&SOURCE.replace("pub(crate) fn raw", "fn number"), &[]);
        let lost = "users lose `Id: const fn get(self) -> u64`";
        check(&SOURCE.replace("pub const fn get", "const fn get"), &[lost]);
        let new = "`Id: const fn get(&self) -> u64` is new";
        check(&SOURCE.replace("get(self)", "get(&self)"), &[lost, new]);
        let gone = ["users lose `Id: const fn get", "users lose `struct Id`"];
        check(&SOURCE.replace("pub struct", "struct"), &gone);
    }
}
