//! Guards `leafid worker` against a running server.

use tempfile::tempdir;

use crate::server_process::{Server, run};

#[test]
fn worker_ids_are_listed_shown_and_released() {
    let folder = tempdir().unwrap();
    let arguments = ["--store", "sqlite:shared.db", "--data-dir"];
    let server = Server::start(folder.path(), &[&arguments[..], &["a"]].concat());
    let other = Server::start(folder.path(), &[&arguments[..], &["b"]].concat());
    for asked in [&server, &other] {
        assert_eq!(asked.get("/api/snowflake/get/x").0, 200);
    }
    let ask_at = |asked: &Server, words: &[&str]| {
        let words = [&["worker"], words, &["--server", &asked.url]].concat();
        run(folder.path(), &words)
    };
    let ask = |words: &[&str]| ask_at(&server, words);
    let held = |asked: &Server| ask_at(asked, &["show", "--json"]).json()["worker"].clone();
    let (own, other_worker) = (held(&server).to_string(), held(&other).to_string());
    let shown = ask(&["show"]).ok();
    assert!(
        shown.contains(&format!("worker id           {own}\n")),
        "{shown}"
    );
    let listed = ask(&["list"]).ok();
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    // More where a claim was not answered in time: its worker id is left alone.
    assert!(rows.len() >= 3, "{listed}");
    let state = |worker: &str| {
        let row = rows.iter().find(|row| row[0] == worker);
        row.unwrap_or_else(|| panic!("{listed}"))[1]
    };
    assert_eq!((state(&own), state(&other_worker)), ("this", "held"));
    let kept = ask(&["release", &other_worker]);
    kept.check_failed(2, "ids can repeat", "--holder-is-dead");
    other.kill();
    // It is dead, but that cannot be known: it registered no address that other machines reach.
    let held = ask(&["release", &other_worker, "--holder-is-dead"]);
    let why = "its holder registered no address";
    held.check_failed(1, why, "wait until its lease ends");
    let alive = ask(&["release", &own, "--holder-is-dead"]);
    alive.check_failed(1, "is in use: this server holds it", "stop that server");
    ask(&["release", "77", "--holder-is-dead"]).check_failed(1, "worker id 77 has no row", "");
    server.stop();
}

/// Guards that a worker id is not released while its holder answers, whichever server is asked.
#[test]
fn a_holder_that_answers_keeps_its_worker_id() {
    let folder = tempdir().unwrap();
    let address = format!("127.0.0.1:{}", leafid_testbed::free_port());
    let shared = ["--store", "sqlite:shared.db", "--data-dir"];
    let named = ["--http", &address, "--worker-address", &address];
    let holder = Server::start_at(folder.path(), &[&shared[..], &["a"], &named].concat());
    assert_eq!(holder.get("/api/snowflake/get/x").0, 200);
    let other = Server::start(folder.path(), &[&shared[..], &["b"]].concat());
    assert_eq!(other.get("/api/snowflake/get/x").0, 200);
    let clock: serde_json::Value = serde_json::from_str(&holder.get("/v1/clock").1).unwrap();
    let number = |key: &str| clock[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(
        number("unix_ms").abs_diff(number("wall_ms")) <= 1000,
        "{clock}"
    );
    let worker = clock["worker"].to_string();
    let words = ["worker", "release", &worker, "--holder-is-dead", "--server"];
    let refused = run(folder.path(), &[&words[..], &[other.url.as_str()]].concat());
    let error = format!("the server at {address} answers that it holds it");
    refused.check_failed(1, &error, "stop that server");
    assert_eq!(other.post("/v1/clock/accept").0, 202);
    assert_eq!(other.get("/api/snowflake/get/x").0, 200);
    other.stop();
    holder.stop();
}
