//! Guards that every code block of README.md and docs/ works as it is printed: each page has a
//! folder of its own, in which its blocks run in order with the real clients.
//!
//! | language | what is done with a block |
//! | --- | --- |
//! | `sh` | every command has to succeed; the text after `# => ` is its output |
//! | `console` | the lines below each `$ command` are its output |
//! | `toml`, `properties` | settings that `leafid config check` accepts |
//! | `yaml` | alert rules that `promtool` accepts |
//! | `sql` | runs on MariaDB and on PostgreSQL, on the tables of `leafid store init` |
//! | `rust` | a doc test of `leafid-stores` (`src/pages.rs`) |
//! | `go`, `python` | `the_examples_of_the_page_run` in the tests of `leafid-server` |
//! | `text` | nothing: diagrams, forms of URLs and lines of the log; it may hold no command |
//!
//! A block whose first line is a comment with the name of a file is that file, for all pages. A
//! block that no test machine can run has `<!-- not run: REASON -->` above it.

mod page;
mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use leafid_testbed::{run, shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::server_process;
use page::{Block, blocks, commands};
use session::Session;

/// The reasons for which a block may stay out, and what it must be about.
const REASONS: [(&str, &str); 5] = [
    ("changes the users and services of the machine", "sudo "),
    ("installs packages and takes minutes", "./test"),
    ("needs etcdctl, which no test installs", "etcdctl "),
    ("needs Docker; the image has a test", "docker "),
    ("needs a cluster; the chart has a test", "helm "),
];
/// A block of text may not begin a line with these: it would be a command that no test runs.
const PROGRAMS: [&str; 8] = [
    "leafid ",
    "curl ",
    "redis-cli ",
    "grpcurl ",
    "cargo ",
    "docker ",
    "kubectl ",
    "$ ",
];

/// A test for each page.
macro_rules! check_pages {
    ($($test:ident $page:literal)*) => {
        const PAGES: &[&str] = &[$($page),*];

        $(#[test]
        fn $test() {
            check($page);
        })*
    };
}

check_pages! {
    readme "README.md"
    access "docs/access.md"
    backup "docs/backup.md"
    config "docs/config.md"
    console "docs/console.md"
    deploy "docs/deploy.md"
    faults "docs/faults.md"
    formats "docs/formats.md"
    from_gear "docs/from-gear.md"
    from_leaf "docs/from-leaf.md"
    grpc "docs/grpc.md"
    http "docs/http.md"
    library "docs/library.md"
    operating "docs/operating.md"
    registries "docs/registries.md"
    resp "docs/resp.md"
    snowflake "docs/snowflake.md"
    tls "docs/tls.md"
    upgrade "docs/upgrade.md"
}

#[test]
fn every_page_has_a_test() {
    let mut pages = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages.sort();
    let mut tested = PAGES.to_vec();
    tested.sort_unstable();
    assert_eq!(pages, tested, "add the page to check_pages!");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks_of(page: &str) -> Vec<Block> {
    blocks(&fs::read_to_string(root().join(page)).unwrap())
}

/// Runs the blocks of a page.
fn check(page: &str) {
    let mut session = Session::new(page);
    for block in PAGES.iter().flat_map(|page| blocks_of(page)) {
        // Otherwise every command would read leafid.toml.
        if let Some(name) = block.file().filter(|name| *name != "leafid.toml") {
            session.write(name, &block.text);
        }
    }
    for block in blocks_of(page) {
        let place = format!("{page}:{}", block.line);
        match &block.reason {
            Some(reason) => check_reason(&block, reason, &place),
            None => check_block(&mut session, &block, page, &place),
        }
    }
    session.stop();
}

fn check_reason(block: &Block, reason: &str, place: &str) {
    let known = REASONS.iter().find(|(known, _)| *known == reason);
    let (_, word) = known.unwrap_or_else(|| panic!("{place}: unknown reason {reason:?}"));
    for command in commands(&block.text) {
        assert!(command.starts_with(word), "{place}: {command} can run");
    }
}

fn check_block(session: &mut Session, block: &Block, page: &str, place: &str) {
    match block.language.as_str() {
        "sh" => session.check_script(&block.text, place),
        "console" => session.check_conversation(&block.text, place),
        "toml" | "properties" => check_settings(session, block, place),
        "yaml" => check_rules(block),
        "sql" => check_sql(&block.text),
        "rust" | "rust,no_run" => {
            let tested = include_str!("../../../leafid-stores/src/pages.rs");
            assert!(tested.contains(page), "{place}: add it to the doc tests");
        }
        "go" | "python" => assert_eq!(page, "docs/grpc.md", "{place}"),
        "text" => {
            for line in block.text.lines() {
                let is_command = PROGRAMS.iter().any(|name| line.starts_with(name));
                assert!(!is_command, "{place}: a command in a block of text: {line}");
            }
        }
        other => panic!("{place}: no test for the language {other:?}"),
    }
}

/// Settings are checked as by `leafid serve`; the access file with its own flag.
fn check_settings(session: &mut Session, block: &Block, place: &str) {
    let (flag, name) = match (block.file(), block.language.as_str()) {
        (Some("access.toml"), _) => ("--access-file", "access.toml"),
        (_, "properties") => ("--leaf-properties", "leaf.properties"),
        _ => ("--config", "settings.toml"),
    };
    session.write(name, &block.text);
    session.check_script(&format!("leafid config check {flag} {name}"), place);
}

fn check_rules(block: &Block) {
    let folder = tempdir().unwrap();
    let rules = folder.path().join("rules.yml");
    fs::write(&rules, &block.text).unwrap();
    let printed = run(Command::new("promtool").args(["check", "rules"]).arg(rules));
    assert!(printed.contains("SUCCESS: 1 rules found"), "{printed}");
}

fn check_sql(statements: &str) {
    let folder = tempdir().unwrap();
    let init = |url: &str| {
        server_process::run(folder.path(), &["store", "init", "--store", url]).ok();
    };
    let database = shared_mariadb().create_database();
    init(&database.url);
    shared_mariadb().sql(&database.name, statements);
    let database = shared_postgres().create_database();
    init(&database.url);
    shared_postgres().sql(&database.name, statements);
}
