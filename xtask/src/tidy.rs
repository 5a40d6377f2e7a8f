//! `tidy`: the house rules that a machine can check. Each finding names the place and the fix.
//!
//! A rule is a function from one file to its findings, and has a test that shows it failing.

mod borders;
mod code;
mod imports;
mod layers;
mod links;
mod manifests;
mod old_words;
mod one_guess;
mod shape;
mod words;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::run::root;
use crate::{dependencies, public_api};
use code::Code;

/// A place that breaks a rule, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// A finding on a line, counted from 1.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A text file of the repository; its path is relative to the root, with `/` between its parts.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
    /// The code without comments and texts; empty for other languages than Rust.
    code: Code,
    is_text: bool,
}

impl SourceFile {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let is_rust = path.ends_with(".rs");
        let code = Code::of(if is_rust { &text } else { "" });
        Self {
            path,
            text,
            code,
            is_text: true,
        }
    }

    /// A file whose bytes are no text.
    fn binary(path: impl Into<String>) -> Self {
        Self {
            is_text: false,
            ..Self::new(path, "")
        }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the line, counted from 1, is only there for tests and measurements.
    fn is_test(&self, line: usize) -> bool {
        let folders = ["/tests/", "/benches/", "crates/leafid-testbed/"];
        folders.iter().any(|folder| self.path.contains(folder)) || line >= self.code.tests_from
    }
}

type Rule = fn(&SourceFile) -> Vec<Finding>;

const RULES: &[Rule] = &[
    shape::text,
    shape::length,
    shape::heading,
    shape::name,
    borders::store_callers,
    borders::front_ends,
    borders::service,
    words::unfinished,
    words::ignored_tests,
    words::fixed_ports,
    words::unsafe_code,
    words::machine_paths,
    old_words::private,
    links::targets,
    manifests::member,
];

/// A rule about how files stand to each other.
type TreeRule = fn(&[SourceFile]) -> Vec<Finding>;

const TREE_RULES: &[TreeRule] = &[
    layers::downward,
    layers::mutual,
    links::source_files,
    one_guess::words_are_found,
];

/// Checks the repository.
///
/// # Errors
///
/// When a rule is broken, after printing where.
pub(crate) fn run() -> Result<()> {
    let root = root();
    let files = source_files(&root)?;
    for long in files.iter().filter_map(shape::long) {
        println!("note: {long}");
    }
    let mut findings: Vec<Finding> = files
        .iter()
        .flat_map(|file| RULES.iter().flat_map(move |rule| rule(file)))
        .collect();
    findings.extend(TREE_RULES.iter().flat_map(|rule| rule(&files)));
    findings.extend(dependencies::check()?);
    findings.extend(public_api::check(&files)?);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("1 rule of the house is broken"),
        count => bail!("{count} rules of the house are broken"),
    }
}

/// Reads every file, without what is built or ignored.
///
/// # Errors
///
/// When a folder or file cannot be read.
pub(crate) fn source_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !is_skipped(&name) {
                collect(root, &path, files)?;
            }
        } else {
            let relative = path.strip_prefix(root)?.to_string_lossy();
            let relative = relative.replace('\\', "/");
            files.push(match fs::read_to_string(&path) {
                Ok(text) => SourceFile::new(relative, text),
                Err(_) => SourceFile::binary(relative),
            });
        }
    }
    Ok(())
}

fn is_skipped(folder: &str) -> bool {
    let is_hidden = folder.starts_with('.') && ![".ci", ".cargo", ".github"].contains(&folder);
    // What is made of something else is as tidy as that, and a test compares the two.
    is_hidden || ["target", "leafid-data", "node_modules", "generated"].contains(&folder)
}

/// Runs a rule on a sample, and compares where it finds something.
#[cfg(test)]
fn check_rule(rule: Rule, path: &str, text: &str, expected_lines: &[usize]) {
    let findings = rule(&SourceFile::new(path, text));
    let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, expected_lines, "{path}: {text}\n{findings:?}");
}
