//! Guards batches and ranges of ids.

use leafid_server::{Config, Limits};
use serde_json::json;

use crate::test_server::{Moody, TestServer};

#[test]
fn ids_come_as_strings_in_order() {
    let server = TestServer::new();
    let reply = server.ask("POST /v1/tags/order/ids");
    assert_eq!((reply.status, reply.json()), (200, json!({ "ids": ["1"] })));
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("cache-control"), "no-store");
    let reply = server.ask_with("POST /v1/tags/order/ids", r#"{"count":3}"#);
    assert_eq!(reply.json(), json!({ "ids": ["2", "3", "4"] }));
    let reply = server.ask("GET /v1/tags/order/ids?count=2");
    assert_eq!(reply.json(), json!({ "ids": ["5", "6"] }));
    assert_eq!(
        server.ask("GET /v1/tags/order/ids").json(),
        json!({ "ids": ["7"] })
    );
    assert_eq!(
        server.ask("POST /v1/tags/order/ids?count=2").json(),
        json!({ "ids": ["8", "9"] })
    );
    assert_eq!(
        server.ask_with("POST /v1/tags/order/ids", "{}").json(),
        json!({ "ids": ["10"] })
    );
    assert_eq!(
        server.ask("GET /v1/tags/a%2Fb%20c/ids").json(),
        json!({ "ids": ["1"] })
    );
}

#[test]
fn the_largest_batch_is_served_whole() {
    let server = TestServer::new();
    let reply = server.ask("GET /v1/tags/order/ids?count=10000").json();
    let ids: Vec<u64> = reply["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(ids.len(), 10_000);
    assert!(ids.is_sorted_by(|a, b| a < b));
}

#[test]
fn a_run_names_its_first_and_last_id() {
    let server = TestServer::new();
    let reply = server.ask_with("POST /v1/tags/order/ranges", r#"{"length":1000000}"#);
    assert_eq!(
        (reply.status, reply.header("cache-control")),
        (200, "no-store")
    );
    let run = reply.json();
    let number = |field: &str| run[field].as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(number("last") - number("first") + 1, 1_000_000);
    assert_eq!(
        (&run["tag"], &run["length"]),
        (&json!("order"), &json!(1_000_000))
    );
    let next = server.ask("GET /api/segment/get/order").body;
    assert!(next.parse::<u64>().unwrap() > number("last"));
}

#[test]
fn what_is_out_of_bounds_is_refused_by_name() {
    let server = TestServer::new();
    let ids = "POST /v1/tags/order/ids";
    let problem = server.check_problem("GET /v1/tags/order/ids?count=10001", "", 400, "bad_count");
    assert_eq!(problem["detail"], "count is 10001: ask for 1 to 10000");
    assert_eq!(problem["field"], "count");
    server.check_problem("GET /v1/tags/order/ids?count=0", "", 400, "bad_count");
    server.check_problem("GET /v1/tags/order/ids?count=x", "", 400, "bad_field");
    server.check_problem("GET /v1/tags/order/ids?count=-1", "", 400, "bad_field");
    server.check_problem(
        "GET /v1/tags/order/ids?count=1&count=2",
        "",
        400,
        "bad_field",
    );
    let problem = server.check_problem("GET /v1/tags/order/ids?cuont=2", "", 400, "unknown_field");
    assert_eq!(problem["next"], "did you mean \"count\"?");
    let problem = server.check_problem(ids, r#"{"count":0}"#, 400, "bad_count");
    assert_eq!(problem["detail"], "count is 0: ask for 1 to 10000");
    let problem = server.check_problem(ids, r#"{"count":1.5}"#, 400, "bad_field");
    assert_eq!(
        problem["detail"],
        "field \"count\" is 1.5, but must be a whole number from 1 to 10000"
    );
    server.check_problem(ids, r#"{"count":[1]}"#, 400, "bad_field");
    server.check_problem(ids, r#"{"cnt":1}"#, 400, "unknown_field");
    server.check_problem(ids, r#"{"count":1"#, 400, "bad_json");
    server.check_problem(ids, "[1]", 400, "bad_json");
    server.check_problem("POST /v1/tags/order/ranges", "", 400, "bad_field");
    server.check_problem(
        "POST /v1/tags/order/ranges",
        r#"{"length":10000001}"#,
        400,
        "bad_count",
    );
    server.check_problem("POST /v1/tags/%20/ids", "", 400, "bad_tag");
    server.check_problem("POST /v1/tags/%zz/ids", "", 400, "bad_path");
    server.check_problem("POST /v1/tags/%C3%28/ids", "", 400, "bad_path");
    let long = "x".repeat(129);
    server.check_problem(&format!("POST /v1/tags/{long}/ids"), "", 400, "bad_tag");
}

#[test]
fn an_unknown_tag_comes_with_the_command_that_creates_it() {
    let config = Config {
        create_tags: Some(false),
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    let problem = server.check_problem("POST /v1/tags/it's/ids", "", 404, "unknown_tag");
    let expected = format!(
        r#"curl -X POST http://{}/v1/tags -H 'content-type: application/json' -d '{{"tag":"it'\''s"}}'"#,
        server.address
    );
    assert_eq!(problem["next"], expected);
    assert_eq!(problem["instance"], "/v1/tags/it's/ids");
    let ran = std::process::Command::new("sh")
        .args(["-c", &expected])
        .output();
    if ran.is_ok_and(|ran| ran.status.success()) {
        assert_eq!(
            server.ask("POST /v1/tags/it's/ids").json(),
            json!({ "ids": ["1"] })
        );
    }
}

#[test]
fn a_store_that_is_away_is_not_the_end() {
    let store = Moody::with_tag("order");
    let server = TestServer::on_store(Config::default(), store.clone());
    server.wait_until_ready();
    server.check("GET /api/segment/get/order", 200, "1");
    store.go(true);
    server.check("GET /api/segment/get/order", 200, "2");
    let problem = server.check_problem("POST /v1/tags/other/ids", "", 503, "store_unavailable");
    assert!(problem["retry_after_ms"].as_u64().unwrap() > 0);
    let text = problem.to_string();
    assert!(
        text.contains("cannot reach memory") && !text.contains("secret"),
        "{text}"
    );
    let reply = server.ask("GET /api/segment/get/other");
    assert_eq!(reply.status, 500);
    assert!(!reply.header("retry-after").is_empty());
    let reply = server.ask("GET /v1/tags");
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
}

#[test]
fn the_end_of_the_numbers_is_a_conflict() {
    let server = TestServer::new();
    let created = server.ask_with("POST /v1/tags", r#"{"tag":"small","limit":"3","step":1}"#);
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(
        server.ask("GET /v1/tags/small/ids?count=3").json(),
        json!({ "ids": ["1", "2", "3"] })
    );
    let problem = server.check_problem("GET /v1/tags/small/ids", "", 409, "limit_reached");
    assert!(problem["next"].as_str().unwrap().contains("PATCH"));
    let raised = server.ask_with("PATCH /v1/tags/small", r#"{"limit":5}"#);
    assert_eq!(raised.json()["limit"], "5");
    assert_eq!(
        server.ask("GET /v1/tags/small/ids").json(),
        json!({ "ids": ["4"] })
    );
}
