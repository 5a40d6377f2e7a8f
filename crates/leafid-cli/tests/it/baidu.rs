//! Guards `worker-id = "worker-node"`: worker ids from the table of Baidu's uid-generator, with
//! Baidu's layout, on a real MariaDB.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use leafid::{Clock, Layout, SystemClock};
use leafid_stores::baidu::TABLE_SQL;
use leafid_testbed::{Database, Proxy, shared_mariadb};
use tempfile::tempdir;

use crate::server_process::{Server, command, finish, run, until};

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

/// Guards that servers of both kinds of worker ids on one database never have the same one.
#[test]
fn leased_numbers_are_passed_over_and_ours_are_leased() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    run(folder.path(), &["store", "init", "--store", &database.url]).ok();
    let start = |own: &str, id: &str| {
        let mut words = arguments(&database, own).to_vec();
        words[1] = id;
        let server = Server::start(folder.path(), &words);
        let worker = until("worker id", || server.json("/v1/worker")["worker"].as_u64());
        (server, worker)
    };
    let servers = [
        start("a", "auto"),
        start("b", "auto"),
        start("c", "worker-node"),
        start("d", "worker-node"),
        start("e", "auto"),
        start("f", "auto"),
    ];
    let workers: Vec<u64> = servers.iter().map(|(_, worker)| *worker).collect();
    let distinct: BTreeSet<_> = workers.iter().collect();
    assert_eq!(distinct.len(), 6, "{workers:?}");
    // The table gives 1 first, which an automatic one has.
    assert_eq!(workers, [0, 1, 2, 3, 4, 5]);
    servers.into_iter().for_each(|(server, _)| server.stop());
}

/// Guards that a number that is not leased is given up when others can lease it, and that a user who
/// cannot tell whether they can is refused.
#[test]
fn an_unleased_number_ends_with_the_table_of_leases() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    let words = arguments(&database, "own").to_vec();
    let server = Server::start(
        folder.path(),
        &[&words[..], &["--registry-check", "1s"]].concat(),
    );
    assert_eq!(server.get("/api/snowflake/get/order").0, 200);
    assert!(server.log().contains("are not leased"), "{}", server.log());
    let user = format!("{}_node", database.name);
    let grant = format!(
        "CREATE USER '{user}'@'%' IDENTIFIED BY 'x'; \
         GRANT SELECT, INSERT ON WORKER_NODE TO '{user}'@'%'"
    );
    shared_mariadb().sql(&database.name, &grant);
    let (_, place) = database.url.split_once('@').unwrap();
    let url = format!("mysql://{user}:x@{place}");
    let mut words = [
        &["serve", "--http", "127.0.0.1:0"][..],
        &arguments(&database, "other"),
    ]
    .concat();
    words[6] = &url;
    let failed = finish(&mut command(folder.path(), &words));
    failed.check_failed(1, "leafid_worker", "");
    run(folder.path(), &["store", "init", "--store", &database.url]).ok();
    until("refused snowflake ids", || {
        (server.get("/api/snowflake/get/order").0 != 200).then_some(())
    });
    assert!(
        server.log().contains("restart this server"),
        "{}",
        server.log()
    );
    server.stop();
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

/// Guards that a database without lease tables that is away shows like any registry: in the metrics,
/// in `/readyz`, and in the log.
#[test]
fn a_database_that_is_away_shows_like_a_registry() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    let proxy = Proxy::new(shared_mariadb().port());
    let url = shared_mariadb().url_at(proxy.port(), &database.name);
    let mut words = arguments(&database, "own").to_vec();
    words[3] = &url;
    words.extend(["--registry-check", "1s"]);
    let server = Server::start(folder.path(), &words);
    let shows = |up: f64, line: &str, log: &str, times: usize| {
        until(line, || {
            let is_up = server.metric("leafid_registry_up");
            (is_up.total_cmp(&up).is_eq()).then_some(())
        });
        let (_, ready) = server.get("/readyz?verbose");
        assert!(ready.contains(line), "{ready}");
        assert_eq!(server.json("/v1/worker")["registry_answers"], up > 0.5);
        until(log, || {
            (server.log().matches(log).count() == times).then_some(())
        });
        assert_eq!(server.get("/api/snowflake/get/order").0, 200);
    };
    let failures = || server.metric("leafid_registry_failures_total");
    let (gone, back) = (
        "cannot read this server's row in WORKER_NODE",
        "this server's row in WORKER_NODE can be read again",
    );
    shows(1.0, "[+]registry: answers", back, 0);
    assert!(failures() < 0.5);
    let hang = || proxy.delay(Duration::from_secs(60));
    let refuse = || proxy.refuse();
    let outages: [&dyn Fn(); 2] = [&hang, &refuse];
    for (begin, times) in outages.into_iter().zip(1..) {
        let before = failures();
        begin();
        shows(0.0, "[-]registry: does not answer", gone, times);
        until("two failures", || (failures() > before + 1.5).then_some(()));
        proxy.pass();
        shows(1.0, "[+]registry: answers", back, times);
    }
    server.stop();
}

/// Guards that a database which never answers within half of `registry-check`, and makes no new
/// connection in any time, is not taken for one that is down: it gives the number to another server.
#[test]
fn a_row_that_is_gone_from_a_slow_database_stops_snowflake_ids() {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    shared_mariadb().sql(&database.name, TABLE_SQL);
    let proxy = Proxy::new(shared_mariadb().port());
    let url = shared_mariadb().url_at(proxy.port(), &database.name);
    let mut words = arguments(&database, "own").to_vec();
    words[3] = &url;
    words.extend(["--registry-check", "1s", "--store-statement-timeout", "3s"]);
    let server = Server::start(folder.path(), &words);
    proxy.delay(Duration::from_millis(800));
    until("warned", || {
        let log = server.log();
        log.contains("cannot read this server's row").then_some(())
    });
    shared_mariadb().sql(&database.name, "DELETE FROM WORKER_NODE");
    let clock = SystemClock::new();
    let lost = clock.now();
    let issues = || server.get("/api/snowflake/get/order").0 == 200;
    until("refused snowflake ids", || (!issues()).then_some(()));
    // Two answers take 1.6 s; the rest is for a busy machine.
    let took = clock.now().saturating_sub(lost);
    assert!(took < Duration::from_secs(6), "{took:?}");
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
