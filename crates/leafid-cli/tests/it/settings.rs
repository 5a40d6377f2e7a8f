//! Guards the layers of settings through the binary: names, origins, mistakes, secrecy.

use std::path::Path;

use tempfile::tempdir;

use crate::server_process::{Run, SECRET, command, finish, run};

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn with_variables(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    finish(command(folder, arguments).envs(variables.iter().copied()))
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let folder = tempdir().unwrap();
    write(
        folder.path(),
        "leafid.toml",
        "step = 1\nwait-max = \"2s\"\nthreads = 3\n",
    );
    let arguments = ["config", "show", "--origin", "--step", "5"];
    let variables = [("LEAFID_STEP", "4"), ("LEAFID_THREADS", "2")];
    let shown = with_variables(folder.path(), &arguments, &variables).ok();
    let line = |key: &str| {
        let mut lines = shown.lines();
        let line = lines.find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("step ="), "step = 5 # --step");
    assert_eq!(line("threads"), "threads = 2 # LEAFID_THREADS");
    assert_eq!(line("wait-max"), "wait-max = \"2s\" # leafid.toml:2");
    assert_eq!(line("cover"), "cover = \"10m\" # default");
    // What is printed is a file with the same meaning.
    write(folder.path(), "leafid.toml", &shown);
    assert_eq!(
        run(folder.path(), &["config", "show"]).ok(),
        strip_origins(&shown)
    );
}

fn strip_origins(shown: &str) -> String {
    let strip = |line: &str| {
        let end = line.rfind("  # ").unwrap();
        format!("{}\n", line[..end].trim_end())
    };
    shown.lines().map(strip).collect()
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    let folder = tempdir().unwrap();
    write(
        folder.path(),
        "bad.toml",
        "wait_max = \"1s\"\nstep = \"many\"\n",
    );
    let check = ["config", "check", "--config", "bad.toml"];
    let failed = run(folder.path(), &check);
    failed.check_failed(
        1,
        "unknown key wait_max in bad.toml:1: did you mean wait-max?",
        "docs/",
    );
    failed.check_failed(
        1,
        "step is \"many\" (from bad.toml:2): not a whole number; allowed: 1 to",
        "",
    );
    let failed = with_variables(folder.path(), &["serve"], &[("LEAFID_HTPT", "x")]);
    failed.check_failed(
        1,
        "LEAFID_HTPT: did you mean LEAFID_HTTP?",
        "docs/config.md",
    );
    let failed = run(folder.path(), &["serve", "--htpt", "x"]);
    assert!(failed.errors.contains("'--http'"), "{failed:?}");
    let json = run(folder.path(), &[&check[..], &["--json"]].concat());
    let answer: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &answer["ok"]), (1, &false.into()));
    assert_eq!(answer["mistakes"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(
        run(folder.path(), &["config", "check", "--json"]).json()["ok"],
        true
    );
}

/// Guards the promise that no password is printed, by whatever command (every output is searched
/// where the binary is run).
#[test]
fn no_command_prints_a_password() {
    let folder = tempdir().unwrap();
    let port = leafid_testbed::free_port();
    let password = format!("{SECRET}/x@y");
    let named = format!("mysql://leaf@127.0.0.1:{port}/leaf");
    let inside = format!("mysql://leaf:{SECRET}%2Fx@127.0.0.1:{port}/leaf");
    let postgres = format!("postgres://leaf:{SECRET}@127.0.0.1:{port}/leaf");
    let broken = format!("mysql://leaf:{SECRET}#x@127.0.0.1:{port}/leaf");
    let variables = [("LEAFID_STORE_PASSWORD", password.as_str())];
    for url in [&named, &inside, &postgres, &broken] {
        let commands: [&[&str]; 9] = [
            &["config", "show", "--origin"],
            &["config", "show", "--json"],
            &["config", "check"],
            &["store", "check"],
            &["store", "init", "--json"],
            &["next", "order"],
            &["tag", "list"],
            &["bench", "--seconds", "1"],
            &["serve", "--http", "256.0.0.1:0"],
        ];
        for words in commands {
            let arguments = [words, &["--store", url]].concat();
            let run = with_variables(folder.path(), &arguments, &variables);
            assert!(run.code < 3, "{words:?} {url}: {run:?}");
        }
    }
    let shown = with_variables(folder.path(), &["config", "show"], &variables).ok();
    assert!(shown.contains("# store-password = \"***\""), "{shown}");
}

/// Guards against a command that works on another store than the given one.
#[test]
fn a_folder_does_not_lose_to_a_store_from_elsewhere() {
    let folder = tempdir().unwrap();
    let variables = [("LEAFID_STORE", "sqlite:other.db")];
    for words in [&["next", "t"][..], &["tag", "list"], &["store", "check"]] {
        let arguments = [words, &["--data-dir", "ids"]].concat();
        let failed = with_variables(folder.path(), &arguments, &variables);
        failed.check_failed(
            2,
            "LEAFID_STORE names a store, which wins",
            "leave out --data-dir",
        );
    }
    let both = [
        "next",
        "t",
        "--data-dir",
        "ids",
        "--store",
        "sqlite:mine.db",
    ];
    assert_eq!(with_variables(folder.path(), &both, &variables).ok(), "1\n");
    assert!(folder.path().join("mine.db").exists());
}

/// Guards against files that block forever when opened, or never end: each is refused by name.
#[test]
fn files_that_never_end_are_refused() {
    let folder = tempdir().unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let show = ["config", "show"];
    for name in ["pipe", "/dev/zero"] {
        for setting in ["--config", "--leaf-properties", "--store-password-file"] {
            let arguments = [&show[..], &["--store", "mysql://u@h/x", setting, name]].concat();
            let refused = run(folder.path(), &arguments);
            refused.check_failed(1, "it is not a regular file", "");
            assert!(refused.errors.contains(name), "{refused:?}");
        }
        let list = ["tag", "list", "--server", "http://127.0.0.1:1"];
        let list = [&list[..], &["--token-file", name]].concat();
        run(folder.path(), &list).check_failed(1, "it is not a regular file", "");
    }
    // Files that the shell passes are read.
    let mut shell = std::process::Command::new("bash");
    let script = "\"$0\" config show --config <(echo 'step = 7')";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_leafid")]);
    let shown = finish(shell.current_dir(folder.path())).ok();
    assert!(shown.contains("step = 7"), "{shown}");
}

#[test]
fn a_password_file_that_is_not_there_is_named() {
    let folder = tempdir().unwrap();
    let failed = run(
        folder.path(),
        &["config", "check", "--store-password-file", "nowhere"],
    );
    failed.check_failed(
        1,
        "store-password-file is \"nowhere\" (from --store-password-file)",
        "",
    );
}
