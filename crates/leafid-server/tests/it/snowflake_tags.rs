//! Guards tags of kind snowflake over HTTP: created and shown, their ids, and what they refuse.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use leafid::store::{MemoryJournal, MemoryLeaseStore, MemoryStore};
use leafid::{Layout, RegistryStage, WorkerChoice};
use leafid_server::{Config, Limits, Workers};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::test_server::{TestServer, eventually};

/// A server on stores in memory that makes snowflake ids, with the tag `trace`.
fn server() -> TestServer {
    let config = Config {
        allow_weak_store: true,
        ..Config::default()
    };
    let workers = Workers {
        leases: Some(Arc::new(MemoryLeaseStore::new())),
        journal: Arc::new(MemoryJournal::new()),
        choice: WorkerChoice::Any,
        preferred: None,
        worker_node: None,
    };
    let runtime = Runtime::new().unwrap();
    let store = Arc::new(MemoryStore::new());
    let server =
        TestServer::with_workers(runtime, &config, Limits::default(), store, Some(workers));
    server.wait_until_ready();
    eventually("holding", || {
        let status = server.service.worker_status();
        status.is_some_and(|status| matches!(status.stage, RegistryStage::Holding { .. }))
    });
    create(&server, r#"{"tag":"trace","kind":"snowflake"}"#);
    server
}

/// What the Redis protocol answers.
fn redis(server: &TestServer, input: &str) -> String {
    let mut stream = TcpStream::connect(server.addresses.resp.unwrap()).unwrap();
    stream.write_all(input.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    answers
}

#[track_caller]
fn create(server: &TestServer, body: &str) -> Value {
    let reply = server.ask_with("POST /v1/tags", body);
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()
}

fn ids(reply: &Value) -> Vec<u64> {
    let ids = reply["ids"].as_array().unwrap();
    let id = |id: &Value| id.as_str().unwrap().parse().unwrap();
    ids.iter().map(id).collect()
}

#[test]
fn a_snowflake_tag_is_shown_without_what_it_has_not() {
    let server = server();
    create(&server, r#"{"tag":"order"}"#);
    server.check("GET /api/segment/get/order", 200, "1");
    assert_eq!(server.ask("GET /v1/tags/trace/ids").status, 200);
    let shown = server.ask("GET /v1/tags/trace").json();
    assert_eq!(shown["kind"], "snowflake");
    for nothing in ["max_id", "step", "policy", "limit", "live"] {
        assert_eq!(shown[nothing], json!(null), "{nothing}: {shown}");
    }
    let order = server.ask("GET /v1/tags/order").json();
    assert_eq!(
        (&order["kind"], &order["step"]),
        (&json!("segment"), &json!(1000))
    );
    let listed = server.ask("GET /v1/tags").json();
    let kinds: Vec<_> = listed["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["kind"])
        .collect();
    assert_eq!(kinds, ["segment", "snowflake"]);
}

/// Guards that all snowflake tags share one generator, and that their ids are the server's own.
#[test]
fn ids_of_all_snowflake_tags_are_distinct() {
    let server = server();
    create(&server, r#"{"tag":"span","kind":"snowflake"}"#);
    let worker = server
        .service
        .worker_status()
        .unwrap()
        .lease
        .unwrap()
        .worker;
    let mut seen = BTreeSet::new();
    for tag in ["trace", "span", "trace"] {
        for path in [
            format!("/v1/tags/{tag}/ids?count=5000"),
            format!("/v1/tags/{tag}/ids"),
        ] {
            let taken = ids(&server.ask(&format!("GET {path}")).json());
            assert!(taken.is_sorted_by(|a, b| a < b));
            for id in taken {
                assert_eq!(Layout::LEAF.decompose(id).worker, worker);
                assert!(seen.insert(id), "{id} came twice");
            }
        }
        let id = server.ask("GET /api/snowflake/get/any").body;
        assert!(seen.insert(id.parse().unwrap()));
    }
    assert_eq!(seen.len(), 3 * 5002);
    server.check_problem("GET /v1/tags/trace/ids?count=10001", "", 400, "bad_count");
    server.check_problem("GET /v1/tags/trace/ids?count=0", "", 400, "bad_count");
}

#[test]
fn what_only_segments_have_is_refused() {
    let server = server();
    let length = r#"{"length":10}"#;
    let ranges = "POST /v1/tags/trace/ranges";
    let problem = server.check_problem(ranges, length, 409, "snowflake_tag");
    let detail = "tag \"trace\" issues snowflake ids and has no ranges";
    assert_eq!(problem["detail"], detail);
    let reply = server.ask("GET /api/segment/get/trace");
    assert_eq!(reply.status, 500);
    assert!(
        reply.body.contains("/api/snowflake/get/trace"),
        "{}",
        reply.body
    );
    server.check_problem(
        "PATCH /v1/tags/trace",
        r#"{"step":5}"#,
        409,
        "snowflake_tag",
    );
    server.check_problem(
        "PATCH /v1/tags/trace",
        r#"{"kind":"segment"}"#,
        400,
        "unknown_field",
    );
    let reply = server.ask_with("PATCH /v1/tags/trace", r#"{"description":"spans"}"#);
    assert_eq!(
        (reply.status, &reply.json()["kind"]),
        (200, &json!("snowflake"))
    );
}

#[test]
fn a_kind_is_checked_when_a_tag_is_created() {
    let server = server();
    let check = |rest: &str, field: &str| {
        let body = format!(r#"{{"tag":"new",{rest}}}"#);
        let problem = server.check_problem("POST /v1/tags", &body, 400, "bad_field");
        assert_eq!(problem["field"], field, "{problem}");
    };
    check(r#""kind":"uuid""#, "kind");
    check(r#""kind":1"#, "kind");
    for field in ["start", "step", "limit"] {
        check(&format!(r#""kind":"snowflake","{field}":5"#), field);
    }
    check(r#""kind":"snowflake","policy":{"name":"fixed"}"#, "policy");
    let made = create(&server, r#"{"tag":"new","kind":"snowflake","policy":null}"#);
    assert_eq!(made["kind"], "snowflake");
}

/// Guards that a format that could write no snowflake id, or none soon, is refused at once.
#[test]
fn a_format_has_room_for_all_ids_of_the_layout() {
    let server = server();
    for (format, reason) in [
        ("{number width=3}", "largest number is 999,"),
        ("{number width=18}", "give the number more digits"),
        ("{gene fixed=25}", "give the number more digits"),
        ("{unix_ms}{number total=20}", "give the number more digits"),
        (
            "{worker width=1}-{number}",
            "{worker} has room for worker ids up to 9,",
        ),
        (
            "{worker width=4}{number}{worker width=3}",
            "worker ids up to 999",
        ),
        (
            "{date %Y}-{number width=9 restart=year}",
            "does not restart",
        ),
    ] {
        let body = format!(r#"{{"tag":"new","kind":"snowflake","format":"{format}"}}"#);
        let problem = server.check_problem("POST /v1/tags", &body, 400, "bad_field");
        assert_eq!(problem["field"], "format", "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(reason), "{detail}");
    }
    for (tag, format) in [
        ("wide", "{number width=19}"),
        ("worker", "{worker width=4}-{number}"),
        ("letters", "{worker width=2 radix=36}-{number}"),
        ("short", "T{number radix=62}"),
    ] {
        let body = format!(r#"{{"tag":"{tag}","kind":"snowflake","format":"{format}"}}"#);
        create(&server, &body);
        assert_eq!(server.ask(&format!("GET /v1/tags/{tag}/ids")).status, 200);
    }
    // Its ids are texts on Leaf's path too.
    let reply = server.ask("GET /api/segment/get/short");
    assert!(
        reply.status == 200 && reply.body.starts_with('T'),
        "{}",
        reply.body
    );
}

/// Guards that a segment tag deleted and created as a snowflake tag changes at once, and that it is
/// none again: its snowflake ids could repeat.
#[test]
fn a_segment_tag_becomes_a_snowflake_tag_by_a_new_life() {
    let server = server();
    create(&server, r#"{"tag":"order"}"#);
    server.check("GET /api/segment/get/order", 200, "1");
    assert_eq!(server.ask("DELETE /v1/tags/order").status, 204);
    create(&server, r#"{"tag":"order","kind":"snowflake"}"#);
    let taken = ids(&server.ask("GET /v1/tags/order/ids").json());
    assert!(taken[0] > 1 << 40, "{taken:?}");
    assert_eq!(server.ask("DELETE /v1/tags/order").status, 204);
    for body in [
        r#"{"tag":"order"}"#.to_owned(),
        format!(
            r#"{{"tag":"order","kind":"segment","start":"{}"}}"#,
            taken[0] - 3
        ),
    ] {
        let problem = server.check_problem("POST /v1/tags", &body, 409, "snowflake_tag");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("had the kind snowflake"), "{detail}");
    }
    server.check_problem("GET /v1/tags/order/ids", "", 404, "unknown_tag");
}

/// Guards that a snowflake tag issues no id that a former segment tag of its name may have issued,
/// in any protocol.
#[test]
fn snowflake_ids_stay_above_former_segments() {
    let server = server();
    let now = ids(&server.ask("GET /v1/tags/trace/ids").json())[0];
    // An hour ahead.
    let start = now + ((3_600_000_u64) << 22);
    create(&server, &format!(r#"{{"tag":"order","start":"{start}"}}"#));
    server.check("GET /api/segment/get/order", 200, &start.to_string());
    assert_eq!(server.ask("DELETE /v1/tags/order").status, 204);
    create(&server, r#"{"tag":"order","kind":"snowflake"}"#);
    for request in ["GET /v1/tags/order/ids", "GET /v1/tags/order/ids?count=5"] {
        let problem = server.check_problem(request, "", 500, "bad_row");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("which its snowflake ids have not reached"),
            "{detail}"
        );
    }
    assert!(redis(&server, "INCR order\r\n").starts_with("-ERR bad_row"));
    assert_eq!(server.ask("GET /v1/tags/trace/ids").status, 200);
}

#[test]
fn a_server_without_snowflakes_says_so() {
    let server = TestServer::new();
    create(&server, r#"{"tag":"trace","kind":"snowflake"}"#);
    let problem = server.check_problem("GET /v1/tags/trace/ids", "", 501, "mode_off");
    assert!(
        problem["next"]
            .as_str()
            .unwrap()
            .contains("snowflake = true")
    );
    server.check_problem("GET /v1/tags/trace/ids?count=3", "", 501, "mode_off");
}

/// Guards that metrics of segments leave such tags out: they have no limit to warn of.
#[test]
fn a_snowflake_tag_has_no_series_of_a_segment_tag() {
    let server = server();
    create(&server, r#"{"tag":"order"}"#);
    server.check("GET /api/segment/get/order", 200, "1");
    assert_eq!(server.ask("GET /v1/tags/trace/ids").status, 200);
    let text = server.ask("GET /metrics").body;
    assert!(text.contains("tag=\"order\""), "{text}");
    assert!(!text.contains("tag=\"trace\""), "{text}");
}

/// Guards a snowflake tag over the Redis protocol: it issues ids, and has no ranges.
#[test]
fn a_snowflake_tag_answers_redis_clients() {
    let server = server();
    let input = "INCR trace\r\nINCR trace\r\nINCRBY trace 1\r\nINCRBY trace 2\r\nGET trace\r\n";
    let answers = redis(&server, input);
    let lines: Vec<_> = answers.split("\r\n").collect();
    let id = |line: &str| line.trim_start_matches(':').parse::<u64>().unwrap();
    assert!(id(lines[0]) < id(lines[1]) && id(lines[1]) < id(lines[2]));
    let refusal = "-ERR snowflake_tag tag \"trace\" issues snowflake ids and has no ranges";
    assert_eq!(lines[3], refusal);
    assert_eq!(id(lines[5]), id(lines[2]), "{answers}");
}
