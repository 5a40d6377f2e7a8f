//! Guards tokens and quotas over HTTP: authentication, authorization, and rate limits.

use std::time::Duration;

use leafid::{Clock, SystemClock};
use leafid_server::{Caller, Config, Limits, QuotaScope, TagPattern, TokenScope, TokenSpec};
use serde_json::json;

use crate::test_server::{Reply, TestServer};

/// Of a token that may take ids.
const TAKER: &str = "the-secret-of-taker";
/// Of a token that may change things.
const ADMIN: &str = "the-secret-of-admin";

fn guarded() -> TestServer {
    let mut admin = TokenSpec::new("admin", ADMIN);
    admin.is_admin = true;
    let config = Config {
        tokens: vec![TokenSpec::new("taker", TAKER), admin],
        ..Config::default()
    };
    TestServer::with(&config, Limits::default())
}

/// Sends `METHOD PATH`, with this `Authorization` and maybe a JSON body.
fn ask(server: &TestServer, authorization: &str, request: &str, body: &str) -> Reply {
    let (method, path) = request.split_once(' ').unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         authorization: {authorization}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    Reply::parse(&server.raw(&head))
}

fn as_taker(server: &TestServer, request: &str, body: &str) -> Reply {
    ask(server, &format!("Bearer {TAKER}"), request, body)
}

fn as_admin(server: &TestServer, request: &str, body: &str) -> Reply {
    ask(server, &format!("Bearer {ADMIN}"), request, body)
}

fn metric(server: &TestServer, series: &str) -> f64 {
    let text = server.ask("GET /metrics").body;
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value
        .unwrap_or_else(|| panic!("no {series}: {text}"))
        .parse()
        .unwrap()
}

/// Every call that takes a token, with a body where it needs one.
const GUARDED: [(&str, &str); 18] = [
    ("GET /v1/tags/order/ids", ""),
    ("POST /v1/tags/order/ids", "{}"),
    ("POST /v1/tags/order/ranges", r#"{"length":1}"#),
    ("GET /v1/tags", ""),
    ("POST /v1/tags", r#"{"tag":"x"}"#),
    ("GET /v1/tags/order", ""),
    ("PATCH /v1/tags/order", "{}"),
    ("DELETE /v1/tags/order", ""),
    ("GET /v1/worker", ""),
    ("GET /v1/workers", ""),
    ("POST /v1/workers/1/release", r#"{"dead":true}"#),
    ("POST /v1/clock/accept", ""),
    ("GET /v1/quotas", ""),
    ("PUT /v1/quotas/server", r#"{"ids_per_second":1}"#),
    ("DELETE /v1/quotas/server", ""),
    ("PUT /v1/quotas/tags/order", r#"{"ids_per_second":1}"#),
    ("DELETE /v1/quotas/tags/order", ""),
    ("PUT /v1/quotas/tokens/taker", r#"{"ids_per_second":1}"#),
];

#[test]
fn calls_without_a_token_are_refused() {
    let server = guarded();
    for (request, body) in GUARDED {
        server.check_problem(request, body, 401, "no_token");
        let reply = ask(&server, "Bearer wrong-but-long-enough", request, body);
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (401, &json!("bad_token"))
        );
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    for path in [
        "/api/segment/get/a",
        "/api/snowflake/get/a",
        "/cache",
        "/db",
    ] {
        let reply = server.ask(&format!("GET {path}"));
        assert_eq!(reply.status, 500, "Leaf's callers know no other status");
        let message = &reply.json()["message"];
        assert!(
            message.as_str().unwrap().contains("requires a token"),
            "{message}"
        );
    }
    for scheme in ["Basic", "Bearer", "bearer  x", "Bearer\t", ""] {
        let reply = ask(&server, scheme, "GET /v1/tags", "");
        assert_eq!(reply.status, 401, "{scheme}");
    }
    assert_eq!(
        metric(&server, "leafid_token_refusals_total{reason=\"missing\"}"),
        22.0
    );
    assert_eq!(
        metric(&server, "leafid_token_refusals_total{reason=\"unknown\"}"),
        23.0
    );
}

/// Guards what probes, scrapers and other servers ask for.
#[test]
fn health_metrics_description_and_clock_are_open() {
    let server = guarded();
    for path in [
        "/livez",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/v1/decode/1",
    ] {
        assert_eq!(server.ask(&format!("GET {path}")).status, 200, "{path}");
        let wrong = ask(&server, "Bearer wrong", &format!("GET {path}"), "");
        assert_eq!(wrong.status, 200, "{path}");
    }
    server.check_problem("GET /v1/clock", "", 501, "mode_off");
}

#[test]
fn a_token_takes_ids_and_only_an_admin_changes_things() {
    let server = guarded();
    let created = as_admin(&server, "POST /v1/tags", r#"{"tag":"order"}"#);
    assert_eq!(created.status, 201);
    let taken = as_taker(&server, "GET /v1/tags/order/ids?count=2", "");
    assert_eq!(
        (taken.status, taken.body.as_str()),
        (200, r#"{"ids":["1","2"]}"#)
    );
    assert_eq!(
        as_taker(&server, "GET /api/segment/get/order", "").body,
        "3"
    );
    assert_eq!(
        ask(
            &server,
            &format!("bearer {TAKER}"),
            "GET /v1/tags/order",
            ""
        )
        .status,
        200
    );
    let changes = GUARDED.iter().filter(|(request, _)| {
        let is_looking = request.starts_with("GET ");
        !is_looking && !request.contains("/ids") && !request.contains("/ranges")
    });
    let mut refused = 0;
    for (request, body) in changes {
        let reply = as_taker(&server, request, body);
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (403, &json!("not_admin")),
            "{request}"
        );
        refused += 1;
    }
    assert_eq!(refused, 10);
    assert_eq!(
        metric(&server, "leafid_token_refusals_total{reason=\"not_admin\"}"),
        10.0
    );
    assert_eq!(
        as_admin(&server, "POST /v1/tags", r#"{"tag":"x"}"#).status,
        201
    );
    assert_eq!(as_admin(&server, "GET /v1/tags/x/ids", "").status, 200);
}

#[test]
fn quotas_are_set_listed_and_taken_away() {
    let server = guarded();
    let set = |path: &str, body: &str| as_admin(&server, &format!("PUT /v1/quotas/{path}"), body);
    let reply = set("tags/a%2Fb", r#"{"ids_per_second":7}"#);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(
        reply.json(),
        json!({ "on": "tag", "name": "a/b", "ids_per_second": 7 })
    );
    assert_eq!(set("tokens/taker", r#"{"ids_per_second":9}"#).status, 200);
    assert_eq!(
        set("server", r#"{"ids_per_second":1000000000}"#).status,
        200
    );
    let listed = as_taker(&server, "GET /v1/quotas", "").json();
    let expected = json!({ "quotas": [
        { "on": "server", "name": null, "ids_per_second": 1_000_000_000 },
        { "on": "tag", "name": "a/b", "ids_per_second": 7 },
        { "on": "token", "name": "taker", "ids_per_second": 9 },
    ]});
    assert_eq!(listed, expected);
    assert_eq!(metric(&server, "leafid_quotas"), 3.0);
    let series = "leafid_quota_ids_per_second{on=\"tag\",name=\"a/b\"}";
    assert_eq!(metric(&server, series), 7.0);
    for path in ["server", "tags/a%2Fb", "tags/none", "tokens/taker"] {
        let reply = as_admin(&server, &format!("DELETE /v1/quotas/{path}"), "");
        assert_eq!((reply.status, reply.body.as_str()), (204, ""), "{path}");
    }
    assert_eq!(
        as_taker(&server, "GET /v1/quotas", "").json(),
        json!({ "quotas": [] })
    );
    let bad = |path: &str, body: &str, status: u16, code: &str| {
        let reply = set(path, body);
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (status, &json!(code)),
            "{body}"
        );
    };
    bad("server", "{}", 400, "bad_field");
    bad("server", r#"{"ids_per_second":-1}"#, 400, "bad_field");
    bad("server", r#"{"ids_per_second":1.5}"#, 400, "bad_field");
    bad(
        "server",
        r#"{"ids_per_second":1000000001}"#,
        400,
        "bad_field",
    );
    bad("server", r#"{"ids_per_secnd":1}"#, 400, "unknown_field");
    bad("tags/%20", r#"{"ids_per_second":1}"#, 400, "bad_tag");
    bad(
        "tokens/nobody",
        r#"{"ids_per_second":1}"#,
        404,
        "unknown_token",
    );
}

#[test]
fn quotas_on_tags_are_bounded() {
    let limits = Limits {
        quotas_max: 1,
        ..Limits::default()
    };
    let server = TestServer::with(&Config::default(), limits);
    let body = r#"{"ids_per_second":1}"#;
    assert_eq!(server.ask_with("PUT /v1/quotas/tags/a", body).status, 200);
    server.check_problem("PUT /v1/quotas/tags/b", body, 409, "too_many_quotas");
}

/// Guards the quota of 0: it stops a tag at once, and others continue.
#[test]
fn a_quota_of_zero_stops_at_once() {
    let server = TestServer::new();
    server.check("GET /api/segment/get/order", 200, "1");
    let stop = |path: &str| {
        let reply = server.ask_with(&format!("PUT /v1/quotas/{path}"), r#"{"ids_per_second":0}"#);
        assert_eq!(reply.status, 200);
    };
    stop("tags/order");
    let problem = server.check_problem("GET /v1/tags/order/ids?count=5", "", 429, "over_quota");
    assert_eq!(problem["retry_after_ms"], 1000);
    let reply = server.ask("POST /v1/tags/order/ids");
    assert_eq!((reply.status, reply.header("retry-after")), (429, "1"));
    let leafs = server.ask("GET /api/segment/get/order");
    assert_eq!((leafs.status, leafs.header("retry-after")), (500, "1"));
    server.check("GET /api/segment/get/other", 200, "1");
    stop("server");
    server.check_problem("GET /v1/tags/other/ids", "", 429, "over_quota");
    assert_eq!(
        server.ask("GET /v1/tags/other").status,
        200,
        "looking is no taking"
    );
    assert_eq!(
        metric(&server, "leafid_quota_refusals_total{on=\"tag\"}"),
        3.0
    );
    assert_eq!(
        metric(&server, "leafid_quota_refused_ids_total{on=\"tag\"}"),
        7.0
    );
    assert_eq!(
        metric(&server, "leafid_quota_refusals_total{on=\"server\"}"),
        1.0
    );
    for path in ["server", "tags/order"] {
        assert_eq!(server.ask(&format!("DELETE /v1/quotas/{path}")).status, 204);
    }
    server.check("GET /api/segment/get/order", 200, "2");
}

/// Guards the rate with the real clock and callers that ask as fast as they can, each with batches
/// of its own size.
#[test]
fn the_rate_is_kept_while_callers_press() {
    let server = TestServer::new();
    server.check("GET /api/segment/get/order", 200, "1");
    let (rate, clock) = (2000, SystemClock::new());
    let scope = QuotaScope::Tag(leafid::Tag::new("order").unwrap());
    let service = &server.service;
    let nobody = Caller::anonymous();
    service.set_quota(&nobody, &scope, Some(rate)).unwrap();
    let start = clock.now();
    let end = start + Duration::from_secs(3);
    let given: u64 = std::thread::scope(|scope| {
        let callers = [1, 10, 100].map(|count| {
            let (clock, nobody) = (clock.clone(), nobody.clone());
            scope.spawn(move || {
                let mut given = 0;
                while clock.now() < end {
                    match service.try_next_many(&nobody, "order", count) {
                        Ok(issued) => given += issued.len(),
                        // Memory may be empty for a moment, or the quota exhausted.
                        Err(_) => std::thread::sleep(Duration::from_millis(1)),
                    }
                }
                given
            })
        });
        callers.map(|caller| caller.join().unwrap()).iter().sum()
    });
    let took = (clock.now().saturating_sub(start)).as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let share = given as f64 / (rate as f64 * took);
    // A tenth of a second in advance is 3 % of three seconds, and a batch 1.7 %.
    assert!((0.97..=1.06).contains(&share), "{given} in {took} s");
}

/// A token for some tags, one that only reads, and one that only takes ids.
fn with_grants() -> TestServer {
    let token = |name: &str, scope, tags: &[&str]| {
        let mut spec = TokenSpec::new(name, &format!("the-secret-of-{name}"));
        spec.scope = scope;
        spec.tags = tags.iter().copied().map(TagPattern::new).collect();
        spec
    };
    let mut admin = TokenSpec::new("admin", ADMIN);
    admin.is_admin = true;
    let config = Config {
        tokens: vec![
            token("shop", TokenScope::All, &["order", "pay-*"]),
            token("taker", TokenScope::Ids, &[]),
            token("looker", TokenScope::Read, &[]),
            admin,
        ],
        ..Config::default()
    };
    TestServer::with(&config, Limits::default())
}

/// Guards the permissions of a token, over HTTP and the Redis protocol.
#[test]
fn tokens_are_good_for_their_tags_and_their_scope() {
    let server = with_grants();
    for tag in ["order", "pay-in", "user"] {
        let made = as_admin(&server, "POST /v1/tags", &json!({ "tag": tag }).to_string());
        assert_eq!(made.status, 201);
    }
    let status = |name: &str, request: &str, body: &str| {
        let reply = ask(
            &server,
            &format!("Bearer the-secret-of-{name}"),
            request,
            body,
        );
        if reply.status == 403 {
            assert_eq!(reply.json()["code"], "not_allowed", "{request}");
        }
        reply.status
    };
    let range = r#"{"length":5}"#;
    for (request, body, of_shop, of_taker, of_looker) in [
        ("GET /v1/tags/order/ids", "", 200, 200, 403),
        ("POST /v1/tags/pay-in/ids", r#"{"count":2}"#, 200, 200, 403),
        ("POST /v1/tags/pay-in/ranges", range, 200, 200, 403),
        ("GET /v1/tags/user/ids", "", 403, 200, 403),
        ("POST /v1/tags/user/ranges", range, 403, 200, 403),
        ("GET /v1/tags/order", "", 200, 403, 200),
        ("GET /v1/tags/user", "", 403, 403, 200),
        ("GET /v1/tags", "", 200, 403, 200),
        ("GET /v1/quotas", "", 200, 403, 200),
        ("GET /cache", "", 200, 500, 200),
        ("GET /api/segment/get/user", "", 500, 200, 500),
    ] {
        let found = ["shop", "taker", "looker"].map(|name| status(name, request, body));
        assert_eq!(found, [of_shop, of_taker, of_looker], "{request}");
    }
    let listed = ask(&server, "Bearer the-secret-of-shop", "GET /v1/tags", "").json();
    let tags = listed["tags"].as_array().unwrap().iter();
    let tags: Vec<&str> = tags.map(|tag| tag["tag"].as_str().unwrap()).collect();
    assert_eq!(tags, ["order", "pay-in"]);
    let redis = |name: &str, commands: &str| {
        let mut stream = std::net::TcpStream::connect(server.addresses.resp.unwrap()).unwrap();
        let text = format!("AUTH the-secret-of-{name}\r\n{commands}\r\nQUIT\r\n");
        std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
        crate::test_server::read_to_end(&mut stream)
    };
    let refused = "-NOPERM not_allowed the token \"shop\" may not take ids of tag \"user\"";
    assert!(redis("shop", "INCR user").contains(refused));
    assert!(redis("shop", "INCRBY user 5").contains(refused));
    assert!(redis("shop", "INCR order").starts_with("+OK\r\n:"));
    assert!(redis("shop", "GET user").contains("-NOPERM not_allowed"));
    assert!(redis("taker", "GET user").contains("may not look at tag"));
    assert!(redis("looker", "INCR order").contains("-NOPERM not_allowed"));
    assert!(redis("looker", "GET user").starts_with("+OK\r\n$"));
    let refusals = metric(
        &server,
        "leafid_token_refusals_total{reason=\"not_allowed\"}",
    );
    assert!(refusals >= 15.0, "{refusals}");
}

/// Guards that a token cannot exhaust a tag of 2^31 ids in a moment.
#[test]
fn a_call_takes_a_share_of_what_is_left() {
    const CALLS: u64 = 158;
    let server = with_grants();
    let made = as_admin(
        &server,
        "POST /v1/tags",
        r#"{"tag":"order","limit":"int32"}"#,
    );
    assert_eq!(made.status, 201);
    let mut left = u64::from(i32::MAX.unsigned_abs());
    for call in 0..CALLS {
        let take = |length: u64| {
            let body = json!({ "length": length }).to_string();
            let request = "POST /v1/tags/order/ranges";
            ask(&server, "Bearer the-secret-of-taker", request, &body)
        };
        // What is left also shrinks by segments that are fetched between two calls.
        let mut asked = 10_000_000;
        let mut refusals = 0;
        let most = loop {
            let answer = take(asked);
            if answer.status == 200 {
                break asked;
            }
            refusals += 1;
            assert_eq!(answer.json()["code"].as_str(), Some("bad_count"));
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            asked = detail.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(asked <= left / 1000 + 1, "{detail} of {left}");
            assert!(refusals < 10, "call {call}: {detail}");
        };
        assert!(refusals > 0, "call {call}: all that was asked for");
        left -= most;
    }
    println!("{left} of {} left after {CALLS} calls", i32::MAX);
    assert!(left > 1_700_000_000, "{left} left");
    let whole = as_admin(
        &server,
        "POST /v1/tags/order/ranges",
        r#"{"length":10000000}"#,
    );
    assert_eq!(
        whole.status, 200,
        "an admin takes what he likes: {}",
        whole.body
    );
}
