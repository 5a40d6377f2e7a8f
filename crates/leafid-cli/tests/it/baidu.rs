//! Guards `worker-id = "worker-node"`: worker ids from the table of Baidu's uid-generator, with
//! Baidu's layout, on a real MariaDB.

use std::path::Path;
use std::time::Duration;

use leafid::{Clock, Layout, SystemClock};
use leafid_stores::baidu::TABLE_SQL;
use leafid_testbed::{Database, Proxy, shared_mariadb};
use tempfile::tempdir;

use crate::server_process::{Server, command, finish, until};

/// Baidu's own epoch leaves its layout no time; this is one that users set.
const LAYOUT: &str = "baidu@2024-01-01T00:00:00Z";

fn arguments<'a>(database: &'a Database, own: &'a str) -> [&'a str; 9] {
    [
        "--worker-id",
        "worker-node",
        "--registry",
        &database.url,
        "--data-dir",
        own,
        "--layout",
        LAYOUT,
        "--segment=false",
    ]
}

/// The worker id in an id that a server of this folder issues now.
fn issued_worker(folder: &Path, database: &Database) -> u32 {
    let layout: Layout = LAYOUT.parse().unwrap();
    let server = Server::start(folder, &arguments(database, "own"));
    let (status, body) = server.get("/api/snowflake/get/order");
    assert_eq!(status, 200, "{body}");
    let id: u64 = body.parse().unwrap();
    server.stop();
    layout.decompose(id).worker.get()
}

/// Guards Baidu's rule: each start inserts a row, and its number is in the ids.
#[test]
fn each_start_takes_a_new_number() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    let workers = [(); 2].map(|()| issued_worker(folder.path(), &database));
    assert_eq!(workers, [1, 2]);
    let rows = shared_mariadb().sql(&database.name, "SELECT ID, TYPE FROM WORKER_NODE");
    assert_eq!(rows, "1\t2\n2\t2");
}

#[test]
fn a_database_without_the_table_gets_the_statement_that_makes_it() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    let serve = ["serve", "--http", "127.0.0.1:0"];
    let words = [&serve[..], &arguments(&database, "own")].concat();
    let failed = finish(&mut command(folder.path(), &words));
    failed.check_failed(1, "no table WORKER_NODE", "");
    assert!(failed.errors.contains(TABLE_SQL), "{failed:?}");
}

/// Guards that a user who may not read the table, so that a lost row would go unnoticed, is refused.
#[test]
fn a_user_who_may_only_insert_is_refused() {
    let folder = tempdir().unwrap();
    let (server, database) = (shared_mariadb(), shared_mariadb().create_database());
    let user = format!("{}_ins", database.name);
    let grant = format!(
        "{TABLE_SQL}; CREATE USER '{user}'@'%' IDENTIFIED BY 'x'; \
         GRANT INSERT ON WORKER_NODE TO '{user}'@'%'"
    );
    server.sql(&database.name, &grant);
    let (_, place) = database.url.split_once('@').unwrap();
    let url = format!("mysql://{user}:x@{place}");
    let mut words = [
        &["serve", "--http", "127.0.0.1:0"][..],
        &arguments(&database, "own"),
    ]
    .concat();
    words[6] = &url;
    let failed = finish(&mut command(folder.path(), &words));
    failed.check_failed(1, "SELECT", "");
    assert!(failed.errors.contains("WORKER_NODE"), "{failed:?}");
}

/// Guards that a look which hangs does not delay the next one: the table may lose the row meanwhile.
#[test]
fn a_look_that_hangs_delays_nothing() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    let proxy = Proxy::new(shared_mariadb().port());
    let direct = format!(":{}/", shared_mariadb().port());
    let url = database
        .url
        .replace(&direct, &format!(":{}/", proxy.port()));
    assert_ne!(url, database.url);
    let mut words = arguments(&database, "own").to_vec();
    words[3] = &url;
    words.extend(["--registry-check", "1s"]);
    let server = Server::start(folder.path(), &words);
    let issues = || server.get("/api/snowflake/get/order").0 == 200;
    assert!(issues());
    proxy.delay(Duration::from_secs(60));
    until("warned", || {
        server
            .log()
            .contains("cannot read this server's row")
            .then_some(())
    });
    shared_mariadb().sql(&database.name, "DELETE FROM WORKER_NODE");
    proxy.pass();
    let clock = SystemClock::new();
    let passed = clock.now();
    until("refused snowflake ids", || (!issues()).then_some(()));
    // Ten times `registry-check`, for a busy machine; a call to the store may take 15 s.
    let took = clock.now().saturating_sub(passed);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// Guards: where the table gives a number again, the server that had it stops issuing.
#[test]
fn a_row_that_is_gone_stops_snowflake_ids() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    let start = |own| {
        let arguments = arguments(&database, own);
        let arguments = [&arguments[..], &["--registry-check", "200ms"]].concat();
        Server::start(folder.path(), &arguments)
    };
    let (kept, lost) = (start("kept"), start("lost"));
    let issues = |server: &Server| server.get("/api/snowflake/get/order").0 == 200;
    assert!(issues(&kept) && issues(&lost));
    shared_mariadb().sql(&database.name, "DELETE FROM WORKER_NODE WHERE ID = 2");
    until("refused snowflake ids", || (!issues(&lost)).then_some(()));
    assert!(issues(&kept));
    assert_ne!(lost.get("/readyz").0, 200);
    let log = lost.log();
    assert!(log.contains("row in WORKER_NODE is gone"), "{log}");
}
