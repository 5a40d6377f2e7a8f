//! Guards how JSON bodies are read, beyond what serde does by itself.

use serde_json::{Value, json};

use crate::test_server::TestServer;

fn create(server: &TestServer, body: &str) -> Value {
    let reply = server.ask_with("POST /v1/tags", body);
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()
}

#[test]
fn a_missing_field_is_named_with_what_it_may_be() {
    let server = TestServer::new();
    let check = |request: &str, body: &str, field: &str, wanted: &str| {
        let problem = server.check_problem(request, body, 400, "bad_field");
        assert_eq!(problem["field"], field, "{problem}");
        assert_eq!(problem["next"], format!("send {field} as {wanted}"));
    };
    check("POST /v1/tags", "{}", "tag", "a string");
    let policy = r#"{"tag":"x","policy":{}}"#;
    check("POST /v1/tags", policy, "policy.name", "a string");
    let ranges = "POST /v1/tags/x/ranges";
    check(ranges, "{}", "length", "a whole number from 1 to 10000000");
    let quota = "PUT /v1/quotas/server";
    check(
        quota,
        "{}",
        "ids_per_second",
        "a whole number from 0 to 1000000000",
    );
}

/// Guards that an array is not taken for an object, as serde would.
#[test]
fn an_object_is_no_other_value() {
    let server = TestServer::new();
    for policy in [r#"["fixed"]"#, "5", r#""fixed""#] {
        let body = format!(r#"{{"tag":"x","policy":{policy}}}"#);
        let problem = server.check_problem("POST /v1/tags", &body, 400, "bad_field");
        let detail = format!("field \"policy\" is {policy}, but must be a JSON object");
        assert_eq!(problem["detail"], detail);
    }
    server.check_problem("POST /v1/tags", r#"["x"]"#, 400, "bad_json");
}

#[test]
fn null_is_only_where_it_means_something() {
    let server = TestServer::new();
    for field in ["start", "step", "limit", "tag"] {
        let body = format!(r#"{{"tag":"x","{field}":null}}"#);
        let problem = server.check_problem("POST /v1/tags", &body, 400, "bad_field");
        assert_eq!(problem["field"], field, "{problem}");
    }
    let nulls = r#"{"tag":"x","kind":null,"policy":null,"description":null}"#;
    assert_eq!(create(&server, nulls)["kind"], "segment");
    let change = r#"{"step":null}"#;
    server.check_problem("PATCH /v1/tags/x", change, 400, "bad_field");
    server.check_problem("POST /v1/tags/x/ids", r#"{"count":null}"#, 400, "bad_field");
}

#[test]
fn the_last_of_equal_fields_counts() {
    let server = TestServer::new();
    let tag = create(&server, r#"{"tag":"x","step":5,"step":"7"}"#);
    assert_eq!(tag["step"], json!(7));
}

#[test]
fn unknown_fields_are_answered_with_near_ones_at_their_place() {
    let server = TestServer::new();
    let check = |body: &str, field: &str, next: &str| {
        let problem = server.check_problem("POST /v1/tags", body, 400, "unknown_field");
        assert_eq!(
            (&problem["field"], &problem["next"]),
            (&json!(field), &json!(next))
        );
    };
    let policy = r#"{"tag":"x","policy":{"name":"cover","stepmax":1}}"#;
    check(
        policy,
        "policy.stepmax",
        "did you mean \"policy.step_max\"?",
    );
    let dotted = r#"{"tag":"x","po.licy":1}"#;
    check(dotted, "po.licy", "did you mean \"policy\"?");
    let known = "known here: tag, kind, format, start, step, policy, limit, description";
    check(r#"{"tag":"x","zookeeper":1}"#, "zookeeper", known);
    server.check_problem(
        "POST /v1/tags?after=x",
        r#"{"tag":"x"}"#,
        400,
        "unknown_field",
    );
}
