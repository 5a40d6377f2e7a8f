//! Guards `/v1/decode/{id}`.

use serde_json::json;

use crate::test_server::TestServer;

#[test]
fn ids_come_apart_by_any_layout() {
    let server = TestServer::new();
    let reply = server.ask("GET /v1/decode/1169786042799259000");
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        json!({
            "id": "1169786042799259000", "layout": "leaf", "time": "2019-09-06T01:35:00.834Z",
            "unix_ms": "1567733700834", "tick": "278898726177", "worker_id": 39,
            "sequence": "3448", "marks": [], "readings": reply.json()["readings"],
        })
    );
    let names = |reply: &serde_json::Value| {
        let readings = reply["readings"].as_array().unwrap().iter();
        let name = |reading: &serde_json::Value| reading["name"].as_str().unwrap().to_owned();
        readings.map(name).collect::<Vec<_>>()
    };
    assert!(names(&reply.json()).contains(&"twitter".to_owned()));
    // Beyond the server's layout.
    let large = server.ask("GET /v1/decode/18446744073709551615").json();
    assert_eq!(names(&large), ["discord", "tsid"]);
    let object_id = server.ask("GET /v1/decode/507f1f77bcf86cd799439011").json();
    assert_eq!(names(&object_id), ["objectid-old", "objectid"]);
    assert_eq!(object_id["readings"][0]["time"], "2012-10-17T21:13:27Z");
    let check = |path: &str, time: &str, worker_id: u32, sequence: &str| {
        let decoded = server.ask(&format!("GET /v1/decode/{path}")).json();
        assert_eq!(decoded["time"], time, "{path}");
        assert_eq!(decoded["worker_id"], worker_id, "{path}");
        assert_eq!(decoded["sequence"], sequence, "{path}");
    };
    let baidu = "180363646902239241?layout=baidu";
    check(baidu, "2016-07-19T10:07:53Z", 4, "9");
    let own = "180363646902239241?layout=time29x1s/worker21/sequence13@2016-09-20T00:00:00%2B08:00";
    check(own, "2017-01-19T04:15:46Z", 4, "9");
    let sonyflake = "569093904138567938?layout=sonyflake-v1";
    check(sonyflake, "2025-06-01T00:00:00Z", 0x0102, "5");
    let split = "4194303?layout=time41x1ms/worker5:5/sequence12@1288834974657";
    check(split, "2010-11-04T01:42:54.657Z", 1023, "4095");
    let last = "18446744073709551615?layout=discord";
    check(last, "2154-05-15T07:35:11.103Z", 1023, "4095");
}

#[test]
fn what_is_no_id_or_no_layout_is_refused() {
    let server = TestServer::new();
    let check = |status: u16, code: &str, path: &str, detail: &str| {
        let path = format!("GET /v1/decode/{path}");
        let problem = server.check_problem(&path, "", status, code);
        let field = if code == "unknown_layout" {
            "layout"
        } else {
            "id"
        };
        assert_eq!(problem["field"], field, "{path}");
        let found = problem["detail"].as_str().unwrap();
        assert!(found.contains(detail), "{path}: {found}");
    };
    let bad = |path: &str, detail: &str| check(400, "bad_field", path, detail);
    bad("x", "\"x\" is neither a whole number");
    bad("-1", "at most 64 bits");
    bad("18446744073709551616", "at most 64 bits");
    let other = |path: &str, detail: &str| check(404, "not_of_layout", path, detail);
    other(
        "9223372036854775808?layout=leaf",
        "an id of the layout leaf is at most",
    );
    other(
        "9007199254740992?layout=js53",
        "is at most 9007199254740991",
    );
    let unknown = |path: &str, detail: &str| check(404, "unknown_layout", path, detail);
    unknown("1?layout=snowflake", "name one of leaf, twitter");
    unknown("1?layout=leaf@2020-01-01", "add Z or +08:00");
    unknown("1?layout=", "is not a layout");
    server.check_problem("GET /v1/decode/1?epoch=1", "", 400, "unknown_field");
    server.check_problem("POST /v1/decode/1", "", 405, "method_not_allowed");
}
