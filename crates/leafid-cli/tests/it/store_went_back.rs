//! Guards never-twice if the store of two servers goes back in time: an old copy of the tables is
//! restored, or a lagging replica is promoted. All ids of both servers are compared.

use std::collections::HashSet;

use leafid_testbed::{shared_mariadb, shared_postgres};
use tempfile::tempdir;

use crate::server_process::{Server, ids, run, until};

/// A database, and a way to run SQL on it.
struct Store {
    url: String,
    sql: Box<dyn Fn(&str) -> String>,
}

fn stores() -> [(&'static str, Store); 2] {
    let mariadb = shared_mariadb().create_database();
    let postgres = shared_postgres().create_database();
    [
        (
            "MariaDB",
            Store {
                url: mariadb.url,
                sql: Box::new(move |text| shared_mariadb().sql(&mariadb.name, text)),
            },
        ),
        (
            "PostgreSQL",
            Store {
                url: postgres.url,
                sql: Box::new(move |text| shared_postgres().sql(&postgres.name, text)),
            },
        ),
    ]
}

/// The ids of all servers.
#[derive(Default)]
struct Given {
    seen: HashSet<u64>,
    twice: usize,
}

impl Given {
    fn take(&mut self, server: &Server, batches: usize) {
        self.take_by(server, batches, 500);
    }

    fn take_by(&mut self, server: &Server, batches: usize, count: usize) {
        for _ in 0..batches {
            // While a row is replaced, a call or two may not find it.
            let body = until("ids", || {
                let (status, body) = server.get(&format!("/v1/tags/order/ids?count={count}"));
                (status == 200).then_some(body)
            });
            for id in ids(&body) {
                self.twice += usize::from(!self.seen.insert(id));
            }
        }
    }
}

/// Two servers on one tag. The store goes back below what both have seen; the one that has seen
/// less reserves first.
fn check(what: &str, store: &Store, copy: &str, put_back: &str) {
    let folder = tempdir().unwrap();
    run(folder.path(), &["store", "init", "--store", &store.url]).ok();
    (store.sql)("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000)");
    let start = |own| {
        let flags = [
            "--store",
            &store.url,
            "--policy",
            "fixed",
            "--data-dir",
            own,
        ];
        Server::start(folder.path(), &flags)
    };
    let (slow, fast) = (start("slow"), start("fast"));
    let mut given = Given::default();
    (store.sql)(copy);
    given.take(&slow, 3);
    given.take(&fast, 9);
    (store.sql)(put_back);
    for _ in 0..10 {
        given.take(&slow, 4);
        given.take(&fast, 4);
    }
    assert_eq!(
        given.twice,
        0,
        "{what}: of {} ids\n{}",
        given.seen.len(),
        slow.log()
    );
    // One of them notices, and the other one finds a store that is above all that it has seen.
    let noticed = |server: &&Server| server.metric("leafid_store_regressions_total") > 0.0;
    let noticed: Vec<&Server> = [&slow, &fast].into_iter().filter(noticed).collect();
    assert_eq!(noticed.len(), 1, "{what}");
    assert_eq!(noticed[0].metric("leafid_store_went_back"), 1.0);
    let (status, verbose) = noticed[0].get("/readyz?verbose");
    assert_eq!(status, 200);
    assert!(
        verbose.contains("went back in time, last found"),
        "{verbose}"
    );
    let log = noticed[0].log();
    let alarms = log.matches("alarm: the store went back in time").count();
    assert_eq!(alarms, 1, "{log}");
    slow.stop();
    fast.stop();
}

#[test]
fn a_promoted_replica_repeats_no_id_of_two_servers() {
    for (what, store) in stores() {
        check(what, &store, "SELECT 1", "UPDATE leaf_alloc SET max_id = 1");
    }
}

#[test]
fn an_old_copy_of_the_tables_repeats_no_id_of_two_servers() {
    for (what, store) in stores() {
        let copy = "CREATE TABLE kept AS SELECT * FROM leaf_alloc";
        let put_back = "BEGIN; DELETE FROM leaf_alloc; \
                        INSERT INTO leaf_alloc SELECT * FROM kept; COMMIT";
        check(what, &store, copy, put_back);
    }
}

/// Guards that of two servers the one with short segments notices. The long segments of the other
/// one, which it recorded in our own table, do not repeat.
#[test]
fn long_segments_of_another_server_are_left_out() {
    for (what, store) in stores() {
        let folder = tempdir().unwrap();
        run(folder.path(), &["store", "init", "--store", &store.url]).ok();
        (store.sql)("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000)");
        let start = |own, step_max| {
            // All that it knows is the row that it read when it loaded the tag.
            let flags = [
                &["--store", &store.url, "--data-dir", own][..],
                &["--policy", "leaf", "--step-max", step_max],
                &["--refresh-interval", "1h"],
            ];
            Server::start(folder.path(), &flags.concat())
        };
        let mut given = Given::default();
        let fast = start("fast", "64000");
        given.take_by(&fast, 60, 5000);
        let slow = start("slow", "1000");
        given.take_by(&slow, 4, 500);
        given.take_by(&fast, 60, 5000);
        (store.sql)("UPDATE leaf_alloc SET max_id = 1");
        for _ in 0..20 {
            given.take_by(&slow, 10, 500);
            given.take_by(&fast, 2, 5000);
        }
        assert!(
            slow.metric("leafid_store_regressions_total") > 0.0,
            "{what}"
        );
        let seen = given.seen.len();
        assert_eq!(given.twice, 0, "{what}: of {seen} ids\n{}", slow.log());
        slow.stop();
        fast.stop();
    }
}

/// Guards that a tag which was deleted here and created again by Leaf's own statement continues
/// above its former ids, even on a server that never saw them.
#[test]
fn a_tag_created_again_by_hand_continues_above_its_former_ids() {
    for (what, store) in stores() {
        let folder = tempdir().unwrap();
        run(folder.path(), &["store", "init", "--store", &store.url]).ok();
        let insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000)";
        (store.sql)(insert);
        let flags = ["--store", &store.url, "--policy", "fixed"];
        let mut given = Given::default();
        let server = Server::start(folder.path(), &flags);
        given.take(&server, 9);
        server.stop();
        let deleted = ["tag", "delete", "order", "--store", &store.url];
        run(folder.path(), &deleted).ok();
        (store.sql)(insert);
        let server = Server::start(folder.path(), &flags);
        given.take(&server, 9);
        assert_eq!(given.twice, 0, "{what}: of {} ids", given.seen.len());
        server.stop();
    }
}

/// Guards the same under running servers, of which the first to reserve had seen less than the
/// tag's former ids.
#[test]
fn a_tag_created_again_under_running_servers_continues_above_its_former_ids() {
    for (what, store) in stores() {
        let folder = tempdir().unwrap();
        run(folder.path(), &["store", "init", "--store", &store.url]).ok();
        let insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 1000)";
        (store.sql)(insert);
        let start = |own| {
            let flags = ["--policy", "fixed", "--refresh-interval", "1h"];
            let store = ["--store", &store.url, "--data-dir", own];
            Server::start(folder.path(), &[store, flags].concat())
        };
        let (slow, fast) = (start("slow"), start("fast"));
        let mut given = Given::default();
        given.take(&slow, 3);
        given.take(&fast, 200);
        let deleted = ["tag", "delete", "order", "--store", &store.url];
        run(folder.path(), &deleted).ok();
        (store.sql)(insert);
        for _ in 0..10 {
            given.take(&slow, 8);
            given.take(&fast, 2);
        }
        assert_eq!(given.twice, 0, "{what}: of {} ids", given.seen.len());
        for server in [slow, fast] {
            let regressions = server.metric("leafid_store_regressions_total");
            assert_eq!(regressions, 0.0, "{what}: nothing was lost");
            server.stop();
        }
    }
}
