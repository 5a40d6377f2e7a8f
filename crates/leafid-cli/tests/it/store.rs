//! Guards `leafid store` on real servers: tables are made, weak settings are named.

use leafid_testbed::{MariaDb, shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::process::{Server, run};

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
        let tables = ["leaf_alloc", "leafid_tag", "leafid_worker", "leafid_pool"];
        assert_eq!(created["created"], serde_json::json!(tables), "{created}");
        assert!(
            store(&["init"])
                .ok()
                .contains("found leaf_alloc, leafid_tag, leafid_worker, leafid_pool")
        );
        let checked = store(&["check", "--json"]).json();
        assert_eq!(
            (&checked["ok"], &checked["own_table"]),
            (&true.into(), &true.into())
        );
        assert!(store(&["check"]).ok().contains("durable   yes"));
    }
}

/// Guards the warning before the first power cut: the setting and what to make of it.
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

/// Guards the advice: a store that runs and says no is not to be started.
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
        "the user lacks a right",
        "correct what the message names",
    );

    std::fs::write(folder.path().join("file"), "").unwrap();
    let below_a_file = "sqlite:file/leafid.db";
    let refused = run(folder.path(), &["store", "init", "--store", below_a_file]);
    refused.check_failed(1, "cannot make the folder", "may be written by this user");
}

#[test]
fn a_shared_store_creates_no_tags_by_itself() {
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
