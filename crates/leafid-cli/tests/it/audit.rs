//! Guards the audit log on the real binary: in the log, in the store's table, and as it is shown.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use leafid_testbed::{LEAF_ALLOC, shared_mariadb, shared_postgres};
use serde_json::Value;
use tempfile::tempdir;

use crate::server_process::{SECRET, Server, command, finish, run, until};

fn secret(name: &str) -> String {
    format!("{SECRET}-of-{name}-and-more")
}

/// An access file with an admin's token, "ops", and "shop".
fn write_access(folder: &Path) {
    let token = |name: &str, more: &str| {
        let secret = secret(name);
        format!("[[token]]\nname = \"{name}\"\nsecret = \"{secret}\"\n{more}\n")
    };
    let text = [token("ops", "admin = true"), token("shop", "")].concat();
    let path = folder.join("access.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Runs a command against a server with a token.
fn as_token(name: &str, server: &Server, words: &[&str]) -> crate::server_process::Run {
    let folder = tempdir().unwrap();
    let arguments = [words, &["--server", &server.url]].concat();
    finish(command(folder.path(), &arguments).env("LEAFID_TOKEN", secret(name)))
}

impl Server {
    /// The worker id held, once there is one.
    fn worker_id(&self, token: &str) -> Option<u64> {
        let (_, answer) = self.get_as("/v1/worker", &secret(token));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["worker"].as_u64()
    }

    /// Status and body of a POST with a token.
    fn post_as(&self, path: &str, token: &str) -> (u16, String) {
        let agent = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = ureq::Agent::from(agent.build());
        let post = agent.post(format!("{}{path}", self.url));
        let post = post.header("authorization", format!("Bearer {}", secret(token)));
        let mut answer = post.send_empty().unwrap();
        let body = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), body)
    }
}

/// The log lines that record something.
fn lines(server: &Server) -> Vec<String> {
    let log = server.log();
    let lines = log
        .lines()
        .filter(|line| line.contains(" audit: ") || line.contains("\"target\":\"audit\""));
    lines.map(str::to_owned).collect()
}

/// Action, subject, token, and whether there is a before and an after, of each change.
fn short(changes: &Value) -> Vec<String> {
    let changes = changes["changes"].as_array().unwrap().iter();
    let short = changes.map(|change| {
        let text = |key: &str| change[key].as_str().unwrap_or("-").to_owned();
        let has = |key: &str| if change[key].is_null() { "-" } else { "+" };
        let (action, subject, token) = (text("action"), text("subject"), text("token"));
        format!(
            "{action} {subject} by {token} {}{}",
            has("before"),
            has("after")
        )
    });
    short.collect()
}

fn check_on(folder: &Path, store: &[&str]) {
    write_access(folder);
    let arguments = [&["--access-file", "access.toml"], store].concat();
    let server = Server::start(folder, &arguments);
    let ops = |words: &[&str]| as_token("ops", &server, words).ok();
    ops(&["tag", "create", "order", "--description", "a\nb"]);
    ops(&["tag", "set", "order", "--step", "7", "--next", "4000"]);
    ops(&["tag", "delete", "order"]);
    ops(&["quota", "set", "5", "--all"]);
    let refused = as_token("shop", &server, &["tag", "create", "mine"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let expected = [
        "quota changed this server by ops -+",
        "tag deleted order by ops +-",
        "tag raised order by ops ++",
        "tag changed order by ops ++",
        "tag created order by ops -+",
    ];
    let shown: Value = serde_json::from_str(&ops(&["audit", "-n", "5", "--json"])).unwrap();
    assert_eq!(short(&shown), expected);
    let table = ops(&["audit", "--limit", "5"]);
    assert_eq!(table.lines().count(), 6, "{table}");
    assert!(table.contains(r"description="), "{table}");
    assert_eq!(as_token("shop", &server, &["audit"]).code, 1);
    let lines = lines(&server);
    assert_eq!(lines.len(), 6, "{lines:#?}");
    let deleted = &lines[3];
    for part in [
        "tag deleted",
        "token=\"ops\"",
        "address=\"127.0.0.1:",
        "subject=\"order\"",
        "before=\"max_id=4000 step=7 ",
        "after=\"\"",
    ] {
        assert!(deleted.contains(part), "no {part} in {deleted}");
    }
    let attempt = &lines[5];
    assert!(
        attempt.contains("WARN audit: refused: tag created: "),
        "{attempt}"
    );
    assert!(
        attempt.contains("token=\"shop\"") && attempt.contains("subject=\"mine\""),
        "{attempt}"
    );
    server.stop();
    // Directly on the store, and what a command does to it.
    run(folder, &[&["tag", "create", "behind"], store].concat()).ok();
    let shown = run(folder, &[&["audit", "--json", "-n", "2"], store].concat()).json();
    let first = "tag created behind by - -+";
    assert_eq!(short(&shown), [first, expected[0]]);
    let by = shown["changes"][0]["address"].as_str().unwrap();
    assert!(by.starts_with("command line, user id "), "{by}");
}

#[test]
fn changes_are_recorded_in_sqlite() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("leafid-data");
    check_on(folder.path(), &["--data-dir", path.to_str().unwrap()]);
}

#[test]
fn changes_are_recorded_in_mariadb() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    let store = ["--store", &database.url];
    run(folder.path(), &[&["store", "init"][..], &store].concat()).ok();
    check_on(folder.path(), &store);
}

#[test]
fn changes_are_recorded_in_postgres() {
    let folder = tempdir().unwrap();
    let database = shared_postgres().create_database();
    let store = ["--store", &database.url];
    run(folder.path(), &[&["store", "init"][..], &store].concat()).ok();
    check_on(folder.path(), &store);
}

#[test]
fn worker_ids_and_clocks_are_recorded() {
    let folder = tempdir().unwrap();
    write_access(folder.path());
    let database = shared_mariadb().create_database();
    run(folder.path(), &["store", "init", "--store", &database.url]).ok();
    let store = ["--store", &database.url, "--access-file", "access.toml"];
    let server = Server::start(folder.path(), &store);
    let own = until("a worker id", || server.worker_id("ops"));
    // Of a server that died long ago.
    let dead = "INSERT INTO leafid_worker (pool, worker, epoch, holder, address, until_ms) \
        SELECT pool, worker + 1, 3, 'h', '192.0.2.7:8080', 1700000000000 FROM leafid_worker";
    shared_mariadb().sql(&database.name, dead);
    let dead = (own + 1).to_string();
    let release = ["worker", "release", &dead, "--holder-is-dead"];
    as_token("ops", &server, &release).ok();
    assert_eq!(as_token("shop", &server, &release).code, 1);
    assert_eq!(server.post_as("/v1/clock/accept", "shop").0, 403);
    assert_eq!(server.post_as("/v1/clock/accept", "ops").0, 202);
    let answer = as_token("ops", &server, &["audit", "--json", "-n", "2"]).json();
    let expected = [
        "clock accepted this server by ops ++".to_owned(),
        format!("worker id released {dead} by ops ++"),
    ];
    assert_eq!(short(&answer), expected);
    let released = &answer["changes"][1];
    let before = "holder=h address=192.0.2.7:8080 epoch=3 until=2023-11-14T22:13:20Z";
    assert_eq!(released["before"], before);
    assert_eq!(released["after"], "free");
    let refused = lines(&server)
        .iter()
        .filter(|line| line.contains("refused: "))
        .count();
    assert_eq!(refused, 2);
    server.stop();
}

/// Guards that Leaf's own table is enough: changes are made, and the log says once that they are
/// recorded nowhere else.
#[test]
fn a_store_without_the_table_still_works() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, LEAF_ALLOC);
    let server = Server::start(
        folder.path(),
        &["--store", &database.url, "--log-format", "json"],
    );
    for tag in ["a", "b", "c"] {
        let create = ["tag", "create", tag, "--server", &server.url];
        run(folder.path(), &create).ok();
    }
    let failed = run(folder.path(), &["audit", "--server", &server.url]);
    failed.check_failed(1, "the table leafid_audit is missing", "");
    let lines: Vec<Value> = lines(&server)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |text: &str| {
        let lines = lines.iter().map(|line| &line["fields"]);
        let of = lines.filter(|fields| fields["message"].as_str().unwrap().starts_with(text));
        of.cloned().collect::<Vec<Value>>()
    };
    assert_eq!(of("tag created").len(), 3);
    assert_eq!(of("tag created")[2]["subject"], "c");
    let missing = of("not in leafid_audit");
    assert_eq!(missing.len(), 1, "{missing:?}");
    let error = missing[0]["error"].as_str().unwrap();
    assert!(error.contains("leafid store init"), "{error}");
    server.stop();
    let create = run(
        folder.path(),
        &["tag", "create", "d", "--store", &database.url],
    );
    assert!(
        create
            .errors
            .starts_with("note: the change was made, but is not"),
        "{create:?}"
    );
    create.ok();
}

/// Guards that unauthorized attempts do not fill the disk, and do not hide those of another token.
#[test]
fn refused_attempts_are_logged_a_few_times() {
    let folder = tempdir().unwrap();
    write_access(folder.path());
    let server = Server::start(folder.path(), &["--access-file", "access.toml"]);
    for _ in 0..50 {
        assert_eq!(server.post("/v1/clock/accept").0, 401);
        assert_eq!(server.get_as("/v1/audit", "none of them").0, 401);
    }
    let told = lines(&server).len();
    assert!((1..=20).contains(&told), "{told}");
    assert_eq!(server.post_as("/v1/clock/accept", "shop").0, 403);
    let by_shop = |line: &String| line.contains("shop") && line.contains("refused: ");
    assert_eq!(
        lines(&server).iter().filter(|line| by_shop(line)).count(),
        1
    );
    server.stop();
}

/// Guards that a restored store reports that itself.
#[test]
fn bringing_a_store_back_is_recorded() {
    let folder = tempdir().unwrap();
    let in_folder = |words: &[&str]| {
        run(
            folder.path(),
            &[words, &["--data-dir", "leafid-data"]].concat(),
        )
    };
    in_folder(&["tag", "create", "order"]).ok();
    in_folder(&["store", "backup", "copy.db"]).ok();
    in_folder(&["store", "restore", "copy.db", "--margin", "1000"]).ok();
    let changes = in_folder(&["audit", "--json"]).json();
    let expected = [
        "store restored copy.db by - -+",
        "tag created order by - -+",
    ];
    assert_eq!(short(&changes), expected);
    assert_eq!(changes["changes"][0]["after"], "tags=1 margin=1000");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.get("/api/segment/get/order").1, "1001");
    server.stop();
}
