//! Guards the commands that people and scripts call, on a server and directly on a store.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use crate::server_process::{Server, command, run};

/// The two targets of a command: a server, and the store behind one.
struct Places {
    folder: TempDir,
    server: Server,
}

impl Places {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        Self { folder, server }
    }

    /// Checks a sequence of commands on both targets.
    fn each(self, check: impl Fn(&Path, [&str; 2])) {
        check(self.folder.path(), ["--server", &self.server.url]);
        self.server.stop();
        let other = tempdir().unwrap();
        check(other.path(), ["--data-dir", "ids"]);
    }
}

#[test]
fn next_takes_ids_from_both_places() {
    Places::new().each(|folder, place| {
        let next = |more: &[&str]| run(folder, &[&["next", "order"], more, &place].concat());
        assert_eq!(next(&[]).ok(), "1\n");
        assert_eq!(next(&["-n", "3"]).ok(), "2\n3\n4\n");
        let answer = next(&["--count", "2", "--json"]).json();
        assert_eq!(answer, json!({ "tag": "order", "ids": ["5", "6"] }));
        // More than a server issues in one call.
        let many = next(&["-n", "25000"]).ok();
        assert_eq!(many.lines().count(), 25_000);
        next(&["-n", "0"]).check_usage();
    });
}

/// Guards against waste: a command that takes three ids must not reserve a thousand.
#[test]
fn next_directly_on_a_store_takes_exactly_the_count() {
    let folder = tempdir().unwrap();
    let place = ["--data-dir", "ids"];
    let next = |count: &str| {
        run(
            folder.path(),
            &[&["next", "t", "-n", count][..], &place].concat(),
        )
    };
    assert_eq!(next("3").ok(), "1\n2\n3\n");
    let show = ["tag", "show", "t", "--json", "--data-dir", "ids"];
    assert_eq!(run(folder.path(), &show).json()["max_id"], "4");
}

#[test]
fn tags_are_created_listed_shown_changed_and_deleted_in_both_places() {
    Places::new().each(|folder, place| {
        let tag = |words: &[&str]| run(folder, &[&["tag"], words, &place].concat());
        let create = [
            "create",
            "order",
            "--start",
            "500",
            "--limit",
            "int32",
            "--description",
            "o",
        ];
        tag(&create).ok();
        tag(&create).check_failed(1, "exists", "leafid tag show");
        let shown = tag(&["show", "order", "--json"]).json();
        let expected = [("max_id", "500"), ("limit", "int32"), ("description", "o")];
        for (key, value) in expected {
            assert_eq!(shown[key], value, "{shown}");
        }
        let changed = tag(&["set", "order", "--step", "77", "--policy", "leaf", "--json"]).json();
        assert_eq!(
            (&changed["step"], &changed["policy"]["name"]),
            (&json!(77), &json!("leaf"))
        );
        let changed = tag(&["set", "order", "--policy", "default", "--description", ""]).ok();
        assert!(changed.contains("policy          default"), "{changed}");
        assert!(!changed.contains("description"), "{changed}");
        let repeating = "{may_repeat}{random 6}";
        let created = tag(&["create", "a b", "--format", repeating]);
        let warning = "texts of this format may repeat";
        created.check_note(warning);
        let created = created.ok();
        assert!(created.contains(warning), "{created}");
        assert!(tag(&["show", "a b"]).ok().contains(warning));
        assert!(tag(&["list"]).ok().contains(repeating));
        let list = tag(&["list", "--json"]).json();
        let names: Vec<_> = list["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| &row["tag"])
            .collect();
        assert_eq!(names, ["a b", "order"]);
        let page = tag(&["list", "-n", "1"]).ok();
        assert!(
            page.contains("there are more: leafid tag list --after 'a b'"),
            "{page}"
        );
        assert!(tag(&["list", "--after", "a b"]).ok().contains("int32"));
        tag(&["delete", "order"]).ok();
        tag(&["show", "order"]).check_failed(1, "", "leafid tag create");
        tag(&["delete", "order"]).check_failed(1, "", "leafid tag create");
        // Created again it continues above its former ids.
        assert!(tag(&["create", "order"]).ok().contains("from 500"));
    });
}

/// Guards that a script that reads the answer as JSON, or not at all, sees the warning.
#[test]
fn what_a_format_is_not_good_for_is_noted_when_the_tag_is_created() {
    Places::new().each(|folder, place| {
        let create = |tag: &str, format: &str| {
            let words = ["tag", "create", tag, "--format", format, "--json"];
            run(folder, &[&words[..], &place].concat())
        };
        for (tag, format, warning) in [
            ("hash", "{uuid5 namespace=url}", "cannot be decoded"),
            ("chance", "{may_repeat}{random 6}", "may repeat"),
            (
                "narrow",
                "{worker width=1}-{number}",
                "worker id is above 9",
            ),
        ] {
            let created = create(tag, format);
            created.check_note(warning);
            let row = created.json();
            assert_eq!(row["warnings"].as_array().unwrap().len(), 1, "{row}");
        }
        let plain = create("plain", "{number width=9}");
        assert!(!plain.errors.contains("note: "), "{plain:?}");
        assert_eq!(plain.json().get("warnings"), None);
    });
}

#[test]
fn a_server_logs_what_a_format_is_not_good_for() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let create = |tag: &str, format: &str| {
        let words = ["tag", "create", tag, "--format", format];
        run(
            folder.path(),
            &[&words[..], &["--server", &server.url]].concat(),
        )
        .ok();
    };
    create("plain", "{number width=9}");
    create("chance", "{may_repeat}{random 6}");
    let log = server.log();
    let warned: Vec<_> = log.lines().filter(|line| line.contains("warn")).collect();
    let is_of = |line: &str| line.contains("chance") && line.contains("may repeat");
    assert!(warned.iter().any(|line| is_of(line)), "{log}");
    assert!(!warned.iter().any(|line| line.contains("plain")), "{log}");
}

#[test]
fn wrong_command_lines_are_distinguished_from_failures() {
    let folder = tempdir().unwrap();
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    run(&["nxt"]).check_usage();
    let nothing = run(&[]);
    assert!(
        nothing.code == 2 && nothing.errors.contains("Usage: leafid"),
        "{nothing:?}"
    );
    run(&["tag", "set", "order"]).check_failed(2, "nothing to change", "--step");
    let both = ["next", "order", "--server", "x", "--data-dir", "y"];
    run(&both).check_failed(2, "both a server and a store", "leave out");
    let port = leafid_testbed::free_port();
    let url = format!("http://127.0.0.1:{port}");
    run(&["next", "order", "--server", &url]).check_failed(1, "no answer", "leafid serve");
    run(&["next", "order", "--server", "ftp://x"]).check_failed(
        2,
        "only http and https",
        "http://",
    );
    run(&["next", " order"]).check_usage();
}

#[test]
fn a_server_can_be_named_in_the_environment() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut next = command(folder.path(), &["next", "order"]);
    let next = crate::server_process::finish(next.env("LEAFID_SERVER", &server.url));
    assert_eq!(next.ok(), "1\n");
    server.stop();
}

/// Guards `leafid next ... | head -1`: a reader that has seen enough is not a failure.
#[test]
fn a_broken_pipe_is_no_failure() {
    let folder = tempdir().unwrap();
    let arguments = ["next", "order", "-n", "1000000", "--data-dir", "ids"];
    let mut child = command(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!((line.as_str(), output.status.code()), ("1\n", Some(0)));
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn help_begins_with_an_example() {
    let folder = tempdir().unwrap();
    let all = [
        "serve",
        "next",
        "tag",
        "quota",
        "health",
        "store",
        "config",
        "bench",
        "completions",
        "man",
    ];
    for name in all {
        let help = run(folder.path(), &[name, "--help"]).ok();
        assert!(help.starts_with("Example"), "{help}");
        let first = help.lines().nth(1).unwrap();
        assert!(first.starts_with(&format!("  leafid {name}")), "{help}");
    }
    assert!(
        run(folder.path(), &["--help"])
            .ok()
            .starts_with("Examples:\n  leafid serve")
    );
    assert!(
        run(folder.path(), &["--version"])
            .ok()
            .starts_with("leafid ")
    );
}

#[test]
fn completions_and_manual_pages_are_made() {
    let folder = tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(folder.path(), &["completions", shell]).ok();
        assert!(script.contains("store-statement-timeout"), "{shell}");
    }
    assert!(run(folder.path(), &["man"]).ok().contains(".TH leafid 1"));
    let written = run(folder.path(), &["man", "--out", "."]).ok();
    assert!(written.contains("leafid-tag-create.1"), "{written}");
    let page = std::fs::read_to_string(folder.path().join("leafid-serve.1")).unwrap();
    assert!(page.contains("shutdown\\-grace"), "{page}");
}

#[test]
fn bench_measures_in_process_and_over_http() {
    let folder = tempdir().unwrap();
    let measure = |more: &[&str]| {
        let report = run(
            folder.path(),
            &[&["bench", "--seconds", "1", "--json"], more].concat(),
        )
        .json();
        assert!(report["ids_per_second"].as_f64().unwrap() > 0.0, "{report}");
        assert_eq!(report["failures"], 0, "{report}");
        assert!(report["call_ns"]["p99.9"].as_u64().unwrap() > 0, "{report}");
        report["loop"].as_str().unwrap().to_owned()
    };
    assert_eq!(measure(&[]), "closed");
    assert_eq!(
        measure(&["--callers", "2", "--count", "10", "--data-dir", "ids"]),
        "closed"
    );
    let server = Server::start(folder.path(), &[]);
    assert_eq!(measure(&["--server", &server.url]), "closed");
    assert_eq!(measure(&["--server", &server.url, "--rate", "100"]), "open");
    server.stop();
}
