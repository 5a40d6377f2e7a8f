//! Guards that every front end issues ids in the shard that a call names, by number or by key, and in
//! the server's own otherwise; and that decoding shows it.

use leafid::Layout;
use leafid_server::Config;
use serde_json::json;
use tonic_types::StatusExt as _;

use crate::decoded_alike::{create, resp, with_snowflakes};
use crate::grpc::Line;
use crate::grpc::v1::{
    DecodeRequest, NextManyRequest, NextRequest, next_many_request, next_request,
};
use crate::test_server::TestServer;

const LAYOUT: &str = "time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z";
/// The server's own.
const OWN: u32 = 9;
const KEY: &str = "customer 4711";

fn layout() -> Layout {
    LAYOUT.parse().unwrap()
}

fn line() -> Line {
    let mut config = Config::default();
    config.workers.layout = layout();
    config.workers.shard = OWN;
    let server = with_snowflakes(config);
    create(&server, &json!({"tag": "trace", "kind": "snowflake"}));
    create(&server, &json!({"tag": "order"}));
    create(&server, &json!({"tag": "session", "kind": "uuid7"}));
    Line::to(server)
}

fn shard(id: u64) -> u32 {
    layout().decompose(id).shard.unwrap()
}

fn http(server: &TestServer, query: &str) -> Vec<u64> {
    let reply = server.ask(&format!("GET /v1/tags/trace/ids{query}")).json();
    let ids = reply["ids"].as_array().unwrap_or_else(|| panic!("{reply}"));
    ids.iter()
        .map(|id| id.as_str().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn ids_are_in_the_shard_that_a_call_names() {
    let line = line();
    let of_key = layout().shard_of_key(KEY.as_bytes()).unwrap();
    assert_ne!(of_key, OWN);
    let server = &line.server;
    let mut all = Vec::new();
    let mut check = |ids: Vec<u64>, expected: u32, what: &str| {
        assert!(!ids.is_empty());
        assert!(
            ids.iter().all(|id| shard(*id) == expected),
            "{what}: {ids:?}"
        );
        all.extend(ids);
    };
    check(http(server, ""), OWN, "HTTP");
    check(http(server, "?count=3"), OWN, "HTTP");
    check(http(server, "?count=3&shard=0"), 0, "HTTP");
    check(http(server, "?shard=15"), 15, "HTTP");
    check(
        http(server, "?count=300&shard_key=customer+4711"),
        of_key,
        "HTTP",
    );
    let body = json!({"count": 2, "shard_key": KEY}).to_string();
    let reply = server.ask_with("POST /v1/tags/trace/ids", &body).json();
    let id = reply["ids"][1].as_str().unwrap().parse().unwrap();
    check(vec![id], of_key, "HTTP");

    let one = |in_shard| {
        let tag = "trace".to_owned();
        let request = NextRequest { tag, in_shard };
        vec![line.run(line.ids().next(request)).unwrap().into_inner().id]
    };
    check(one(None), OWN, "gRPC");
    check(one(Some(next_request::InShard::Shard(3))), 3, "gRPC");
    check(
        one(Some(next_request::InShard::ShardKey(KEY.into()))),
        of_key,
        "gRPC",
    );
    let request = NextManyRequest {
        tag: "trace".into(),
        count: 5,
        in_shard: Some(next_many_request::InShard::ShardKey(KEY.into())),
    };
    let many = line.run(line.ids().next_many(request)).unwrap();
    check(many.into_inner().ids, of_key, "gRPC");

    let over_resp = |words: &[&str]| -> Vec<u64> {
        let answer = resp(server, words);
        let ids = answer.as_array().cloned().unwrap_or_else(|| vec![answer]);
        ids.iter()
            .map(|id| id.as_str().unwrap().parse().unwrap())
            .collect()
    };
    check(over_resp(&["INCR", "trace"]), OWN, "RESP");
    check(over_resp(&["ID.NEXT", "trace", "SHARD", "7"]), 7, "RESP");
    check(
        over_resp(&["ID.NEXT", "trace", "4", "shard", "7"]),
        7,
        "RESP",
    );
    check(
        over_resp(&["ID.NEXT", "trace", "4", "SHARDKEY", KEY]),
        of_key,
        "RESP",
    );
    assert!(
        all.is_sorted_by(|a, b| a < b),
        "they ascend whatever their shards: {all:?}"
    );
}

#[test]
fn shards_that_there_are_not_are_refused_alike() {
    let line = line();
    let server = &line.server;
    let check_as = |tag: &str, number: u32, status: u16, code: &str| {
        let path = format!("GET /v1/tags/{tag}/ids?shard={number}");
        let problem = server.check_problem(&path, "", status, code);
        assert_eq!(problem["field"], "shard");
        let shard = number.to_string();
        let found = resp(server, &["ID.NEXT", tag, "SHARD", &shard]);
        assert_eq!(found["error"], code, "{found}");
        let request = NextRequest {
            tag: tag.to_owned(),
            in_shard: Some(next_request::InShard::Shard(number)),
        };
        let status = line.run(line.ids().next(request)).unwrap_err();
        let info = status.get_error_details().error_info().cloned().unwrap();
        assert_eq!(info.reason, code.to_ascii_uppercase());
    };
    let check = |tag: &str, number: u32| check_as(tag, number, 409, "no_shards");
    check_as("trace", 16, 400, "bad_field");
    check("order", 1);
    check("session", 1);
    // The family is known from memory now.
    assert_eq!(server.ask("GET /v1/tags/session/ids").status, 200);
    check("session", 1);
    assert_eq!(
        server.ask("GET /v1/tags/order/ids").json(),
        json!({"ids": ["1"]})
    );
    check("order", 1);
    for none in ["?shard=0", "?shard=00"] {
        let id = http(server, none)[0];
        assert_eq!(
            server.ask(&format!("GET /v1/decode/{id}")).json()["shard"],
            0
        );
    }
    let both = "GET /v1/tags/trace/ids?shard=1&shard_key=a";
    server.check_problem(both, "", 400, "bad_field");
    let nobody = "GET /v1/tags/nobody/ids?shard=1";
    server.check_problem(nobody, "", 404, "unknown_tag");
}

#[test]
fn decoding_shows_the_shard() {
    let line = line();
    let server = &line.server;
    let id = http(server, "?shard=5")[0];
    let decoded = server.ask(&format!("GET /v1/decode/{id}")).json();
    assert_eq!(
        (&decoded["shard"], &decoded["layout"]),
        (&json!(5), &json!(LAYOUT))
    );
    let of_tag = server.ask(&format!("GET /v1/decode/{id}?tag=trace")).json();
    assert_eq!(of_tag["parts"]["shard"], "5");
    let request = DecodeRequest {
        id,
        layout: String::new(),
    };
    let parts = line.run(line.ids().decode(request)).unwrap().into_inner();
    assert_eq!(parts.shard, Some(5));
    let parts = resp(server, &["ID.DECODE", &id.to_string()]);
    assert_eq!(parts["shard"], "5");
}
