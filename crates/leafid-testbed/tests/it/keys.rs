//! Guards that the stores of keys come up, keep what they acknowledged, and go.

use std::io::{Read, Write};
use std::net::TcpStream;

use leafid_testbed::{Etcd, Redis, ZooKeeper, shared_etcd, shared_redis, shared_zookeeper};
use serde_json::json;

use crate::jute::Session;

/// Ends a server in both ways, and checks each time that it still has what it had.
macro_rules! check_restarts {
    ($server:ident, $check:expr) => {
        $check(&$server);
        $server.kill();
        assert!(TcpStream::connect(("127.0.0.1", $server.port())).is_err());
        $server.start_again();
        $check(&$server);
        $server.stop();
        assert!(TcpStream::connect(("127.0.0.1", $server.port())).is_err());
        $server.start_again();
        $check(&$server);
    };
}

#[test]
fn redis_keeps_what_it_acknowledged() {
    let server = Redis::start();
    server.command(&["SET", "order", "7"]);
    check_restarts!(server, |server: &Redis| {
        assert_eq!(server.command(&["GET", "order"]), "7");
    });
    server.flush();
    assert_eq!(server.command(&["GET", "order"]), "");
}

/// Guards that the server only answers with the password, in Redis' own words.
#[test]
fn redis_asks_for_its_password() {
    let server = shared_redis();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let [password, _] = server.passwords();
    let length = password.len();
    write!(
        stream,
        "PING\r\n*2\r\n$4\r\nAUTH\r\n${length}\r\n{password}\r\nPING\r\nQUIT\r\n"
    )
    .unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    let expected = "-NOAUTH Authentication required.\r\n+OK\r\n+PONG\r\n+OK\r\n";
    assert_eq!(answers, expected);
}

#[test]
fn redis_can_be_weak() {
    let setting = |server: &Redis, name: &str| server.command(&["CONFIG", "GET", name]);
    let strong = shared_redis();
    assert_eq!(setting(strong, "appendonly"), "appendonly\nyes");
    assert_eq!(setting(strong, "appendfsync"), "appendfsync\nalways");
    let weak = Redis::start_with(&["--appendfsync", "everysec"]);
    assert_eq!(setting(&weak, "appendfsync"), "appendfsync\neverysec");
    assert_ne!(strong.create_database(), strong.create_database());
}

#[test]
fn etcd_keeps_what_it_acknowledged() {
    let server = Etcd::start();
    server.call("kv/put", &json!({ "key": "b3JkZXI=", "value": "Nw==" }));
    check_restarts!(server, check_etcd);
}

#[test]
fn etcd_asks_for_its_password() {
    let server = Etcd::start_with_password();
    server.call("kv/put", &json!({ "key": "b3JkZXI=", "value": "Nw==" }));
    check_restarts!(server, check_etcd);
    let url = format!("http://127.0.0.1:{}/v3/kv/range", server.port());
    let order = json!({ "key": "b3JkZXI=" });
    let refused = ureq::post(url).send_json(&order).unwrap_err();
    assert_eq!(refused.to_string(), "http status: 400");
    let [_, in_url] = server.passwords();
    assert!(server.url().contains(in_url));
    assert!(!shared_etcd().url().contains('@'));
}

fn check_etcd(server: &Etcd) {
    let answer = server.call("kv/range", &json!({ "key": "b3JkZXI=" }));
    assert_eq!(answer["kvs"][0]["value"], "Nw==", "{answer}");
}

#[test]
fn zookeeper_keeps_what_it_acknowledged() {
    let server = ZooKeeper::start();
    Session::open(server.port()).create("/order", b"7");
    check_restarts!(server, |server: &ZooKeeper| {
        assert_eq!(Session::open(server.port()).get("/order"), b"7");
    });
}

#[test]
fn zookeeper_answers_words_of_four_letters() {
    assert_eq!(shared_zookeeper().ask("ruok"), "imok");
    let quick = ZooKeeper::start_with(&["tickTime=200"]);
    assert!(quick.ask("conf").contains("tickTime=200\n"));
}
