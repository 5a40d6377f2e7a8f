//! Guards what the real binary reports and does about a store that goes down, comes back, is empty,
//! or has lost its cluster.

use leafid_testbed::{MariaDb, Postgres, shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::server_process::{Server, run, until};

/// How often a text is in the log.
fn lines(server: &Server, text: &str) -> usize {
    server.log().matches(text).count()
}

fn await_store_up(server: &Server, wanted: f64) {
    let what = format!("leafid_store_up {wanted}");
    until(&what, || {
        (server.metric("leafid_store_up") - wanted)
            .abs()
            .lt(&0.5)
            .then_some(())
    });
}

/// An idle server notices the outage and its end, logs each in one line, and serves all waiting
/// tags at once.
fn check_outage(url: &str, kill: impl Fn(), start_again: impl Fn()) {
    let folder = tempdir().unwrap();
    run(folder.path(), &["store", "init", "--store", url]).ok();
    let tags: Vec<String> = (0..20).map(|number| format!("tag{number}")).collect();
    for tag in &tags {
        // Memory holds few ids of each.
        let create = ["tag", "create", tag, "--step", "1", "--policy", "fixed"];
        run(folder.path(), &[&create[..], &["--store", url]].concat()).ok();
    }
    let server = Server::start(folder.path(), &["--store", url]);
    let ask = |tag: &String| server.get(&format!("/v1/tags/{tag}/ids"));
    for tag in &tags {
        assert_eq!(ask(tag).0, 200, "{tag}");
    }
    kill();
    await_store_up(&server, 0.0);
    // No id has been requested since.
    assert_eq!(lines(&server, "the store is down"), 1, "{}", server.log());
    for tag in &tags {
        let refused = (0..10).map(|_| ask(tag).0).find(|status| *status != 200);
        assert_eq!(refused, Some(503), "{tag}");
    }
    assert_eq!(server.get("/readyz").0, 503);
    // Long enough that the pauses between two tries have grown.
    let failures = || server.metric("leafid_tag_store_failures_total{tag=\"tag0\"}");
    until("pauses", || (failures() >= 6.0).then_some(()));
    start_again();
    await_store_up(&server, 1.0);
    for tag in &tags {
        let (status, body) = ask(tag);
        assert_eq!(status, 200, "{tag}: {body}");
    }
    assert_eq!(lines(&server, "the store is down"), 1, "{}", server.log());
    assert_eq!(
        lines(&server, "the store is up again"),
        1,
        "{}",
        server.log()
    );
    let log = server.log();
    let mut told = log.lines().filter(|line| line.contains("the store is"));
    let down = told.next().unwrap();
    assert!(down.contains("127.0.0.1:"), "it names the server: {down}");
    let up = told.next().unwrap();
    assert!(up.contains("down_for="), "it says for how long: {up}");
    assert_eq!(server.get("/readyz").0, 200);
    server.stop();
}

#[test]
fn an_outage_of_mariadb_is_noticed_without_a_call() {
    let database = MariaDb::start();
    let url = database.create_database().url;
    check_outage(&url, || database.kill(), || database.start_again());
}

#[test]
fn an_outage_of_postgres_is_noticed_without_a_call() {
    let database = Postgres::start();
    let url = database.create_database().url;
    check_outage(&url, || database.kill(), || database.start_again());
}

/// A database without the tables passes no check and gets no traffic, until they are created.
#[test]
fn an_empty_database_is_not_ready() {
    for url in [
        shared_mariadb().create_database().url,
        shared_postgres().create_database().url,
    ] {
        let folder = tempdir().unwrap();
        let checked = run(folder.path(), &["store", "check", "--store", &url]);
        checked.check_failed(1, "leafid store init --store ", "");
        assert!(!checked.out.contains("leaf_alloc only"), "{}", checked.out);
        let server = Server::start_unready(folder.path(), &["--store", &url]);
        let verbose = until("a reason", || {
            let (_, verbose) = server.get("/readyz?verbose");
            verbose
                .contains("leafid store init --store ")
                .then_some(verbose)
        });
        assert!(verbose.ends_with("not ready\n"), "{verbose}");
        run(folder.path(), &["store", "init", "--store", &url]).ok();
        server.wait_until_ready();
        server.stop();
    }
}

/// A Galera node that lost its cluster is first in the list: the next server is used and named; if
/// it is the only one, the server knows that it is down.
#[test]
fn a_galera_node_without_its_cluster_is_not_used() {
    let folder = tempdir().unwrap();
    let galera = MariaDb::start_galera();
    let (first, second) = (
        galera.create_database().url,
        shared_mariadb().create_database(),
    );
    for url in [&first, &second.url] {
        run(folder.path(), &["store", "init", "--store", url]).ok();
        run(folder.path(), &["tag", "create", "order", "--store", url]).ok();
    }
    let alone = Server::start(folder.path(), &["--store", &first, "--snowflake=false"]);
    galera.leave_cluster();
    await_store_up(&alone, 0.0);
    assert_eq!(lines(&alone, "the store is up again"), 0, "{}", alone.log());
    let list = format!("{first},{}", second.url);
    let other = tempdir().unwrap();
    let arguments = ["--store", &list, "--allow-weak-store", "--snowflake=false"];
    let both = Server::start(other.path(), &arguments);
    assert_eq!(both.get("/api/segment/get/order"), (200, "1".to_owned()));
    let (_, verbose) = both.get("/readyz?verbose");
    let port = format!(":{}/{} answers", shared_mariadb().port(), second.name);
    assert!(verbose.contains(&port), "{verbose}");
    both.stop();
    assert_eq!(lines(&alone, "the store is up again"), 0, "{}", alone.log());
    galera.form_cluster();
    await_store_up(&alone, 1.0);
    alone.stop();
}
