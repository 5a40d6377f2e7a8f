//! Rules about which file may use which.

use super::imports::Imports;
use super::{Finding, SourceFile};

/// The sources of the server.
const SERVER: &str = "crates/leafid-server/src/";
/// The layers of the server, from the bottom up: each uses only those before it. A layer is files
/// and folders; a name without an ending is a file together with its folder.
const LAYERS: [&[&str]; 10] = [
    // Leaves: they use nothing of the server.
    &[
        "error",
        "excerpt",
        "log_rate_limit",
        "named",
        "sharded",
        "tag_id",
        "wall_clock",
    ],
    &["trace"],
    &["api"],
    &["config"],
    &["net"],
    &["worker_ids"],
    &["service"],
    &["ops"],
    &["frontends"],
    &["server"],
];
/// The root of the crate names all of them.
const ROOT: &str = "crates/leafid-server/src/lib.rs";

/// A layer of the server uses only those below it.
pub(super) fn downward(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = files
        .iter()
        .filter(|file| file.path.starts_with(SERVER) && file.is_rust() && file.path != ROOT)
        .filter(|file| layer(&file.path).is_none())
        .map(|file| {
            let message = "in no layer: move it into a folder of one, or add it to LAYERS in \
                           xtask/src/tidy/layers.rs";
            Finding::new(&file.path, 1, message)
        })
        .collect();
    for (user, used, line) in Imports::of(files, SERVER).iter() {
        let (Some(above), Some(below)) = (layer(user), layer(used)) else {
            continue;
        };
        let is_leaf = above == 0;
        if below > above || (is_leaf && below == 0) {
            let message = format!(
                "uses {used}, which is in a higher layer: move what is shared down, or hand it in \
                 from above"
            );
            findings.push(Finding::new(user, line, message));
        }
    }
    findings
}

fn layer(path: &str) -> Option<usize> {
    let inside = path.strip_prefix(SERVER)?;
    let top = inside.split('/').next()?.trim_end_matches(".rs");
    LAYERS.iter().position(|layer| layer.contains(&top))
}

/// No two files of the server use each other.
pub(super) fn mutual(files: &[SourceFile]) -> Vec<Finding> {
    let imports = Imports::of(files, SERVER);
    imports
        .iter()
        .filter(|(user, used, _)| user < used && *user != ROOT && imports.has(used, user))
        .map(|(user, used, line)| {
            let message =
                format!("uses {used}, which uses it: move what both need into a file of its own");
            Finding::new(user, line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&[SourceFile]) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile::new(format!("{SERVER}{path}"), *text))
            .collect();
        let place = |finding: Finding| {
            let path = finding.path.trim_start_matches(SERVER);
            format!("{path}:{}", finding.line)
        };
        rule(&files).into_iter().map(place).collect()
    }

    #[test]
    fn a_lower_layer_does_not_use_a_higher_one() {
        let files = [
            ("config.rs", "//! x\nuse crate::service::Service;\n"),
            ("service.rs", "use crate::config::Config;\n"),
            ("net/tls.rs", "fn f() {\n    crate::ops::metrics::g();\n}\n"),
            ("ops.rs", ""),
            ("ops/metrics.rs", "use crate::net::tls;\n"),
        ];
        assert_eq!(found(downward, &files), ["config.rs:2", "net/tls.rs:2"]);
    }

    #[test]
    fn a_leaf_uses_nothing() {
        let files = [
            ("error.rs", "use crate::sharded::Sharded;\n"),
            ("sharded.rs", ""),
        ];
        assert_eq!(found(downward, &files), ["error.rs:1"]);
    }

    #[test]
    fn a_file_in_no_layer_is_named() {
        let files = [("lib.rs", "mod helpers;\n"), ("helpers.rs", "")];
        assert_eq!(found(downward, &files), ["helpers.rs:1"]);
    }

    #[test]
    fn two_files_do_not_use_each_other() {
        let files = [
            ("net.rs", "mod a;\nmod b;\nuse a::X;\n"),
            ("net/a.rs", "use super::b::Y;\n"),
            ("net/b.rs", "fn f() {\n    super::a::g();\n}\n"),
        ];
        assert_eq!(found(mutual, &files), ["net/a.rs:1"]);
        let parent = [
            ("net.rs", "mod a;\nuse a::X;\n"),
            ("net/a.rs", "use super::Y;\n"),
        ];
        assert_eq!(found(mutual, &parent), ["net.rs:2"]);
        let passes_on = [
            ("net.rs", "mod a;\npub use a::X;\n"),
            ("net/a.rs", "use super::Y;\n"),
        ];
        assert!(found(mutual, &passes_on).is_empty());
    }
}
