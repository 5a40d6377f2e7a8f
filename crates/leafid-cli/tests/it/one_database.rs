//! Guards never-twice if one address leads to two databases that do not replicate, as with a load
//! balancer that treats them as a cluster. All ids of all servers are compared.

use std::collections::HashSet;
use std::path::Path;

use leafid_testbed::{MariaDb, Postgres, Proxy, shared_mariadb, shared_postgres};
use serde_json::json;
use tempfile::tempdir;

use crate::server_process::{Server, ids, run, until};

/// Two databases of one name, and a proxy before them.
struct Pair {
    ports: [u16; 2],
    urls: [String; 2],
    proxy: Proxy,
    proxied: String,
}

fn mariadbs(other: &MariaDb) -> Pair {
    let database = shared_mariadb().create_database();
    let proxy = Proxy::new(shared_mariadb().port());
    Pair {
        ports: [shared_mariadb().port(), other.port()],
        proxied: shared_mariadb().url_at(proxy.port(), &database.name),
        urls: [
            database.url,
            other.create_database_named(&database.name).url,
        ],
        proxy,
    }
}

fn postgreses(other: &Postgres) -> Pair {
    let database = shared_postgres().create_database();
    let proxy = Proxy::new(shared_postgres().port());
    Pair {
        ports: [shared_postgres().port(), other.port()],
        proxied: shared_postgres().url_at(proxy.port(), &database.name),
        urls: [
            database.url,
            other.create_database_named(&database.name).url,
        ],
        proxy,
    }
}

const CREATE: [&str; 7] = [
    "tag", "create", "order", "--step", "10", "--policy", "fixed",
];

/// Takes what a server issues, and counts repeats.
fn take(server: &Server, seen: &mut HashSet<u64>) -> usize {
    let mut twice = 0;
    for url in ["/v1/tags/order/ids?count=10", "/v1/tags/trace/ids?count=10"] {
        let (status, body) = server.get(url);
        if status == 200 {
            twice += ids(&body)
                .into_iter()
                .filter(|id| !seen.insert(*id))
                .count();
        }
    }
    twice
}

fn init(folder: &Path, url: &str) {
    run(folder, &["store", "init", "--store", url]).ok();
    run(folder, &[&CREATE[..], &["--store", url]].concat()).ok();
    let trace = ["tag", "create", "trace", "--kind", "snowflake"];
    run(folder, &[&trace[..], &["--store", url]].concat()).ok();
}

fn check(what: &str, pair: &Pair) {
    let folders = [tempdir().unwrap(), tempdir().unwrap()];
    let (folder, mut seen) = (folders[0].path(), HashSet::new());
    pair.urls.iter().for_each(|url| init(folder, url));

    // It leads to another one under a running server.
    let running = Server::start(folder, &["--store", &pair.proxied]);
    assert_eq!(take(&running, &mut seen), 0, "{what}");
    assert!(!seen.is_empty(), "{what}: no id from one database");
    pair.proxy.lead_to(&pair.ports[1..]);
    pair.proxy.cut();
    let refused = |server: &Server| {
        until("refusal", || {
            let (status, body) = server.get("/v1/tags/order/ids?count=10");
            (status == 503 && body.contains("another database")).then_some(body)
        })
    };
    let body = refused(&running);
    assert!(body.contains("store_unavailable"), "{what}: {body}");
    // The first server may have been the wrong one.
    pair.proxy.lead_to(&pair.ports[..1]);
    pair.proxy.cut();
    refused(&running);
    until("the worker id is not held", || {
        (running.json("/v1/worker")["stage"] != json!("holding")).then_some(())
    });
    running.stop();

    // It leads to both.
    pair.proxy.lead_to(&pair.ports);
    let start = |at: usize| Server::start_unready(folders[at].path(), &["--store", &pair.proxied]);
    let servers = [start(0), start(1)];
    let twice: usize = (0..100)
        .map(|turn| take(&servers[turn % 2], &mut seen))
        .sum();
    println!("{what}: {twice} of {} twice", seen.len() + twice);
    assert_eq!(twice, 0, "{what}");
    for server in servers {
        refused(&server);
        server.stop();
    }
}

/// Guards that a server stops whose address led to two databases.
#[test]
fn two_databases_behind_one_address_are_refused() {
    let other = MariaDb::start();
    check("MariaDB", &mariadbs(&other));
    let other = Postgres::start();
    check("PostgreSQL", &postgreses(&other));
}

/// A database behind a proxy, and SQL as its administrator.
fn each_database(check: impl Fn(&str, &str, &Proxy, &dyn Fn(&str))) {
    let database = shared_mariadb().create_database();
    let proxy = Proxy::new(shared_mariadb().port());
    let url = shared_mariadb().url_at(proxy.port(), &database.name);
    check("MariaDB", &url, &proxy, &|text| {
        shared_mariadb().sql(&database.name, text);
    });
    let database = shared_postgres().create_database();
    let proxy = Proxy::new(shared_postgres().port());
    let url = shared_postgres().url_at(proxy.port(), &database.name);
    check("PostgreSQL", &url, &proxy, &|text| {
        shared_postgres().sql(&database.name, text);
    });
}

/// Guards a proxy that keeps our connections and redirects them: the reservation detects it.
#[test]
fn another_database_behind_the_same_connection_is_refused() {
    each_database(|what, url, _, sql| {
        let folder = tempdir().unwrap();
        init(folder.path(), url);
        let server = Server::start(folder.path(), &["--store", url, "--snowflake=false"]);
        let mut seen = HashSet::new();
        assert_eq!(take(&server, &mut seen), 0, "{what}");
        sql("UPDATE leafid_pool SET layout = 'another' WHERE pool = '#identity'");
        let (mut given, mut refused) = (0, String::new());
        until("refusal", || {
            let (status, body) = server.get("/v1/tags/order/ids?count=10");
            given += usize::from(status == 200);
            refused = body;
            (status == 503).then_some(())
        });
        assert!(refused.contains("another database"), "{what}: {refused}");
        assert!(given <= 2, "{what}: {given} batches, more than memory held");
        server.stop();
    });
}

/// Guards that an emptied registry is not mistaken for another database: the servers that know it
/// write its identity again.
#[test]
fn an_emptied_registry_is_the_same_database() {
    each_database(|what, url, proxy, sql| {
        let folder = tempdir().unwrap();
        init(folder.path(), url);
        let server = Server::start(folder.path(), &["--store", url, "--registry-check", "1s"]);
        let mut seen = HashSet::new();
        assert_eq!(take(&server, &mut seen), 0, "{what}");
        sql("DELETE FROM leafid_worker");
        sql("DELETE FROM leafid_pool");
        until("notice", || {
            (server.metric("leafid_registry_regressions_total") > 0.0).then_some(())
        });
        until("worker id", || {
            (server.json("/v1/worker")["stage"] == json!("holding")).then_some(())
        });
        proxy.cut();
        let before = seen.len();
        until("ids of both kinds", || {
            assert_eq!(take(&server, &mut seen), 0, "{what}");
            (seen.len() >= before + 100).then_some(())
        });
        assert!(
            !server.log().contains("another database"),
            "{}",
            server.log()
        );
        server.stop();
    });
}
