//! Guards the wire: old and new HTTP, pipelining, and everything that is too large or too slow.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::Duration;

use leafid_server::{Config, Limits};
use serde_json::json;

use crate::test_server::{Reply, TestServer, eventually, read_to_end};

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = TestServer::new();
    let one = "GET /api/segment/get/order HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let last =
        "GET /api/segment/get/order HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answers = server.raw(&format!("{}{last}", one.repeat(99)));
    let ids: Vec<u64> = answers
        .split("\r\n\r\n")
        .skip(1)
        .map(|body| body.split("HTTP/1.1").next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(ids, (1..=100).collect::<Vec<u64>>());
}

/// Guards that a client which closes its sending side after its requests, as `nc -N` does, gets all
/// answers but the last, which hyper does not make for a peer that has closed.
#[test]
fn requests_before_the_end_of_a_stream_are_answered() {
    let server = TestServer::new();
    let one = "GET /api/segment/get/order HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for (count, tail) in [(2, ""), (16, ""), (40, ""), (3, "GET /half")] {
        let mut stream = server.connect();
        let requests = one.repeat(count) + tail;
        stream.write_all(requests.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let answers = read_to_end(&mut stream);
        let answered = answers.matches("HTTP/1.1 200").count();
        assert!(
            answered + 1 >= count,
            "{count} requests and {tail:?}: {answers}"
        );
    }
}

#[test]
fn http_1_0_is_served_and_closed() {
    let server = TestServer::new();
    let reply = Reply::parse(&server.raw("GET /api/segment/get/order HTTP/1.0\r\n\r\n"));
    assert_eq!((reply.status, reply.body.as_str()), (200, "1"));
}

#[test]
fn nonsense_is_refused() {
    let server = TestServer::new();
    assert_eq!(Reply::parse(&server.raw("NONSENSE\r\n\r\n")).status, 400);
    assert_eq!(
        Reply::parse(&server.raw("GET /a b HTTP/1.1\r\n\r\n")).status,
        400
    );
    let both = "POST /v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}";
    assert_eq!(Reply::parse(&server.raw(both)).status, 400);
}

#[test]
fn large_heads_are_refused() {
    let server = TestServer::new();
    let long = "x".repeat(5000);
    let problem = server.check_problem(&format!("GET /v1/tags/{long}"), "", 414, "target_too_long");
    assert!(problem["next"].as_str().unwrap().contains("4096"));
    let wide = format!("GET /livez HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    assert_eq!(Reply::parse(&server.raw(&wide)).status, 431);
    let many = format!("GET /livez HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(65));
    assert_eq!(Reply::parse(&server.raw(&many)).status, 431);
    let enough = format!(
        "GET /livez HTTP/1.1\r\nconnection: close\r\n{}\r\n",
        "x: y\r\n".repeat(60)
    );
    assert_eq!(Reply::parse(&server.raw(&enough)).status, 200);
}

#[test]
fn large_bodies_are_refused_with_and_without_a_length() {
    let server = TestServer::new();
    let body = format!(r#"{{"tag":"{}"}}"#, "x".repeat(20_000));
    server.check_problem("POST /v1/tags", &body, 413, "too_large");
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let chunked = format!(
        "POST /v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(5)
    );
    assert_eq!(Reply::parse(&server.raw(&chunked)).status, 413);
    let small = "POST /v1/tags/a/ids HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"cou\r\n7\r\nnt\":2} \r\n0\r\n\r\n";
    let reply = Reply::parse(&server.raw(small));
    assert!(reply.body.contains(r#"{"ids":["1","2"]}"#), "{reply:?}");
}

fn impatient() -> TestServer {
    let limits = Limits {
        first_head_max: Duration::from_millis(300),
        idle_max: Duration::from_millis(300),
        body_max: Duration::from_millis(200),
        ..Limits::default()
    };
    TestServer::with(&Config::default(), limits)
}

#[test]
fn slow_heads_and_silence_end_a_connection() {
    let server = impatient();
    for start in ["", "P", "PRI * HT", "GET /livez HTTP/1.1\r\nx: "] {
        let mut stream = server.connect();
        stream.write_all(start.as_bytes()).unwrap();
        assert_eq!(read_to_end(&mut stream), "", "{start:?}");
    }
    let mut stream = server.connect();
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    assert!(
        read_to_end(&mut stream).contains("200 OK"),
        "idle ones are closed in the end"
    );
}

/// Guards against a peer that reads a byte at a time forever.
#[test]
fn a_dripping_head_ends_a_connection() {
    let server = impatient();
    let mut stream = server.connect();
    stream
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    eventually("it is cut", || {
        let written = stream.write_all(b"G");
        let mut byte = [0; 1];
        written.is_err() || matches!(stream.read(&mut byte), Ok(0))
    });
}

#[test]
fn a_slow_body_is_refused() {
    let server = impatient();
    let head = "POST /v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 11\r\n\r\n{";
    let reply = Reply::parse(&server.raw(head));
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (408, &json!("timeout"))
    );
}

#[test]
fn a_busy_connection_outlives_the_time_outs() {
    let server = impatient();
    let mut stream = server.connect();
    for _ in 0..10 {
        stream
            .write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .unwrap();
        let mut bytes = [0; 1024];
        assert!(stream.read(&mut bytes).unwrap() > 0);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn one_connection_too_many_is_overloaded() {
    let limits = Limits {
        connections_max: 2,
        operator_connections_max: 1,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .unwrap();
            let mut bytes = [0; 1024];
            assert!(stream.read(&mut bytes).unwrap() > 0);
            stream
        })
        .collect();
    let check_refused = |refused: &Reply| {
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
        assert_eq!(refused.json()["code"], "overloaded");
    };
    // One more connection is for admins: it gets no id, and is closed if it requests one.
    let mut operator = server.connect();
    let mut bytes = [0; 1024];
    let livez = "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
    operator.write_all(livez.as_bytes()).unwrap();
    let len = operator.read(&mut bytes).unwrap();
    assert!(bytes[..len].starts_with(b"HTTP/1.1 200 OK"));
    // For yet another one there is no slot at all.
    check_refused(&Reply::parse(&read_to_end(&mut server.connect())));
    let id = "GET /v1/tags/order/ids HTTP/1.1\r\nhost: localhost\r\n\r\n";
    operator.write_all(id.as_bytes()).unwrap();
    check_refused(&Reply::parse(&read_to_end(&mut operator)));
    drop(held);
    eventually("a slot is free", || {
        let mut stream = server.connect();
        let request = "GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).is_ok() && read_to_end(&mut stream).contains("200 OK")
    });
}

#[test]
fn one_waiting_call_too_many_is_overloaded() {
    let limits = Limits {
        requests_max: 0,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    let created = server.ask_with("POST /v1/tags", r#"{"tag":"order"}"#);
    assert_eq!(created.status, 201);
    // The first id of a tag waits for its segment.
    let reply = server.ask("GET /v1/tags/order/ids");
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
    assert_eq!(reply.json()["code"], "overloaded");
    // By now it is there, and nothing waits; and admins are never refused.
    eventually("an id in memory", || {
        server.ask("GET /api/segment/get/order").status == 200
    });
    assert_eq!(server.ask("GET /api/segment/get/other").status, 500);
    assert_eq!(server.ask("GET /livez").status, 200);
    assert_eq!(server.ask("GET /v1/tags").status, 200);
}

#[test]
fn http_2_is_spoken_in_the_clear() {
    let server = TestServer::new();
    let url = format!("http://{}/v1/tags/order/ids?count=2", server.address);
    let asked = Command::new("curl")
        .args([
            "--silent",
            "--http2-prior-knowledge",
            "--write-out",
            " %{http_version}",
            &url,
        ])
        .output();
    let Ok(asked) = asked else {
        // Without curl there is no HTTP/2 client here.
        return;
    };
    let answer = String::from_utf8(asked.stdout).unwrap();
    assert_eq!(answer, r#"{"ids":["1","2"]} 2"#);
}

/// Guards that on open connections, each answer is sent at once, and not when the peer sends
/// something more, which it never will before it has its answer.
#[test]
fn answers_on_kept_connections_do_not_wait_for_the_next_request() {
    const REQUESTS: usize = 50;
    let server = TestServer::new();
    let ask = |stream: &mut std::net::TcpStream, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = [0; 1024];
        let len = stream.read(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
        Reply::parse(&text)
    };
    std::thread::scope(|scope| {
        for number in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let mut stream = server.connect();
                for round in 0..REQUESTS {
                    // Most are answered at once; others wait, or come from the router.
                    let path = match (number + round) % 5 {
                        0 => "/livez".to_owned(),
                        1 => format!("/api/segment/get/new-{number}-{round}"),
                        _ => "/api/segment/get/order".to_owned(),
                    };
                    assert_eq!(ask(&mut stream, &path).status, 200, "{path}");
                }
            });
        }
    });
}
