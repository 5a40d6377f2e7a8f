//! Rules about what may not be written at all.

use super::{Finding, SourceFile};

/// The folder of the rules themselves, whose samples break them.
const RULES: &str = "xtask/src/tidy/";
/// Files that may have `unsafe` code; each place needs a SAFETY comment. None so far.
const UNSAFE_FILES: [&str; 0] = [];

/// What is not finished is not merged.
pub(super) fn unfinished(file: &SourceFile) -> Vec<Finding> {
    let words = ["TODO", "FIXME", "XXX", "todo!", "unimplemented!"];
    let message = "finish it, or write down in DESIGN.md why it is left out";
    raw_lines(
        file,
        |line| words.iter().any(|word| has_word(line, word)),
        message,
    )
}

pub(super) fn ignored_tests(file: &SourceFile) -> Vec<Finding> {
    let found = ["#[ignore]", "#[ignore=", "#[cfg_attr"].into_iter();
    let message = "a test that does not run proves nothing: make it run, or remove it";
    found
        .flat_map(|pattern| file.code.lines_with(pattern))
        .filter(|line| {
            let text = file.text.lines().nth(line - 1).unwrap_or_default();
            text.contains("ignore")
        })
        .map(|line| Finding::new(&file.path, line, message))
        .collect()
}

/// Two tests, or a test and a server, must be able to run at once.
pub(super) fn fixed_ports(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() || file.path.starts_with(RULES) {
        return Vec::new();
    }
    let openings = ["bind(", "connect(", "\"--http\""];
    let message = "a fixed port in a test: use port 0 and ask which one it became";
    (1..)
        .zip(file.text.lines())
        .filter(|(line, text)| {
            file.is_test(*line)
                && openings
                    .iter()
                    .filter_map(|opening| text.split_once(opening))
                    .any(|(_, rest)| has_port(rest))
        })
        .map(|(line, _)| Finding::new(&file.path, line, message))
        .collect()
}

/// Whether a text or pair names a port other than 0, as in `"127.0.0.1:80"` or `("::1", 80)`.
fn has_port(text: &str) -> bool {
    text.match_indices([':', ',']).any(|(at, sign)| {
        let after = &text[at + 1..];
        let number = if sign == "," {
            after.trim_start()
        } else {
            after
        };
        let digits: &str = number
            .split(|character: char| !character.is_ascii_digit())
            .next()
            .unwrap_or_default();
        let closes = number[digits.len()..].starts_with(['"', ')']);
        closes && digits.parse::<u16>().is_ok_and(|port| port != 0)
    })
}

pub(super) fn unsafe_code(file: &SourceFile) -> Vec<Finding> {
    if UNSAFE_FILES.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let allowances = ["allow(unsafe_code", "expect(unsafe_code"];
    let message = "no unsafe here: write it safely, or show by a measurement in bench/ that it \
                   is worth it and add the file to the list in xtask/src/tidy/words.rs";
    let allowed = allowances
        .iter()
        .flat_map(|pattern| file.code.lines_with(pattern));
    let mut lines = file.code.lines_with_word("unsafe");
    lines.extend(allowed);
    lines
        .into_iter()
        .map(|line| Finding::new(&file.path, line, message))
        .collect()
}

/// The project is the same on every machine.
pub(super) fn machine_paths(file: &SourceFile) -> Vec<Finding> {
    let homes = ["/home/", "/root/", "/Users/", "C:\\Users"];
    let message = "a path of one machine: make it relative, or take it from the environment";
    raw_lines(
        file,
        |line| homes.iter().any(|home| line.contains(home)),
        message,
    )
}

/// The lines, also comments, for which `is_bad` holds; not in the rules' own samples.
fn raw_lines(file: &SourceFile, is_bad: impl Fn(&str) -> bool, message: &str) -> Vec<Finding> {
    if file.path.starts_with(RULES) || file.path == "Cargo.lock" {
        return Vec::new();
    }
    (1..)
        .zip(file.text.lines())
        .filter(|(_, line)| is_bad(line))
        .map(|(line, _)| Finding::new(&file.path, line, message))
        .collect()
}

/// Whether a word stands by itself, or as a part of a name between underscores.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let is_inside = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        !is_inside(before) && !is_inside(after)
    })
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn everything_is_finished() {
        check_rule(unfinished, "a.rs", "// TODO: later\ntodo!()\n", &[1, 2]);
        check_rule(unfinished, "a.sh", "true # FIXME\n", &[1]);
        check_rule(unfinished, "a.rs", "let todo = 1;\n", &[]);
    }

    #[test]
    fn every_test_runs() {
        check_rule(ignored_tests, "a.rs", "#[test]\n#[ignore]\nfn f() {}", &[2]);
        check_rule(
            ignored_tests,
            "a.rs",
            "#[ignore = \"slow\"]\nfn f() {}",
            &[1],
        );
        let conditional = "#[cfg_attr(feature = \"x\", ignore)]\nfn f() {}";
        check_rule(ignored_tests, "a.rs", conditional, &[1]);
        check_rule(ignored_tests, "a.rs", "// #[ignore]\n", &[]);
    }

    #[test]
    fn tests_take_any_free_port() {
        let path = "crates/x/tests/it/main.rs";
        check_rule(fixed_ports, path, "bind(\"127.0.0.1:8080\")", &[1]);
        check_rule(fixed_ports, path, "connect((\"127.0.0.1\", 8080))", &[1]);
        check_rule(fixed_ports, path, "[\"--http\", \"127.0.0.1:8080\"]", &[1]);
        check_rule(fixed_ports, path, "bind(\"127.0.0.1:0\")", &[]);
        check_rule(fixed_ports, path, "connect((\"127.0.0.1\", port))", &[]);
        check_rule(
            fixed_ports,
            "crates/x/src/lib.rs",
            "bind(\"0.0.0.0:8080\")",
            &[],
        );
    }

    #[test]
    fn nothing_is_unsafe() {
        check_rule(unsafe_code, "a.rs", "unsafe { f() }", &[1]);
        check_rule(unsafe_code, "a.rs", "#![allow(unsafe_code)]", &[1]);
        check_rule(unsafe_code, "a.rs", "// no unsafe code\n", &[]);
    }

    #[test]
    fn no_machine_is_named() {
        check_rule(machine_paths, "a.md", "see /home/ann/leafid\n", &[1]);
        check_rule(machine_paths, "a.md", "see docs/config.md\n", &[]);
    }
}
