//! Guards the admin slots: if all others are taken, health checks and administration are answered,
//! and callers for ids are refused and give their slots up.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use leafid_server::{Config, Limits};

use crate::http2::Http2;
use crate::test_server::{TestServer, eventually, read_to_end};

/// A server whose only normal slot is taken.
struct FullServer {
    server: TestServer,
    /// The connection that has it.
    _held: TcpStream,
}

impl FullServer {
    fn with(limits: Limits) -> Self {
        let limits = Limits {
            connections_max: 1,
            ..limits
        };
        let server = TestServer::with(&Config::default(), limits);
        let mut held = server.connect();
        held.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .unwrap();
        assert!(held.read(&mut [0; 1024]).unwrap() > 0);
        Self {
            server,
            _held: held,
        }
    }
}

/// Guards that no route issues ids in an admin slot, whatever its method, and that all others are
/// answered.
#[test]
fn no_route_issues_ids_in_an_admin_slot() {
    let FullServer { server, _held } = FullServer::with(Limits::default());
    for request in [
        "GET /v1/tags/order/ids",
        "HEAD /v1/tags/order/ids",
        "POST /v1/tags/order/ids",
        "POST /v1/tags/order/ranges",
        "PUT /v1/tags/order/ranges",
        "GET /api/segment/get/order",
        "POST /api/segment/get/order",
        "GET /api/segment/get/order/",
        "GET /api/snowflake/get/order",
        "OPTIONS /api/snowflake/get/order",
    ] {
        // The client does not ask for the end: the server does.
        let body = r#"{"length":2}"#;
        let head = "host: localhost\r\ncontent-type: application/json";
        let answer = server.raw(&format!(
            "{request} HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let status = if request.contains("/api/") {
            "500"
        } else {
            "503"
        };
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
        assert!(answer.contains("retry-after: 1\r\n"), "{request}: {answer}");
        assert!(
            answer.contains("connection: close\r\n"),
            "{request}: {answer}"
        );
    }
    let create = r#"{"tag":"order"}"#;
    assert_eq!(server.ask_with("POST /v1/tags", create).status, 201);
    for request in ["GET /readyz", "GET /metrics", "GET /v1/tags/order"] {
        assert_eq!(server.ask(request).status, 200, "{request}");
    }
}

/// Guards that over HTTP/2 a caller for ids gives its slot up too, with its own error: one that
/// connected in a short peak would be refused for life, and enough of them would lock admins out.
#[test]
fn over_http_2_a_caller_for_ids_is_closed_gracefully() {
    let FullServer { server, _held } = FullServer::with(Limits::default());
    let mut caller = Http2::connect(&server);
    assert!(caller.is_ok("/readyz"));
    assert!(!caller.is_ok("/v1/tags/order/ids"));
    assert!(caller.is_asked_to_close());
}

/// With no bound on idle connections but their number.
fn crowded() -> FullServer {
    let an_hour = Duration::from_secs(3600);
    FullServer::with(Limits {
        operator_connections_max: 16,
        first_head_max: an_hour,
        idle_max: an_hour,
        ..Limits::default()
    })
}

/// Guards that idle connections never lock admins out: neither those that send nothing, nor those
/// that are idle after a request, nor those that do not close.
#[test]
fn idle_connections_make_room() {
    let full = crowded();
    let livez = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let refused = "GET /v1/tags/order/ids HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for start in ["", "G", livez, refused] {
        let mut idle = Vec::new();
        for number in 0..40 {
            let mut stream = full.server.connect();
            stream.write_all(start.as_bytes()).unwrap();
            if start.len() > 1 {
                assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            }
            idle.push(stream);
            let ready = full.server.ask("GET /readyz");
            assert_eq!(ready.status, 200, "{start:?} {number}");
        }
    }
    let mut resting: Vec<_> = (0..40)
        .map(|_| {
            let mut connection = Http2::connect(&full.server);
            assert!(connection.is_ok("/readyz"));
            connection
        })
        .collect();
    assert!(resting[0].is_asked_to_close());
}

/// Guards that a request in flight is finished.
#[test]
fn who_makes_room_is_answered_first() {
    let full = crowded();
    let mut busy = full.server.connect();
    let head = "POST /v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 15\r\nexpect: 100-continue\r\n\r\n";
    busy.write_all(head.as_bytes()).unwrap();
    // The server waits for the body now.
    assert!(busy.read(&mut [0; 1024]).unwrap() > 0);
    let mut silent: Vec<_> = (0..15).map(|_| full.server.connect()).collect();
    // It came later, and was closed.
    assert_eq!(read_to_end(&mut silent[0]), "");
    busy.write_all(br#"{"tag":"order"}"#).unwrap();
    let answer = read_to_end(&mut busy);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
}

/// Guards that an address at its limit is treated as if all slots were taken, and gets one again
/// once a connection of its own has closed.
#[test]
fn an_address_has_its_share() {
    let limits = Limits {
        connections_per_address: 2,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    let ids = "GET /v1/tags/order/ids";
    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .unwrap();
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            stream
        })
        .collect();
    assert_eq!(server.ask(ids).status, 503);
    assert_eq!(server.ask("GET /readyz").status, 200);
    drop(held);
    eventually("a place", || server.ask(ids).status == 200);
}
