//! The rule that the members of the workspace share lints and versions.

use super::{Finding, SourceFile};

pub(super) fn member(file: &SourceFile) -> Vec<Finding> {
    if !file.path.ends_with("/Cargo.toml") {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut findings = own_versions(file, &lines);
    if !lines
        .windows(2)
        .any(|pair| pair == ["[lints]", "workspace = true"])
    {
        let message = "take over the shared lints: add [lints] with workspace = true";
        findings.push(Finding::new(&file.path, 1, message));
    }
    findings
}

/// Dependencies that name a version of their own.
fn own_versions(file: &SourceFile, lines: &[&str]) -> Vec<Finding> {
    let mut section = "";
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(lines) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
            continue;
        }
        let is_dependency = section.ends_with("dependencies") && line.contains('=');
        if is_dependency && !line.contains("workspace = true") && !is_self(line) {
            let message = "name the version once, in the root Cargo.toml, and write \
                           workspace = true here";
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

/// A crate that depends on itself, to have its own features on in its tests.
fn is_self(line: &str) -> bool {
    line.contains("path = \".\"")
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn members_share_lints_and_versions() {
        let path = "crates/x/Cargo.toml";
        check_rule(member, path, LINTS, &[]);
        check_rule(member, path, "[package]\n", &[1]);
        let good = format!("{LINTS}[dependencies]\na.workspace = true\n");
        check_rule(member, path, &good, &[]);
        let on_linux =
            format!("{LINTS}[target.'cfg(os = \"linux\")'.dependencies]\na.workspace = true\n");
        check_rule(member, path, &on_linux, &[]);
        let bad = format!("{LINTS}[dev-dependencies]\na = \"1\"\nb = {{ version = \"2\" }}\n");
        check_rule(member, path, &bad, &[4, 5]);
    }
}
