//! The testbed itself: servers come up, keep what they committed, and go.
#![allow(clippy::unwrap_used, reason = "everything here serves a test")]

mod jute;
mod keys;
mod processes;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use leafid_testbed::{
    JavaLeaf, LEAF_ALLOC, LEAF_ALLOC_SURROGATE, MariaDb, Postgres, Proxy, shared_mariadb,
    shared_postgres,
};

/// Guards that what a server committed survives `kill -9`, on the same port.
#[test]
fn mariadb_keeps_what_it_committed() {
    let server = MariaDb::start();
    let database = server.create_database();
    server.sql(
        &database.name,
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (7)",
    );
    server.kill();
    server.start_again();
    assert_eq!(server.sql(&database.name, "SELECT a FROM t"), "7");
    server.stop();
    server.start_again();
    assert_eq!(server.sql(&database.name, "SELECT a FROM t"), "7");
}

/// Guards the same for PostgreSQL.
#[test]
fn postgres_keeps_what_it_committed() {
    let server = Postgres::start();
    let database = server.create_database();
    server.sql(
        &database.name,
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (7)",
    );
    server.kill();
    server.start_again();
    assert_eq!(server.sql(&database.name, "SELECT a FROM t"), "7");
    server.stop();
    server.start_again();
    assert_eq!(server.sql(&database.name, "SELECT a FROM t"), "7");
}

/// Guards that shared servers give every test a database of its own.
#[test]
fn shared_servers_give_fresh_databases() {
    assert_ne!(
        shared_mariadb().create_database(),
        shared_mariadb().create_database()
    );
    assert_ne!(
        shared_postgres().create_database(),
        shared_postgres().create_database()
    );
}

/// Guards that the stand-in takes what Leaf would take, on both variants of its table.
#[tokio::test]
async fn java_leaf_takes_segments() {
    let server = shared_mariadb();
    for table in [LEAF_ALLOC, LEAF_ALLOC_SURROGATE] {
        let database = server.create_database();
        server.sql(&database.name, table);
        server.sql(
            &database.name,
            "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 2000)",
        );
        let mut leaf = JavaLeaf::connect(&database.url).await.unwrap();
        assert_eq!(leaf.take("order").await.unwrap(), 1..2001);
        assert_eq!(leaf.take_step("order", 10).await.unwrap(), 2001..2011);
        assert!(leaf.take("none").await.is_err());
    }
}

/// Guards that the proxy discards exactly the requested reply.
#[test]
fn a_proxy_cuts_the_next_reply() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut byte = [0];
            while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
        }
    });
    let proxy = Proxy::new(port);
    let ask = |stream: &mut TcpStream| {
        let mut answer = [0];
        stream
            .write_all(b"x")
            .and_then(|()| stream.read_exact(&mut answer))
            .is_ok()
    };
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert!(ask(&mut stream));
    proxy.cut_next_reply();
    assert!(!ask(&mut stream));
    assert_eq!(proxy.cut_replies(), 1);
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    assert!(ask(&mut stream));
    proxy.refuse();
    assert!(!ask(&mut stream));
}
