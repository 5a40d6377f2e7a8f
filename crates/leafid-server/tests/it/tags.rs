//! Guards tags: created, shown, listed, changed, deleted.

use leafid_server::{Config, Limits};
use serde_json::json;

use crate::test_server::TestServer;

#[test]
fn a_tag_lives_from_its_creation_to_its_deletion() {
    let server = TestServer::new();
    let body = r#"{"tag":"order/1","start":"5000","step":2000,"limit":"js53",
        "policy":{"name":"leaf","step_max":8000},"description":"orders"}"#;
    let created = server.ask_with("POST /v1/tags", body);
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(created.header("location"), "/v1/tags/order%2F1");
    let tag = created.json();
    assert_eq!(tag["tag"], "order/1");
    assert_eq!(tag["max_id"], "5000");
    assert_eq!(tag["step"], 2000);
    assert_eq!(tag["limit"], "js53");
    assert_eq!(tag["policy"], json!({ "name": "leaf", "step_max": 8000 }));
    assert_eq!(tag["description"], "orders");
    assert_eq!(tag["live"], json!(null));

    server.check("GET /api/segment/get/order%2F1", 200, "5000");
    let shown = server.ask("GET /v1/tags/order%2F1").json();
    assert_eq!(shown["max_id"], "7000");
    let live = &shown["live"];
    assert_eq!(
        (&live["stage"], &live["step"]),
        (&json!("live"), &json!(2000))
    );
    assert_eq!(
        (&live["issued"], &live["remaining"]),
        (&json!("1"), &json!(1999))
    );
    assert_eq!(live["policy"]["name"], "leaf");
    assert_eq!(live["headroom"], "9007199254733992");
    let (rate, days) = (live["rate"].as_f64().unwrap(), &live["headroom_days"]);
    let expected = 9_007_199_254_733_992.0 / rate / 86_400.0;
    assert!(
        (days.as_f64().unwrap() / expected - 1.0).abs() < 1e-6,
        "{live}"
    );

    let changed = server.ask_with(
        "PATCH /v1/tags/order%2F1",
        r#"{"step":10,"policy":null,"description":null}"#,
    );
    assert_eq!(changed.status, 200, "{}", changed.body);
    let changed = changed.json();
    assert_eq!(
        (&changed["step"], &changed["policy"]),
        (&json!(10), &json!(null))
    );
    assert_eq!(changed["description"], json!(null));
    assert_eq!(changed["limit"], "js53");

    let deleted = server.ask("DELETE /v1/tags/order%2F1");
    assert_eq!((deleted.status, deleted.body.as_str()), (204, ""));
    server.check_problem("GET /v1/tags/order%2F1", "", 404, "unknown_tag");
    server.check_problem("DELETE /v1/tags/order%2F1", "", 404, "unknown_tag");
    server.check_problem(
        "PATCH /v1/tags/order%2F1",
        r#"{"step":1}"#,
        404,
        "unknown_tag",
    );
    let again = server
        .ask_with("POST /v1/tags", r#"{"tag":"order/1"}"#)
        .json();
    assert_eq!(
        again["max_id"], "7000",
        "ids of its former life never come again"
    );
}

#[test]
fn policies_are_read_and_shown() {
    let server = TestServer::new();
    let check = |name: &str, policy: &str, expected| {
        let body = format!(r#"{{"tag":"{name}","policy":{policy}}}"#);
        let reply = server.ask_with("POST /v1/tags", &body);
        assert_eq!(reply.status, 201, "{}", reply.body);
        assert_eq!(reply.json()["policy"], expected);
    };
    check("a", "null", json!(null));
    check("b", r#"{"name":"fixed"}"#, json!({ "name": "fixed" }));
    check(
        "c",
        r#"{"name":"cover","cover_seconds":60}"#,
        json!({ "name": "cover", "cover_seconds": 60, "step_max": 10_000_000 }),
    );
    let bad = |body: &str, code: &str, field: &str| {
        let problem = server.check_problem("POST /v1/tags", body, 400, code);
        assert_eq!(problem["field"], field, "{problem}");
    };
    bad(
        r#"{"tag":"x","policy":{"name":"leef"}}"#,
        "bad_field",
        "policy.name",
    );
    bad(r#"{"tag":"x","policy":{}}"#, "bad_field", "policy.name");
    bad(
        r#"{"tag":"x","policy":{"name":"fixed","step_max":1}}"#,
        "bad_field",
        "policy.step_max",
    );
    bad(
        r#"{"tag":"x","policy":{"name":"cover","cover":1}}"#,
        "unknown_field",
        "policy.cover",
    );
    bad(
        r#"{"tag":"x","policy":{"name":"cover","cover_seconds":0}}"#,
        "bad_field",
        "policy.cover_seconds",
    );
}

#[test]
fn bad_fields_are_named_with_what_they_may_be() {
    let server = TestServer::new();
    let bad = |body: &str, code: &str, field: &str| {
        let problem = server.check_problem("POST /v1/tags", body, 400, code);
        assert_eq!(problem["field"], field, "{problem}");
        problem["next"].as_str().unwrap().to_owned()
    };
    bad("{}", "bad_field", "tag");
    bad(r#"{"tag":7}"#, "bad_field", "tag");
    bad(r#"{"tag":""}"#, "bad_tag", "tag");
    bad(r#"{"tag":"x","step":0}"#, "bad_field", "step");
    bad(r#"{"tag":"x","step":2147483648}"#, "bad_field", "step");
    bad(r#"{"tag":"x","start":"0"}"#, "bad_field", "start");
    bad(r#"{"tag":"x","limit":"int16"}"#, "bad_field", "limit");
    bad(r#"{"tag":"x","description":5}"#, "bad_field", "description");
    let next = bad(r#"{"tag":"x","stpe":5}"#, "unknown_field", "stpe");
    assert_eq!(next, "did you mean \"step\"?");
    let next = bad(r#"{"tag":"x","max_id":5}"#, "unknown_field", "max_id");
    assert!(
        next.starts_with("known here: tag, kind, format, start, step"),
        "{next}"
    );
    server.check_problem("POST /v1/tags", "nonsense", 400, "bad_json");
    let long = format!(r#"{{"tag":"x","description":"{}"}}"#, "d".repeat(257));
    bad(&long, "bad_field", "description");
}

/// Guards that a call accepts only known parameters, and quotes little of a long one.
#[test]
fn parameters_that_a_call_does_not_know_are_refused() {
    let server = TestServer::new();
    let long = "n".repeat(500);
    for request in [
        "GET /v1/tags/order",
        "GET /v1/quotas",
        "GET /v1/clock",
        "DELETE /v1/tags/order",
        "GET /v1/tags/order/ids",
        "POST /v1/tags/order/ids",
    ] {
        let request = format!("{request}?{long}=1");
        let problem = server.check_problem(&request, "", 400, "unknown_field");
        let field = problem["field"].as_str().unwrap();
        assert_eq!(field, format!("{}...", "n".repeat(100)), "{request}");
    }
    let with_body = "POST /v1/tags/order/ids?count=2";
    server.check_problem(with_body, r#"{"count":3}"#, 400, "unknown_field");
    let problem = server.check_problem("GET /v1/tags?after=%20", "", 400, "bad_tag");
    assert_eq!(problem["field"], "after");
}

/// JSON has one kind of number: `5.0` is a whole one.
#[test]
fn whole_numbers_may_be_written_as_fractions() {
    let server = TestServer::new();
    let tag = r#"{"tag":"x","step":5.0,"start":2e3}"#;
    assert_eq!(server.ask_with("POST /v1/tags", tag).status, 201);
    let ids = server.ask_with("POST /v1/tags/x/ids", r#"{"count":2.0}"#);
    assert_eq!(ids.json(), json!({ "ids": ["2000", "2001"] }));
    for count in ["2.5", "-1.0", "1e30"] {
        let body = format!(r#"{{"count":{count}}}"#);
        server.check_problem("POST /v1/tags/x/ids", &body, 400, "bad_field");
    }
}

/// Guards that a refused change changes nothing, and says why.
#[test]
fn a_tag_is_raised_or_left_as_it_is() {
    let server = TestServer::new();
    let segments = r#"{"tag":"order","step":5,"start":1000}"#;
    assert_eq!(server.ask_with("POST /v1/tags", segments).status, 201);
    let back = r#"{"step":7,"next":1000}"#;
    let problem = server.check_problem("PATCH /v1/tags/order", back, 409, "next_behind");
    let detail = "the next segment of tag \"order\" starts at 1000, which can only be raised";
    assert_eq!(
        (&problem["detail"], &problem["field"]),
        (&json!(detail), &json!("next"))
    );
    assert_eq!(server.ask("GET /v1/tags/order").json()["step"], 5);
    for beyond in [
        r#"{"step":7,"limit":"5000","next":5002}"#,
        r#"{"limit":"5000"}"#,
        r#"{"step":7,"next":5002}"#,
        r#"{"next":5002}"#,
    ] {
        if !beyond.contains("next") {
            assert_eq!(server.ask_with("PATCH /v1/tags/order", beyond).status, 200);
            continue;
        }
        let problem = server.check_problem("PATCH /v1/tags/order", beyond, 409, "limit_reached");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("its limit is 5000"), "{detail}");
        assert_eq!(problem["field"], "next");
        assert_eq!(server.ask("GET /v1/tags/order").json()["step"], 5);
    }
    let snowflakes = r#"{"tag":"trace","kind":"snowflake"}"#;
    assert_eq!(server.ask_with("POST /v1/tags", snowflakes).status, 201);
    let next = r#"{"next":1000}"#;
    server.check_problem("PATCH /v1/tags/trace", next, 409, "snowflake_tag");
    server.check_problem("PATCH /v1/tags/nothing", next, 404, "unknown_tag");
}

#[test]
fn a_body_must_be_declared_as_json() {
    let server = TestServer::new();
    let form = Some(("application/x-www-form-urlencoded", r#"{"tag":"x"}"#));
    let reply = server.send("POST /v1/tags", form);
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (415, &json!("unsupported_media_type"))
    );
    let spelled = Some(("Application/JSON; charset=utf-8", r#"{"tag":"x"}"#));
    assert_eq!(server.send("POST /v1/tags", spelled).status, 201);
}

#[test]
fn a_tag_is_created_once() {
    let server = TestServer::new();
    assert_eq!(
        server.ask_with("POST /v1/tags", r#"{"tag":"a b"}"#).status,
        201
    );
    let problem = server.check_problem("POST /v1/tags", r#"{"tag":"a b"}"#, 409, "tag_exists");
    let next = format!("curl http://{}/v1/tags/a%20b", server.address);
    assert_eq!(problem["next"], next);
}

#[test]
fn lists_come_in_pages() {
    let server = TestServer::new();
    for tag in ["e", "b", "c&d", "a", "f"] {
        let body = json!({ "tag": tag }).to_string();
        assert_eq!(server.ask_with("POST /v1/tags", &body).status, 201);
    }
    let mut path = "/v1/tags?limit=2".to_owned();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let page = server.ask(&format!("GET {path}")).json();
        let tags = page["tags"].as_array().unwrap();
        seen.extend(
            tags.iter()
                .map(|tag| tag["tag"].as_str().unwrap().to_owned()),
        );
        assert!(tags[0].get("live").is_none());
        path = page["next"].as_str().unwrap_or("").to_owned();
    }
    assert_eq!(seen, ["a", "b", "c&d", "e", "f"]);
    assert_eq!(path, "", "the last page has no next one");
    server.check_problem("GET /v1/tags?limit=0", "", 400, "bad_count");
    server.check_problem("GET /v1/tags?limit=1001", "", 400, "bad_count");
    server.check_problem("GET /v1/tags?limit=9999999999", "", 400, "bad_count");
    server.check_problem("GET /v1/tags?after=%20", "", 400, "bad_tag");
    let problem = server.check_problem("GET /v1/tags?aftr=a", "", 400, "unknown_field");
    assert_eq!(problem["next"], "did you mean \"after\"?");
}

/// Guards that malformed input is never guessed at.
#[test]
fn malformed_names_are_refused() {
    let server = TestServer::new();
    for path in [
        "/v1/tags/%zz",
        "/v1/tags/%C3%28",
        "/v1/tags/%",
        "/v1/tags?after=%zz",
        "/v1/tags?after=%FF",
        "/nothing/%zz",
    ] {
        server.check_problem(&format!("GET {path}"), "", 400, "bad_path");
    }
}

#[test]
fn the_step_of_new_tags_is_a_setting() {
    let config = Config {
        step: 77,
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    let created = server.ask_with("POST /v1/tags", r#"{"tag":"a"}"#).json();
    assert_eq!(created["step"], 77);
    server.check("GET /api/segment/get/b", 200, "1");
    assert_eq!(server.ask("GET /v1/tags/b").json()["step"], 77);
}

#[test]
fn other_paths_and_methods_get_the_allowed_ones() {
    let server = TestServer::new();
    for path in [
        "/x",
        "/v1",
        "/v1/tags/",
        "/v1/tags/a/b",
        "/v1/tags/a/ids/",
        "/api/segment/get/a/b",
    ] {
        let problem = server.check_problem(&format!("GET {path}"), "", 404, "not_found");
        assert_eq!(problem["instance"], path);
    }
    let check = |request: &str, allow: &str| {
        server.check_problem(request, "", 405, "method_not_allowed");
        assert_eq!(server.ask(request).header("allow"), allow);
    };
    check("POST /", "GET, HEAD");
    check("PUT /console/session", "GET, HEAD, POST, DELETE");
    check("PUT /v1/tags", "GET, HEAD, POST");
    check("POST /v1/tags/a", "GET, HEAD, PATCH, DELETE");
    check("DELETE /v1/tags/a/ids", "GET, HEAD, POST");
    check("GET /v1/tags/a/ranges", "POST");
    check("POST /livez", "GET, HEAD");
    check("POST /openapi.json", "GET, HEAD");
}
