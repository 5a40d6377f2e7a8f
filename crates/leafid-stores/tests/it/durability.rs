//! Each connection checks the durability of its server: a server that takes over, and one whose
//! settings change while it runs, included.

use std::time::Duration;

use leafid::store::{SegmentStore, StoreError};
use leafid_stores::{StoreOptions, init};
use leafid_testbed::{MariaDb, Postgres, shared_postgres};

use crate::{allowing_weak, check_disjoint, create, open_at, open_with, take, url_of, wish};

/// Reserves until that is refused.
async fn first_error(store: &dyn SegmentStore) -> StoreError {
    for _ in 0..500 {
        if let Err(error) = store.reserve(&wish("order", 10)).await {
            return error;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a weak server is used on and on");
}

/// The error says that a server is weak, with the setting and its name.
fn check_weak(error: &StoreError, words: &[&str]) {
    assert!(error.weak_store().is_some(), "{error:?}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
}

/// A store whose connections are replaced at each call.
async fn check_turns_weak(url: &str, set: impl Fn(bool), setting: &str) {
    init(&url_of(url), &StoreOptions::default()).await.unwrap();
    let options = StoreOptions::default().with_connection_age_max(Duration::ZERO);
    let store = open_with(url, options).await;
    create(&*store, "order").await;
    take(&*store, "order", 10).await;
    set(true);
    check_weak(&first_error(&*store).await, &[setting, "allow_weak"]);
    check_weak(&first_error(&*open_at(url).await).await, &[setting]);
    take(&*open_with(url, allowing_weak()).await, "order", 10).await;
    set(false);
    for _ in 0..500 {
        if store.reserve(&wish("order", 10)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a server that is strong again is not used");
}

/// Guards that a setting which is changed while the server runs is noticed at the next connection,
/// and that connections from before are not used on and on.
#[tokio::test(flavor = "multi_thread")]
async fn mariadb_turns_weak() {
    let server = MariaDb::start();
    let database = server.create_database();
    let setting = "innodb_flush_log_at_trx_commit";
    let set = |is_weak: bool| {
        let value = if is_weak { 2 } else { 1 };
        server.sql("mysql", &format!("SET GLOBAL {setting} = {value}"));
    };
    check_turns_weak(&database.url, set, setting).await;
}

/// Guards the same for PostgreSQL, for a program that uses the library alone.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_turns_weak() {
    let server = Postgres::start();
    let database = server.create_database();
    let set = |is_weak: bool| {
        // It is set on the command line, and such a setting cannot be changed: full_page_writes is
        // not.
        let value = if is_weak { "off" } else { "on" };
        let alter = format!("ALTER SYSTEM SET full_page_writes = {value}");
        server.sql("postgres", &alter);
        server.sql("postgres", "SELECT pg_reload_conf()");
    };
    check_turns_weak(&database.url, set, "full_page_writes").await;
}

/// Guards that a program which uses the library alone never issues from such a server silently.
#[tokio::test]
async fn postgres_without_fsync() {
    let server = Postgres::start_with(&["fsync=off"]);
    let database = server.create_database();
    let url = url_of(&database.url);
    init(&url, &StoreOptions::default()).await.unwrap();
    let store = open_at(&database.url).await;
    check_weak(
        &first_error(&*store).await,
        &["fsync is off", "StoreOptions::allow_weak"],
    );
    create(&*open_with(&database.url, allowing_weak()).await, "order").await;
}

/// Guards that the servers of a list must not lose commits when one takes over from another.
#[tokio::test]
async fn postgres_list_without_synchronous_standbys() {
    let database = shared_postgres().create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    let list = format!("{0},{0}", database.url);
    let error = open_at(&list).await.reserve(&wish("order", 10)).await;
    check_weak(&error.unwrap_err(), &["synchronous_standby_names is empty"]);
    create(&*open_with(&list, allowing_weak()).await, "order").await;
    take(&*open_at(&database.url).await, "order", 10).await;

    let named = Postgres::start();
    let alter = "ALTER SYSTEM SET synchronous_standby_names = 'second'";
    named.sql("postgres", alter);
    named.sql("postgres", "SELECT pg_reload_conf()");
    let url = named.url("postgres");
    let report = open_at(&format!("{url},{url}")).await.inspect().await;
    assert_eq!(report.unwrap().weaknesses, []);
}

/// A primary, and a replica of it that is weak.
fn replicated() -> (MariaDb, MariaDb) {
    let first = MariaDb::start_with(&["--server-id=1", "--log-bin", "--sync-binlog=1"]);
    let second = MariaDb::start_with(&[
        "--server-id=2",
        "--innodb-flush-log-at-trx-commit=2",
        "--rpl-semi-sync-slave-enabled=ON",
    ]);
    first.sql("mysql", "GRANT REPLICATION SLAVE ON *.* TO leafid@'%'");
    let position = first.sql("mysql", "SELECT @@gtid_current_pos");
    let [password, _] = first.passwords();
    let follow = format!(
        "SET GLOBAL gtid_slave_pos = '{position}'; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', \
        MASTER_PORT = {}, MASTER_USER = 'leafid', MASTER_PASSWORD = '{password}', \
        MASTER_USE_GTID = slave_pos; START SLAVE",
        first.port()
    );
    second.sql("mysql", &follow);
    (first, second)
}

/// Guards that a fail-over to a weak server is refused, with its name and the setting, and that a
/// list whose replicas may lag is refused from the start.
#[tokio::test]
async fn mariadb_fails_over_to_a_weak_replica() {
    let (first, second) = replicated();
    let database = first.create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    create(&*open_at(&database.url).await, "order").await;
    let second_url = second.url(&database.name);
    let list = format!("{},{second_url}", database.url);

    let error = open_at(&list).await.reserve(&wish("order", 10)).await;
    check_weak(
        &error.unwrap_err(),
        &["rpl_semi_sync_master_enabled is OFF"],
    );
    first.sql("mysql", "SET GLOBAL rpl_semi_sync_master_enabled = ON");
    let error = open_at(&list).await.reserve(&wish("order", 10)).await;
    check_weak(
        &error.unwrap_err(),
        &["rpl_semi_sync_master_timeout is 10000"],
    );
    first.sql(
        "mysql",
        "SET GLOBAL rpl_semi_sync_master_timeout = 4294967295",
    );

    let store = open_at(&list).await;
    let mut segments = vec![take(&*store, "order", 10).await];
    first.kill();
    second.sql("mysql", "STOP SLAVE");
    let shown = url_of(&second_url).to_string();
    let weak = "innodb_flush_log_at_trx_commit is 2";
    // The first call finds the connections of the dead server.
    let _ = store.reserve(&wish("order", 10)).await;
    let error = store.reserve(&wish("order", 10)).await.unwrap_err();
    check_weak(&error, &[weak, "rpl_semi_sync_master_enabled", &shown]);
    let allowed = open_with(&list, allowing_weak()).await;
    segments.push(take(&*allowed, "order", 10).await);
    check_disjoint(segments);
}
