//! Guards what operators rely on: health checks, metrics, weak stores, the shutdown.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use leafid::store::MemoryStore;
use leafid::{Id, Tag};
use leafid_server::{Config, Limits, ServeError};
use tokio::runtime::Runtime;

use crate::test_server::{Moody, TestServer, eventually, read_to_end};

#[test]
fn probes_answer() {
    let server = TestServer::new();
    server.check("GET /livez", 200, "ok\n");
    server.check("GET /readyz", 200, "ready\n");
    let verbose = server.ask("GET /readyz?verbose").body;
    let wanted = "[+]driver: segments are fetched\n[+]store: sqlite:";
    assert!(verbose.starts_with(wanted), "{verbose}");
    assert!(verbose.ends_with("leafid.db answers\nready\n"), "{verbose}");
    server.check("HEAD /readyz", 200, "");
}

/// Guards that an outage of the database does not take a server with ids in memory out of rotation.
#[test]
fn ready_as_long_as_memory_can_issue() {
    let store = Moody::with_tag("order");
    let server = TestServer::on_store(Config::default(), store.clone());
    server.wait_until_ready();
    server.check("GET /api/segment/get/order", 200, "1");
    store.go(true);
    assert_eq!(server.ask("GET /v1/tags").status, 503);
    eventually("the store was found to be down", || {
        let verbose = server.ask("GET /readyz?verbose");
        verbose
            .body
            .contains("[-]store: failing for 0 s: cannot reach memory")
    });
    let verbose = server.ask("GET /readyz?verbose");
    assert_eq!(verbose.status, 200);
    assert!(verbose.body.contains("[+]memory: holds ids"), "{verbose:?}");
    assert_eq!(server.ask("DELETE /v1/tags/order").status, 503);
}

/// Guards that a server may start before its database, and issues nothing until it has reached it.
#[test]
fn a_store_may_come_later() {
    let store = Moody::with_tag("order");
    store.go(true);
    let server = TestServer::on_store(Config::default(), store.clone());
    server.check("GET /livez", 200, "ok\n");
    server.check("GET /readyz", 503, "not ready\n");
    eventually("the store was asked", || {
        server
            .ask("GET /readyz?verbose")
            .body
            .contains("cannot reach memory")
    });
    let problem = server.check_problem("GET /v1/tags/order/ids", "", 503, "store_unavailable");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("before the store is reached")
    );
    assert_eq!(server.ask("GET /api/segment/get/order").status, 500);
    store.go(false);
    server.wait_until_ready();
    server.check("GET /api/segment/get/order", 200, "1");
}

/// Guards that a call in the first moments waits for the store instead of failing.
#[test]
fn the_first_call_waits_for_the_start() {
    let store = Moody::with_tag("order");
    let server = TestServer::on_store(Config::default(), store);
    server.check("GET /api/segment/get/order", 200, "1");
}

/// Guards never-twice: a store that could lose a reservation is refused, with the setting to
/// change.
#[test]
fn a_weak_store_is_refused() {
    let runtime = Runtime::new().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut server = TestServer::on(runtime, &Config::default(), Limits::default(), store);
    let error = server.ended().unwrap_err();
    assert!(matches!(error, ServeError::WeakStore { .. }));
    let text = error.to_string();
    assert!(text.contains("allow_weak_store = true"), "{text}");
}

#[test]
fn metrics_count_what_happened() {
    let server = TestServer::new();
    let _ids = server.ask("GET /v1/tags/order/ids?count=5");
    let _missing = server.ask("GET /nothing");
    let reply = server.ask("GET /metrics");
    assert_eq!(
        reply.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for line in [
        "# TYPE leafid_ids_issued_total counter",
        "# TYPE leafid_build_info gauge",
        "leafid_ids_issued_total{tag=\"order\"} 5",
        "leafid_segment_step{tag=\"order\"} 1000.0",
        "leafid_http_requests_total{route=\"/v1/tags/{tag}/ids\",status=\"200\"} 1",
        "leafid_http_requests_total{route=\"other\",status=\"404\"} 1",
        "leafid_store_failures_total{call=\"reserve\"} 0",
        "leafid_store_call_seconds_count{call=\"inspect\"} 1",
        "leafid_store_calls_total{call=\"inspect\"} 1",
        "leafid_store_regressions_total 0",
        "leafid_store_up 1.0",
        "leafid_ready 1.0",
        "leafid_tags_loaded 1.0",
        "leafid_build_info{version=\"0.1.0\"} 1",
        "leafid_request_duration_seconds_bucket{le=\"+Inf\",protocol=\"http\"} 2",
        "leafid_request_duration_seconds_count{protocol=\"http\"} 2",
        "# TYPE process_cpu_seconds_total counter",
        "# TYPE process_resident_memory_bytes gauge",
        "# TYPE process_open_fds gauge",
        "# TYPE process_max_fds gauge",
        "# TYPE process_start_time_seconds gauge",
    ] {
        assert!(
            reply.body.lines().any(|found| found == line),
            "{line}\n{}",
            reply.body
        );
    }
    for name in [
        "tag_rate",
        "tag_headroom",
        "tag_limit",
        "tag_headroom_seconds",
        "connections",
        "connections_max",
        "calls_waiting",
    ] {
        assert!(
            reply.body.contains(&format!("# TYPE leafid_{name} gauge")),
            "{name}"
        );
    }
}

/// Guards that a client that requests OpenMetrics gets it, as Prometheus does.
#[test]
fn openmetrics_is_served_on_request() {
    let server = TestServer::new();
    let head = "host: localhost\r\nconnection: close\r\naccept: application/openmetrics-text;version=1.0.0";
    let text = server.raw(&format!("GET /metrics HTTP/1.1\r\n{head}\r\n\r\n"));
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(text.contains(kind), "{text}");
    assert!(
        text.contains("# TYPE leafid_ids_issued counter\n"),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(!server.ask("GET /metrics").body.contains("# EOF"));
}

#[test]
fn series_are_bounded_and_the_rest_is_summed_up() {
    let limits = Limits {
        metrics_tags_max: 2,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    for tag in ["a", "b", "c", "d", "(other)"] {
        assert_eq!(
            server
                .ask(&format!("GET /v1/tags/{tag}/ids?count=3"))
                .status,
            200
        );
        let _scraped = server.ask("GET /metrics");
    }
    let text = server.ask("GET /metrics").body;
    for line in [
        "leafid_ids_issued_total{tag=\"a\"} 3",
        "leafid_ids_issued_total{tag=\"b\"} 3",
        "leafid_ids_issued_total{tag=\"(other)\"} 9",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert_eq!(text.matches("leafid_ids_issued_total{").count(), 3);
}

#[test]
fn odd_names_do_not_break_the_metrics() {
    let server = TestServer::new();
    server.check("GET /api/segment/get/a%22%5Cb", 200, "1");
    let text = server.ask("GET /metrics").body;
    assert!(
        text.contains(r#"leafid_ids_issued_total{tag="a\"\\b"} 1"#),
        "{text}"
    );
}

/// Guards that a store that went back is noticed once and repeats nothing.
#[test]
fn a_store_that_went_back_raises_one_alarm() {
    let store = Moody::with_tag("order");
    let server = TestServer::on_store(Config::default(), store.clone());
    server.wait_until_ready();
    let before = server.ask("GET /v1/tags/order/ids?count=900").json();
    let last: Id = before["ids"][899].as_str().unwrap().parse().unwrap();
    store
        .inner
        .put_max_id(&Tag::new("order").unwrap(), 1)
        .unwrap();
    let after = server.ask("GET /v1/tags/order/ids?count=5000").json();
    let first: Id = after["ids"][0].as_str().unwrap().parse().unwrap();
    assert!(first > last, "{first} after {last}");
    let text = server.ask("GET /metrics").body;
    assert!(
        text.contains("leafid_store_regressions_total 1\n"),
        "{text}"
    );
    assert!(
        text.contains("leafid_tag_regressions_total{tag=\"order\"} 1\n"),
        "{text}"
    );
}

#[test]
fn the_shutdown_finishes_what_is_in_flight() {
    let store = Moody::with_tag("order");
    store.go(true);
    let config = Config {
        wait_max: Duration::from_millis(300),
        ..Config::default()
    };
    let mut server = TestServer::on_store(config, store.clone());
    store.go(false);
    server.wait_until_ready();

    // One connection is idle, one has sent half a body.
    let mut idle = server.connect();
    let mut busy = server.connect();
    let head = "POST /v1/tags/order/ids HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 11\r\nexpect: 100-continue\r\n\r\n";
    busy.write_all(head.as_bytes()).unwrap();
    // A request that is answered so is in flight.
    let mut told = [0; 512];
    let len = busy.read(&mut told).unwrap();
    assert!(told[..len].starts_with(b"HTTP/1.1 100 Continue"));
    busy.write_all(b"{\"cou").unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    eventually("the first answer", || {
        let mut byte = [0; 512];
        idle.peek(&mut byte).unwrap() > 0
    });

    server.stop();
    assert!(
        read_to_end(&mut idle).contains("200 OK"),
        "an idle connection is closed"
    );
    eventually("not ready", || {
        !server.service.health().readiness().is_ready()
    });
    busy.write_all(b"nt\":1}").unwrap();
    let answer = read_to_end(&mut busy);
    assert!(
        answer.contains("200 OK") && answer.contains("{\"ids\":[\"1\"]}"),
        "{answer}"
    );
    assert!(
        answer.to_lowercase().contains("connection: close"),
        "{answer}"
    );
    server.ended().unwrap();
    assert!(std::net::TcpStream::connect(server.address).is_err());
}

#[test]
fn the_shutdown_does_not_wait_for_ever() {
    let config = Config {
        shutdown_grace: Duration::from_millis(100),
        ..Config::default()
    };
    let mut server = TestServer::with(&config, Limits::default());
    let mut stuck = server.connect();
    let head = "POST /v1/tags HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{";
    stuck.write_all(head.as_bytes()).unwrap();
    eventually("it is connected", || {
        server
            .ask("GET /metrics")
            .body
            .contains("leafid_connections{protocol=\"http\"} 2")
    });
    server.stop();
    server.ended().unwrap();
}
