//! Guards `leafid store` on real servers: tables are created, weak settings are named.

use std::collections::HashSet;

use leafid_testbed::{MariaDb, shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::server_process::{Server, ids, run, until};

#[test]
fn init_makes_the_tables_and_check_finds_them_good() {
    let folder = tempdir().unwrap();
    let databases = [
        shared_mariadb().create_database(),
        shared_postgres().create_database(),
    ];
    for database in databases {
        let store = |words: &[&str]| {
            run(
                folder.path(),
                &[&["store"], words, &["--store", &database.url]].concat(),
            )
        };
        let created = store(&["init", "--json"]).json();
        let tables = [
            "leaf_alloc",
            "leafid_tag",
            "leafid_worker",
            "leafid_pool",
            "leafid_audit",
        ];
        assert_eq!(created["created"], serde_json::json!(tables), "{created}");
        assert!(
            store(&["init"])
                .ok()
                .contains("found leaf_alloc, leafid_tag, leafid_worker, leafid_pool, leafid_audit")
        );
        let checked = store(&["check", "--json"]).json();
        assert_eq!(
            (&checked["ok"], &checked["own_table"]),
            (&true.into(), &true.into())
        );
        let text = store(&["check"]).ok();
        assert!(text.contains("durable   yes"), "{text}");
        // On this machine that is no danger.
        let connection = checked["connection"].as_str().expect("a word");
        assert!(["plain", "unverified"].contains(&connection), "{checked}");
        assert!(
            text.contains("connected ") && !text.contains("exposed "),
            "{text}"
        );
    }
}

/// Guards that each server of a list is checked: one that is down, one that is weak, one without
/// tables; and that the one in use decides.
#[test]
fn check_looks_at_each_server_of_a_list() {
    let folder = tempdir().unwrap();
    let weak = MariaDb::start_with(&["--sync-binlog=0", "--log-bin=bin"]);
    let (second, third) = (
        weak.create_database().url,
        shared_mariadb().create_database(),
    );
    let away = format!(
        "mysql://leaf@127.0.0.1:{}/leaf",
        leafid_testbed::free_port()
    );
    for url in [&second, &third.url] {
        run(folder.path(), &["store", "init", "--store", url]).ok();
    }
    let list = |urls: &[&str]| urls.join(",");
    let all = list(&[&away, &third.url, &second]);
    let checked = run(folder.path(), &["store", "check", "--store", &all]);
    checked.check_failed(1, "ids come twice", "sync_binlog to 1");
    for part in [
        "location  mysql://leaf@",
        "unusable  ",
        "weak      sync_binlog is 0",
    ] {
        assert!(checked.out.contains(part), "{part} is not in: {checked:?}");
    }
    assert_eq!(
        checked.out.matches("product   MariaDB").count(),
        2,
        "{checked:?}"
    );
    let json = run(
        folder.path(),
        &["store", "check", "--json", "--store", &all],
    );
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let servers = json["servers"].as_array().unwrap();
    let usable: Vec<bool> = servers.iter().map(|one| one["usable"] == true).collect();
    assert_eq!(usable, [false, true, true], "{json}");
    assert_eq!(json["location"], servers[1]["location"], "{json}");
    assert_eq!(
        (&json["ok"], &json["usable"]),
        (&false.into(), &true.into())
    );

    // Leaf's table is missing on the last one: the first two decide which is used.
    shared_mariadb().sql(&third.name, "DROP TABLE leaf_alloc");
    let none = run(
        folder.path(),
        &["store", "check", "--store", &list(&[&away, &third.url])],
    );
    none.check_failed(1, "cannot", "");
    assert!(none.out.contains("a table is missing"), "{none:?}");
}

/// Guards that a table of an older version is named with the command that upgrades it, and is not
/// an error.
#[test]
fn an_older_table_is_named_with_the_command_that_mends_it() {
    let folder = tempdir().unwrap();
    let database = shared_postgres().create_database();
    let store = ["--store", &database.url];
    let store = |words: &[&str]| run(folder.path(), &[words, &store].concat());
    store(&["store", "init"]).ok();
    let older = "ALTER TABLE leafid_tag DROP COLUMN segment_max";
    shared_postgres().sql(&database.name, older);
    let text = store(&["store", "check"]).ok();
    let command = format!(
        "leafid_tag.segment_max not there: run `leafid store init --store postgres://leafid@127.0.0.1:{}/{}`",
        shared_postgres().port(),
        database.name
    );
    assert!(text.contains(&command), "{text}");
    let json = store(&["store", "check", "--json"]).json();
    assert_eq!(
        json["missing"],
        serde_json::json!(["leafid_tag.segment_max"])
    );
    let init = store(&["store", "init"]).ok();
    assert!(init.contains("added leafid_tag.segment_max"), "{init}");
    let text = store(&["store", "check"]).ok();
    assert!(!text.contains("old  "), "{text}");
}

/// Guards the warning before the first power cut: the setting and its safe value.
#[test]
fn a_weak_store_fails_the_check_and_stops_the_server() {
    let folder = tempdir().unwrap();
    let server = MariaDb::start_with(&["--innodb-flush-log-at-trx-commit=2"]);
    let url = server.create_database().url;
    run(folder.path(), &["store", "init", "--store", &url]).ok();
    let next = "innodb_flush_log_at_trx_commit to 1";
    let checked = run(folder.path(), &["store", "check", "--store", &url]);
    checked.check_failed(1, "ids come twice", next);
    assert!(
        checked
            .out
            .contains("weak      innodb_flush_log_at_trx_commit is 2"),
        "{checked:?}"
    );
    let served = run(
        folder.path(),
        &["serve", "--http", "127.0.0.1:0", "--store", &url],
    );
    served.check_failed(1, "innodb_flush_log_at_trx_commit", "--allow-weak-store");
    Server::start(folder.path(), &["--store", &url, "--allow-weak-store"]).stop();
}

/// Guards that no command takes ids from such a store silently.
#[test]
fn a_weak_store_gives_a_command_no_ids() {
    let folder = tempdir().unwrap();
    let server = MariaDb::start_with(&["--innodb-flush-log-at-trx-commit=2"]);
    let url = server.create_database().url;
    run(folder.path(), &["store", "init", "--store", &url]).ok();
    let create = ["tag", "create", "order", "--store", &url];
    let refused = run(folder.path(), &create);
    refused.check_failed(1, "innodb_flush_log_at_trx_commit", "--allow-weak-store");
    run(
        folder.path(),
        &[&create[..], &["--allow-weak-store"]].concat(),
    )
    .ok();
    let next = ["next", "order", "--store", &url];
    run(folder.path(), &next).check_failed(1, "ids repeat", "--allow-weak-store");
    let allowed = run(
        folder.path(),
        &[&next[..], &["--allow-weak-store"]].concat(),
    );
    assert_eq!(allowed.ok(), "1\n");
}

/// Guards that a server which becomes weak, or is replaced behind the same address, is checked at
/// the next connection, with an alarm and a count; and that ids resume when it is durable again.
#[test]
fn a_store_that_turns_weak_gives_no_more_ids() {
    let folder = tempdir().unwrap();
    let store = MariaDb::start();
    let url = store.create_database().url;
    run(folder.path(), &["store", "init", "--store", &url]).ok();
    let create = [
        "tag", "create", "order", "--step", "10", "--policy", "fixed",
    ];
    run(folder.path(), &[&create[..], &["--store", &url]].concat()).ok();
    let server = Server::start(
        folder.path(),
        &["--store", &url, "--registry", "none", "--worker-id", "0"],
    );
    let mut seen = HashSet::new();
    let mut next = || {
        let (status, body) = server.get("/v1/tags/order/ids");
        let news = ids(&body);
        assert!(
            status != 200 || news.iter().all(|id| seen.insert(*id)),
            "{body}"
        );
        (status == 200).then_some(()).ok_or(body)
    };
    next().expect("an id");
    store.sql(
        "mysql",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 2; KILL USER leafid",
    );
    let body = until("ids end", || next().err());
    assert!(
        body.contains("innodb_flush_log_at_trx_commit is 2"),
        "{body}"
    );
    assert!(server.metric("leafid_weak_stores_refused_total") >= 1.0);
    let log = server.log();
    assert!(log.contains("alarm: a weak store is refused"), "{log}");
    assert!(
        log.contains("set innodb_flush_log_at_trx_commit to 1"),
        "{log}"
    );
    store.sql("mysql", "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    until("ids come again", || next().ok());
    server.stop();
}

/// Guards that the allowed weaknesses of a server of a list are named when that server comes into
/// use.
#[test]
fn a_weak_server_that_is_allowed_is_named_when_it_is_used() {
    let folder = tempdir().unwrap();
    let servers = [MariaDb::start(), MariaDb::start()];
    servers[1].sql("mysql", "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let urls = servers
        .each_ref()
        .map(|server| server.create_database().url);
    for url in &urls {
        let init = ["store", "init", "--allow-weak-store", "--store", url];
        run(folder.path(), &init).ok();
    }
    // As if one were the replica of the other.
    for server in &servers {
        let same = "UPDATE leafid_pool SET layout = 'same' WHERE pool = '#identity'";
        server.sql("t0", same);
    }
    let list = urls.join(",");
    let settings = ["--store", &list, "--allow-weak-store", "--snowflake=false"];
    let server = Server::start(folder.path(), &settings);
    let named = "weak store allowed: innodb_flush_log_at_trx_commit is 2";
    assert!(!server.log().contains(named), "{}", server.log());
    servers[0].kill();
    until("weakness", || server.log().contains(named).then_some(()));
    assert_eq!(server.log().matches(named).count(), 1);
    server.stop();
}

/// Guards that a table which cannot hold every id is refused, by the check and by the server, with
/// the statement that corrects it.
#[test]
fn a_column_that_cannot_hold_ids_is_refused() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    let store = ["--store", &database.url];
    run(folder.path(), &[&["store", "init"], &store[..]].concat()).ok();
    let alter = "ALTER TABLE leaf_alloc MODIFY max_id INT NOT NULL DEFAULT 1";
    shared_mariadb().sql(&database.name, alter);
    let mend = "ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL DEFAULT 1";
    for command in [&["store", "check"][..], &["serve", "--http", "127.0.0.1:0"]] {
        let refused = run(folder.path(), &[command, &store].concat());
        refused.check_failed(1, mend, "the message says what to change");
    }
    shared_mariadb().sql(&database.name, mend);
    run(folder.path(), &[&["store", "check"], &store[..]].concat()).ok();
}

#[test]
fn a_store_that_is_away_is_named() {
    let folder = tempdir().unwrap();
    let url = format!(
        "mysql://leaf@127.0.0.1:{}/leaf",
        leafid_testbed::free_port()
    );
    let checked = run(folder.path(), &["store", "check", "--store", &url]);
    checked.check_failed(1, &url, "make sure that the store runs");
}

/// Guards the advice: a store that is up and refuses need not be started.
#[test]
fn a_store_that_says_no_is_not_said_to_be_away() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    let grant = format!(
        "CREATE USER reader; GRANT SELECT ON {}.* TO reader",
        database.name
    );
    shared_mariadb().sql("mysql", &grant);
    let (_, server) = database.url.split_once('@').expect("a user");
    let reader = format!("mysql://reader@{server}");
    let refused = run(folder.path(), &["store", "init", "--store", &reader]);
    refused.check_failed(
        1,
        "the user lacks a privilege",
        "correct what the message names",
    );

    std::fs::write(folder.path().join("file"), "").unwrap();
    let below_a_file = "sqlite:file/leafid.db";
    let refused = run(folder.path(), &["store", "init", "--store", below_a_file]);
    refused.check_failed(1, "cannot make the folder", "may be written by this user");
}

#[test]
fn a_shared_store_creates_no_tags_on_first_use() {
    let folder = tempdir().unwrap();
    let url = shared_mariadb().create_database().url;
    run(folder.path(), &["store", "init", "--store", &url]).ok();
    let next = ["next", "ordr", "--store", &url];
    run(folder.path(), &next).check_failed(1, "", "leafid tag create");
    run(folder.path(), &["tag", "create", "order", "--store", &url]).ok();
    assert_eq!(
        run(folder.path(), &["next", "order", "--store", &url]).ok(),
        "1\n"
    );
    let server = Server::start(folder.path(), &["--store", &url]);
    assert_eq!(server.get("/api/segment/get/order"), (200, "2".to_owned()));
    assert_eq!(server.get("/api/segment/get/ordr").0, 500);
    assert!(server.greeting.contains("curl http"), "{}", server.greeting);
    server.stop();
}
