//! Rules about files as such: how long they are, how they begin, what they are called.

use super::{Finding, SourceFile};

/// A file longer than this is split.
const LEN_MAX: usize = 800;
/// A file longer than this is worth a thought.
const LEN_LONG: usize = 400;
/// Words that say nothing about what a file owns.
const EMPTY_WORDS: [&str; 10] = [
    "manager",
    "helper",
    "util",
    "common",
    "misc",
    "processor",
    "impl",
    "info",
    "data",
    "node",
];

/// Archives, programs and pictures are built or fetched, never kept.
pub(super) fn text(file: &SourceFile) -> Vec<Finding> {
    if file.is_text {
        return Vec::new();
    }
    let message = "this is no text: delete it, or build it into a folder named `generated`";
    vec![Finding::new(&file.path, 1, message)]
}

pub(super) fn length(file: &SourceFile) -> Vec<Finding> {
    let len = len(file);
    if len <= LEN_MAX {
        return Vec::new();
    }
    let message = format!("{len} lines: split it by concept, {LEN_MAX} is the most");
    vec![Finding::new(&file.path, LEN_MAX + 1, message)]
}

/// A file that is long, but not too long.
pub(super) fn long(file: &SourceFile) -> Option<String> {
    let len = len(file);
    let is_long = len > LEN_LONG && len <= LEN_MAX;
    is_long.then(|| format!("{} has {len} lines; {LEN_LONG} is the aim", file.path))
}

fn len(file: &SourceFile) -> usize {
    if file.is_rust() {
        file.text.lines().count()
    } else {
        0
    }
}

pub(super) fn heading(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() || file.text.starts_with("//!") {
        return Vec::new();
    }
    let message = "open the file with //! and say what it owns";
    vec![Finding::new(&file.path, 1, message)]
}

pub(super) fn name(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let parts = file.path.trim_end_matches(".rs").split(['/', '_', '-']);
    parts
        .filter(|part| EMPTY_WORDS.contains(&part.trim_end_matches('s')))
        .map(|part| {
            let message = format!("\"{part}\" in a name says nothing: name what the file owns");
            Finding::new(&file.path, 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn files_are_text() {
        assert_eq!(text(&SourceFile::binary("a.whl")).len(), 1);
        check_rule(text, "a.rs", "//! A.", &[]);
    }

    #[test]
    fn files_are_short() {
        check_rule(length, "a.rs", &"//!\n".repeat(800), &[]);
        check_rule(length, "a.rs", &"//!\n".repeat(801), &[801]);
        check_rule(length, "Cargo.lock", &"x\n".repeat(5000), &[]);
        let file = SourceFile::new("a.rs", "//!\n".repeat(401));
        assert!(long(&file).is_some());
    }

    #[test]
    fn files_say_what_they_own() {
        check_rule(heading, "a.rs", "//! `A`.\n", &[]);
        check_rule(heading, "a.rs", "use b;\n", &[1]);
    }

    #[test]
    fn names_mean_something() {
        check_rule(name, "src/segment.rs", "", &[]);
        check_rule(name, "src/string_utils.rs", "", &[1]);
        check_rule(name, "src/common/segment.rs", "", &[1]);
    }
}
