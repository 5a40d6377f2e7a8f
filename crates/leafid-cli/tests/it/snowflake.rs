//! Guards snowflake ids on the real binary: Leaf's API, the worker id across restarts, two servers
//! on one registry, fixed worker ids, and invalid settings.

use std::collections::HashSet;
use std::path::Path;

use leafid::Layout;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::server_process::{Server, command, finish, run, until};

/// Starts a server with a folder of its own, so that two can run in one.
fn start(folder: &Path, own: &str, arguments: &[&str]) -> Server {
    let own = ["--data-dir", own];
    let server = Server::start(folder, &[&own[..], arguments].concat());
    wait_for_worker(&server);
    server
}

fn wait_for_worker(server: &Server) {
    for _ in 0..500 {
        if own(server)["stage"] != "starting" {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("no worker id: {}", server.log());
}

fn get(server: &Server, path: &str) -> Value {
    let (_, body) = server.get(path);
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn own(server: &Server) -> Value {
    get(server, "/v1/worker")
}

fn worker(server: &Server) -> u32 {
    let worker = own(server)["worker"].as_u64();
    let worker = worker.unwrap_or_else(|| panic!("{}", own(server)));
    u32::try_from(worker).unwrap()
}

fn id(server: &Server) -> u64 {
    let (status, body) = server.get("/api/snowflake/get/order");
    assert_eq!(status, 200, "{body}");
    body.parse().unwrap()
}

/// Guards the promise of one command without set-up.
#[test]
fn ids_are_distinct_and_carry_the_worker_id() {
    let folder = tempdir().unwrap();
    let server = start(folder.path(), "a", &[]);
    let ids: HashSet<u64> = (0..1000).map(|_| id(&server)).collect();
    assert_eq!(ids.len(), 1000);
    let worker = worker(&server);
    assert!(
        ids.iter()
            .all(|id| Layout::LEAF.decompose(*id).worker.get() == worker)
    );
    let decoded = get(&server, &format!("/v1/decode/{}", id(&server)));
    assert_eq!(decoded["worker_id"], worker, "{decoded}");
    for (method, key) in [("POST", "x"), ("GET", "any%20key")] {
        let path = format!("{}/api/snowflake/get/{key}", server.url);
        let answer = match method {
            "POST" => ureq::post(&path).send_empty(),
            _ => ureq::get(&path).call(),
        };
        let text = answer.unwrap().body_mut().read_to_string().unwrap();
        assert!(text.parse::<u64>().is_ok(), "{method} {text}");
    }
    server.stop();
}

/// Guards that a restart, even after a crash, claims the same worker id and continues above its
/// ids.
#[test]
fn a_restart_keeps_the_worker_id() {
    let folder = tempdir().unwrap();
    let mut largest = 0;
    let mut workers = HashSet::new();
    for round in 0..4 {
        let server = start(folder.path(), "a", &[]);
        workers.insert(worker(&server));
        let next = id(&server);
        assert!(next > largest, "{next} after {largest} in round {round}");
        largest = next;
        match round % 2 {
            0 => server.kill(),
            _ => server.stop(),
        }
    }
    assert_eq!(workers.len(), 1);
}

/// Guards that servers of one registry differ, and that a stopped one frees its worker id.
#[test]
fn servers_on_one_registry_differ() {
    let folder = tempdir().unwrap();
    let registry = ["--store", "sqlite:shared.db"];
    let first = start(folder.path(), "a", &registry);
    let second = start(folder.path(), "b", &registry);
    let (of_first, of_second) = (worker(&first), worker(&second));
    assert_ne!(of_first, of_second);
    let rows = get(&second, "/v1/workers");
    let rows = rows["workers"].as_array().unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (&row["held"], &row["own"])).collect();
    assert_eq!(
        shown,
        [(&json!(true), &json!(false)), (&json!(true), &json!(true))]
    );
    first.stop();
    let third = start(folder.path(), "c", &registry);
    assert_eq!(worker(&third), of_first);
    third.stop();
    second.stop();
}

/// Guards against two servers that write one journal.
#[test]
fn a_second_server_on_one_folder_is_refused() {
    let folder = tempdir().unwrap();
    let server = start(folder.path(), "a", &[]);
    let arguments = ["serve", "--http", "127.0.0.1:0", "--data-dir", "a"];
    let second = finish(&mut command(folder.path(), &arguments));
    second.check_failed(
        1,
        "another leafid process uses the journal",
        "choose another directory with --data-dir DIR, or turn snowflake ids off",
    );
    let segments = Server::start(folder.path(), &["--data-dir", "a", "--snowflake=false"]);
    assert_eq!(segments.get("/api/segment/get/order"), (200, "1".into()));
    let (status, body) = segments.get("/api/snowflake/get/order");
    assert_eq!(status, 500);
    assert!(body.contains("set snowflake = true"), "{body}");
    assert_eq!(segments.get("/v1/worker").0, 501);
    segments.stop();
    server.stop();
}

/// Guards the metrics and statuses for operators.
#[test]
fn metrics_and_readiness_show_the_worker_id() {
    let folder = tempdir().unwrap();
    let server = start(folder.path(), "a", &["--segment=false"]);
    let before = id(&server);
    assert!(before > 0);
    let (_, metrics) = server.get("/metrics");
    for line in [
        "leafid_worker_id{pool=\"default\"} 0.0",
        "leafid_worker_lease_seconds 3600.0",
        "leafid_snowflake_borrowed_max_seconds 1.0",
        "leafid_worker_ready 1.0",
        "leafid_worker_claims_total 1",
        "leafid_worker_losses_total 0",
        "leafid_worker_quarantines_total 0",
        "leafid_registry_up 1.0",
        "leafid_registry_failures_total 0",
        "leafid_clock_steps_total 0",
        "leafid_layout_end_timestamp_seconds 3487858230.208",
        "leafid_snowflake_ids_total 1",
        "leafid_ready 1.0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    for name in [
        "leafid_worker_lease_left_seconds 3",
        "leafid_clock_offset_seconds ",
        "leafid_snowflake_borrowed_seconds ",
    ] {
        assert!(
            metrics.lines().any(|found| found.starts_with(name)),
            "{name}: {metrics}"
        );
    }
    let (_, verbose) = server.get("/readyz?verbose");
    for line in [
        "[+]worker: holds worker id 0, leased for 3",
        "[+]registry: answers",
        "[+]clock: the wall clock is ",
        "[+]layout: lasts until 2080-07-10",
    ] {
        assert!(
            verbose.lines().any(|found| found.starts_with(line)),
            "{line}: {verbose}"
        );
    }
    server.stop();
    let off = Server::start(folder.path(), &["--snowflake=false"]);
    let (_, metrics) = off.get("/metrics");
    assert!(!metrics.contains("leafid_worker"), "{metrics}");
    off.stop();
}

/// Guards that a server without a worker id is not ready if it only serves snowflake ids.
#[test]
fn without_segments_the_worker_id_decides_readiness() {
    let folder = tempdir().unwrap();
    let shared = ["--store", "sqlite:shared.db", "--worker-id", "7"];
    let first = start(folder.path(), "a", &shared);
    let arguments = [&shared[..], &["--data-dir", "b", "--segment=false"]].concat();
    let second = Server::start_unready(folder.path(), &arguments);
    wait_for_worker(&second);
    assert_eq!(second.get("/readyz"), (503, "not ready\n".into()));
    first.stop();
    second.wait_until_ready();
    assert_eq!(worker(&second), 7);
    second.stop();
}

/// Guards that the worker id of a running server is not released by mistake.
#[test]
fn a_living_holder_keeps_its_worker_id() {
    let folder = tempdir().unwrap();
    let server = start(folder.path(), "a", &[]);
    let release = |id: &str, body: Value| {
        let url = format!("{}/v1/workers/{id}/release", server.url);
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build();
        let mut answer = ureq::Agent::from(agent).post(url).send_json(body).unwrap();
        let problem: Value = answer.body_mut().read_json().unwrap();
        (
            answer.status().as_u16(),
            problem["code"].as_str().unwrap().to_owned(),
        )
    };
    let code = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(
        release("0", json!({ "dead": true })),
        code(409, "worker_alive")
    );
    assert_eq!(
        release("0", json!({ "dead": false })),
        code(400, "bad_field")
    );
    assert_eq!(release("0", json!({})), code(400, "bad_field"));
    assert_eq!(
        release("5", json!({ "dead": true })),
        code(404, "unknown_worker")
    );
    assert_eq!(
        release("x", json!({ "dead": true })),
        code(400, "bad_field")
    );
    assert_eq!(worker(&server), 0);
    server.stop();
}

/// Guards that a fixed worker id is claimed, and that two servers with the same one are detected.
#[test]
fn a_fixed_worker_id_is_taken_once() {
    let folder = tempdir().unwrap();
    let shared = ["--store", "sqlite:shared.db", "--worker-id", "7"];
    let first = start(folder.path(), "a", &shared);
    assert_eq!(worker(&first), 7);
    let second = start(folder.path(), "b", &shared);
    let refused = own(&second);
    assert_eq!(refused["stage"], "refused", "{refused}");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("worker id 7 is held by"), "{reason}");
    // Segment ids continue.
    assert_eq!(second.get("/api/segment/get/order").0, 200);
    let (status, body) = second.get("/api/snowflake/get/order");
    assert_eq!(status, 500);
    assert!(body.contains("worker id 7 is held by"), "{body}");
    second.stop();
    first.stop();
    let alone = start(
        folder.path(),
        "c",
        &["--worker-id", "7", "--registry", "none"],
    );
    assert_eq!(worker(&alone), 7);
    assert!(own(&alone)["until"].is_null(), "{}", own(&alone));
    assert_eq!(alone.get("/v1/workers").0, 501);
    alone.stop();
}

#[test]
fn the_ordinal_of_a_pod_is_its_worker_id() {
    let folder = tempdir().unwrap();
    let arguments = ["--worker-id", "ordinal"];
    let server = Server::start_with(folder.path(), &arguments, &[("HOSTNAME", "leafid-3")]);
    wait_for_worker(&server);
    assert_eq!(worker(&server), 3);
    server.stop();
    let arguments = [&["serve", "--http", "127.0.0.1:0"], &arguments[..]].concat();
    let mut laptop = command(folder.path(), &arguments);
    let failed = finish(laptop.env("HOSTNAME", "laptop"));
    failed.check_failed(
        1,
        "HOSTNAME is \"laptop\", which does not end in a hyphen",
        "",
    );
}

/// Guards that with no worker id left, snowflake ids are refused with the holders named, and
/// segment ids continue.
#[test]
fn exhaustion_names_the_holders() {
    let folder = tempdir().unwrap();
    let tiny = [
        "--store",
        "sqlite:shared.db",
        "--layout",
        "time41x1ms/worker1/sequence21@2020-01-01T00:00:00Z",
        "--clock-offset-max=1s",
        "--journal-ahead=500ms",
        "--ahead-max=0s",
        "--worker-lease=10s",
    ];
    let named = |own: &str| {
        let address = format!("{own}.example:8080");
        let named = ["--worker-address", &address];
        start(folder.path(), own, &[&tiny[..], &named].concat())
    };
    let (first, second, third) = (named("a"), named("b"), named("c"));
    let (status, body) = third.get("/api/snowflake/get/order");
    assert_eq!(status, 500);
    for part in [
        "all 2 worker ids are held",
        "a.example:8080",
        "b.example:8080",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(third.get("/api/segment/get/order").0, 200);
    let (status, verbose) = third.get("/readyz?verbose");
    assert_eq!(status, 200, "{verbose}");
    assert!(
        verbose.contains("[-]worker: refused: all 2 worker ids"),
        "{verbose}"
    );
    let log = third.log();
    assert!(log.contains("alarm: all worker ids are held"), "{log}");
    // The worker id of a dead server can be claimed once its lease has ended.
    first.kill();
    until("worker id of the dead one", || {
        (own(&third)["stage"] == "holding").then_some(())
    });
    assert_eq!(worker(&third), 0);
    third.stop();
    second.stop();
}

/// Guards that invalid settings are reported before anything starts, with what to set instead.
#[test]
fn settings_that_cannot_be_used_are_named() {
    let folder = tempdir().unwrap();
    let check = |arguments: &[&str], error: &str| {
        let words = [&["config", "check"], arguments].concat();
        let failed = run(folder.path(), &words);
        assert_eq!(failed.code, 1, "{failed:?}");
        assert!(failed.errors.contains(error), "{error}: {failed:?}");
    };
    check(&["--worker-id=-1"], "worker-id is \"-1\"");
    check(&["--worker-id", "1024"], "worker-id is \"1024\"");
    check(
        &["--worker-id", "first"],
        "neither a worker id nor the name of a source",
    );
    check(
        &["--registry", "none"],
        "worker-id must be a number or ordinal",
    );
    check(
        &["--registry", "oracle://x/y"],
        "unknown store scheme \"oracle\"",
    );
    check(&["--layout", "leav"], "\"leav\" is not a layout");
    check(
        &["--layout", "time41x1ms/worker10/sequence12"],
        "has no epoch",
    );
    check(&["--clock-policy", "borow"], "did you mean borrow?");
    check(&["--worker-lease", "1s"], "too small");
    check(&["--worker-address", "nowhere"], "not a host and a port");
    check(&["--worker-pool", ""], "a name must not be empty");
    let started = |arguments: &[&str], error: &str| {
        let words = [&["serve", "--http", "127.0.0.1:0"], arguments].concat();
        run(folder.path(), &words).check_failed(1, error, "");
    };
    started(
        &["--layout", "baidu"],
        "no snowflake id can be made: the layout baidu",
    );
    started(
        &["--layout", "discord"],
        "no snowflake id can be made: the layout discord",
    );
    started(
        &["--worker-pool", "a/b"],
        "a worker pool cannot be named \"a/b\"",
    );
}
