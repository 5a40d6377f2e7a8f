//! Guards Leaf's API: what a caller of Leaf relies on, byte by byte.

use leafid_server::{Config, Limits};
use serde_json::json;

use crate::test_server::TestServer;

#[test]
fn an_id_is_the_number_and_nothing_else() {
    let server = TestServer::new();
    let reply = server.check("GET /api/segment/get/order", 200, "1");
    assert_eq!(reply.header("content-type"), "text/plain;charset=UTF-8");
    assert_eq!(reply.header("cache-control"), "no-store");
    server.check("POST /api/segment/get/order", 200, "2");
    server.check("PUT /api/segment/get/order/", 200, "3");
    server.check("DELETE /api/segment/get/order?x=%zz", 200, "4");
    server.check("PATCH /api/segment/get/other", 200, "1");
    server.check("HEAD /api/segment/get/order", 200, "");
    server.check("GET /api/segment/get/order", 200, "6");
}

#[test]
fn names_are_percent_decoded() {
    let server = TestServer::new();
    for name in ["a%2Fb", "%E8%AE%A2%E5%8D%95%202026", "a+b", "100%25"] {
        server.check(&format!("GET /api/segment/get/{name}"), 200, "1");
        server.check(&format!("GET /api/segment/get/{name}"), 200, "2");
    }
    let listed = server.ask("GET /v1/tags").json();
    let names: Vec<_> = listed["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["tag"])
        .collect();
    assert_eq!(json!(names), json!(["100%", "a+b", "a/b", "订单 2026"]));
}

#[track_caller]
fn check_error(server: &TestServer, path: &str, message: &str) {
    let reply = server.ask(&format!("GET {path}"));
    assert_eq!(reply.status, 500, "{path}");
    assert_eq!(reply.header("content-type"), "application/json");
    let error = reply.json();
    assert_eq!(error["status"], 500);
    assert_eq!(error["error"], "Internal Server Error");
    assert_eq!(error["path"], path.split('?').next().unwrap());
    assert!(error["timestamp"].as_i64().unwrap() > 1_600_000_000_000);
    assert_eq!(error.as_object().unwrap().len(), 5, "{error}");
    let text = error["message"].as_str().unwrap();
    assert!(text.contains(message), "{path}: {text}");
}

#[test]
fn errors_have_the_fields_of_spring() {
    let config = Config {
        create_tags: Some(false),
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    check_error(
        &server,
        "/api/segment/get/nobody",
        "tag \"nobody\" does not exist: create it",
    );
    check_error(&server, "/api/segment/get/", "no key in the path");
    check_error(&server, "/api/segment/get", "no key in the path");
    check_error(
        &server,
        "/api/segment/get/%20x",
        "must not start or end with white space",
    );
    check_error(&server, "/api/segment/get/%zz", "two hexadecimal digits");
    check_error(&server, "/api/segment/get/%FF", "does not decode to UTF-8");
    check_error(&server, "/api/snowflake/get/order", "snowflake ids are off");
    check_error(&server, "/api/snowflake/get/", "no key in the path");
    check_error(&server, "/decodeSnowflakeId", "snowflakeId is missing");
}

#[test]
fn a_mode_that_is_off_says_so_and_issues_nothing() {
    let config = Config {
        segment: false,
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    check_error(&server, "/api/segment/get/order", "segment ids are off");
    check_error(&server, "/cache", "segment ids are off");
    check_error(&server, "/db", "segment ids are off");
    server.check_problem("POST /v1/tags/order/ids", "", 501, "mode_off");
    server.check_problem(
        "POST /v1/tags/order/ranges",
        r#"{"length":2}"#,
        501,
        "mode_off",
    );
}

#[test]
fn tables_have_the_columns_of_leaf_and_escape_names() {
    let server = TestServer::new();
    server.check("GET /api/segment/get/%3Cb%3E%26%22", 200, "1");
    let cache = server.ask("GET /cache");
    assert_eq!(cache.header("content-type"), "text/html;charset=UTF-8");
    for column in [
        "name", "init", "next", "pos", "value0", "max0", "step0", "value1", "max1", "step1",
    ] {
        assert!(
            cache.body.contains(&format!("<th>{column}</th>")),
            "{column}"
        );
    }
    let row = "<tr><td>&lt;b&gt;&amp;&quot;</td><td>true</td>";
    assert!(cache.body.contains(row), "{}", cache.body);
    assert!(
        cache.body.contains("<td>2</td><td>1001</td><td>1000</td>"),
        "{}",
        cache.body
    );
    let db = server.ask("GET /db").body;
    for column in ["tag", "max", "step", "update"] {
        assert!(db.contains(&format!("<th>{column}</th>")), "{column}");
    }
    assert!(db.contains("<td>&lt;b&gt;&amp;&quot;</td>"), "{db}");
    assert!(!cache.body.contains("<b>") && !db.contains("<b>"));
}

#[test]
fn tables_are_bounded() {
    let limits = Limits {
        table_rows_max: 2,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    for tag in ["a", "b", "c"] {
        server.check(&format!("GET /api/segment/get/{tag}"), 200, "1");
    }
    for path in ["/cache", "/db"] {
        let page = server.ask(&format!("GET {path}")).body;
        assert_eq!(page.matches("<tr><td>").count(), 2, "{page}");
        assert!(page.contains("/v1/tags"), "{page}");
    }
}

#[test]
fn snowflake_ids_are_decoded() {
    let server = TestServer::new();
    let decoded = server
        .ask("GET /decodeSnowflakeId?snowflakeId=1169786042799259000")
        .json();
    let timestamp = decoded["timestamp"].as_str().unwrap();
    // The zone is the server's, so that only minutes and seconds are the same everywhere.
    assert!(
        timestamp.starts_with("1567733700834(2019-09-0"),
        "{timestamp}"
    );
    assert!(timestamp.ends_with(":00.834)"), "{timestamp}");
    assert_eq!(decoded["workerId"], "39");
    assert_eq!(decoded["sequenceId"], "3448");
    assert_eq!(decoded.as_object().unwrap().len(), 3);
    for id in ["x", "", "9223372036854775808", "1.5"] {
        let decoded = server
            .ask(&format!("POST /decodeSnowflakeId?snowflakeId={id}"))
            .json();
        let message = decoded["errorMsg"].as_str().unwrap();
        assert!(message.contains("not a snowflake id"), "{message}");
    }
    let smallest = server
        .ask("GET /decodeSnowflakeId?snowflakeId=-9223372036854775808")
        .json();
    assert_eq!(smallest["workerId"], "0");
}
