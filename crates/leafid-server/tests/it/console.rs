//! Guards the server's side of the console: what its pages read, who gets in, and what a browser
//! may be made to do.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use leafid::{Clock as _, SystemClock};
use leafid_server::{Config, Limits, TagPattern, TokenScope, TokenSpec};
use serde_json::{Value, json};

use crate::test_server::{Moody, Reply, TestServer, eventually};

const READER: &str = "the-secret-of-reader";
const ADMIN: &str = "the-secret-of-admin";
const SHOP: &str = "the-secret-of-the-shop";

fn guarded() -> TestServer {
    let mut admin = TokenSpec::new("admin", ADMIN);
    admin.is_admin = true;
    let mut reader = TokenSpec::new("reader", READER);
    reader.scope = TokenScope::Read;
    let mut shop = TokenSpec::new("shop", SHOP);
    shop.tags = vec![TagPattern::new("shop*")];
    let config = Config {
        tokens: vec![admin, reader, shop],
        create_tags: Some(true),
        ..Config::default()
    };
    TestServer::with(&config, Limits::default())
}

/// Sends a request as a page of the server does, with headers of its own besides.
fn ask_from(server: &TestServer, site: &str, cookie: &str, request: &str, body: &str) -> Reply {
    let (method, path) = request.split_once(' ').unwrap();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
        server.address
    );
    for (name, value) in [("sec-fetch-site", site), ("cookie", cookie)] {
        if !value.is_empty() {
            head += &format!("{name}: {value}\r\n");
        }
    }
    head += &format!(
        "content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Reply::parse(&server.raw(&head))
}

fn ask(server: &TestServer, cookie: &str, request: &str, body: &str) -> Reply {
    ask_from(server, "same-origin", cookie, request, body)
}

/// Logs in; the cookie.
fn log_in(server: &TestServer, secret: &str) -> String {
    let body = json!({ "token": secret }).to_string();
    let reply = ask(server, "", "POST /console/session", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    let cookie = reply.header("set-cookie");
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(
        attributes,
        "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
    );
    assert!(!reply.body.contains(secret) && !cookie.contains(secret));
    format!("theme=dark; {pair}")
}

/// The calls of the pages, which need a token where there are tokens.
const READS: [&str; 7] = [
    "GET /console/overview",
    "GET /console/history",
    "GET /console/tags",
    "GET /console/tags?sort=rate",
    "GET /console/tags/shop",
    "GET /console/findings",
    "GET /console/servers",
];

#[test]
fn pages_come_from_the_server_alone() {
    let server = TestServer::new();
    for (path, kind) in [
        ("/", "text/html;charset=UTF-8"),
        ("/console", "text/html;charset=UTF-8"),
        ("/console/app.js", "text/javascript;charset=UTF-8"),
        ("/console/app.css", "text/css;charset=UTF-8"),
        ("/console/favicon.svg", "image/svg+xml"),
    ] {
        let reply = server.ask(&format!("GET {path}"));
        assert_eq!((reply.status, reply.header("content-type")), (200, kind));
        let policy = reply.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        let known = reply.header("etag").to_owned();
        let again = server.raw(&format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nif-none-match: {known}\r\n\r\n"
        ));
        let again = Reply::parse(&again);
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
    let page = server.ask("GET /").body;
    for foreign in [
        "http://", "https://", "<style", "style=", "onclick", "<script>",
    ] {
        assert!(!page.contains(foreign), "{foreign} in {page}");
    }
    server.check_problem("GET /console/../etc/passwd", "", 404, "not_found");
    server.check_problem("GET /console/nothing", "", 404, "not_found");
}

#[test]
fn without_tokens_everything_is_there() {
    let server = TestServer::new();
    server.ask("GET /api/segment/get/shop");
    for read in READS {
        assert_eq!(server.ask(read).status, 200, "{read}");
    }
    let session = server.ask("GET /console/session").json();
    assert_eq!(
        (&session["needs_token"], &session["admin"]),
        (&json!(false), &json!(true))
    );
}

#[test]
fn a_session_has_the_rights_of_its_token() {
    let server = guarded();
    for read in READS {
        let reply = ask(&server, "", read, "");
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (401, &json!("no_token")),
            "{read}"
        );
    }
    let body = json!({ "token": "wrong-wrong-wrong-wrong" }).to_string();
    let refused = ask(&server, "", "POST /console/session", &body);
    assert_eq!((refused.status, refused.header("set-cookie")), (401, ""));
    let (admin, reader) = (log_in(&server, ADMIN), log_in(&server, READER));
    let create = |cookie: &str, tag: &str| {
        ask(
            &server,
            cookie,
            "POST /v1/tags",
            &json!({ "tag": tag }).to_string(),
        )
        .status
    };
    assert_eq!(
        (create(&admin, "shop"), create(&reader, "other")),
        (201, 403)
    );
    for (cookie, name, is_admin) in [(&admin, "admin", true), (&reader, "reader", false)] {
        let session = ask(&server, cookie, "GET /console/session", "").json();
        assert_eq!(
            (&session["token"], &session["admin"]),
            (&json!(name), &json!(is_admin))
        );
        for read in READS {
            assert_eq!(
                ask(&server, cookie, read, "").status,
                200,
                "{read} as {name}"
            );
        }
    }
    let taken = ask(&server, &admin, "POST /v1/tags/shop/ids", "{}");
    assert_eq!((taken.status, &taken.json()["ids"][0]), (200, &json!("1")));
    assert_eq!(
        ask(&server, &admin, "GET /v1/tags/shop/ids", "").status,
        200
    );
    assert_eq!(
        ask(&server, &reader, "POST /v1/tags/shop/ids", "{}").status,
        403
    );
    let ended = ask(&server, &admin, "DELETE /console/session", "");
    assert!(
        ended.header("set-cookie").contains("Max-Age=0"),
        "{ended:?}"
    );
    assert_eq!(
        ask(&server, &admin, "GET /console/overview", "").status,
        401
    );
    // A token that was removed takes its sessions along.
    server
        .service
        .apply_access(&[TokenSpec::new("new", ADMIN)], &[]);
    assert_eq!(
        ask(&server, &reader, "GET /console/overview", "").status,
        401
    );
}

/// Guards that no page of another site can use a session, whatever a browser lets it send.
#[test]
fn a_session_serves_no_other_site() {
    let server = guarded();
    let admin = log_in(&server, ADMIN);
    let body = json!({ "tag": "shop" }).to_string();
    for site in ["cross-site", "same-site", "none", ""] {
        let refused = ask_from(&server, site, &admin, "POST /v1/tags", &body);
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (403, &json!("foreign_page")),
            "{site}"
        );
        let login = json!({ "token": ADMIN }).to_string();
        let refused = ask_from(&server, site, "", "POST /console/session", &login);
        assert_eq!(refused.status, 403, "{site}");
        for take in ["POST /v1/tags/shop/ids", "GET /v1/tags/shop/ids"] {
            assert_eq!(
                ask_from(&server, site, &admin, take, "{}").status,
                403,
                "{site} {take}"
            );
        }
        let leaf = ask_from(&server, site, &admin, "GET /api/segment/get/shop", "");
        assert_ne!(leaf.status, 200, "{site}: {leaf:?}");
    }
    assert_eq!(ask(&server, &admin, "POST /v1/tags", &body).status, 201);
}

/// Guards that a token for some tags sees nothing of others, in no list and no event.
#[test]
fn a_token_for_some_tags_sees_no_others() {
    let server = guarded();
    let admin = log_in(&server, ADMIN);
    for tag in ["secret-plan", "shop", "shop-2"] {
        let body = json!({ "tag": tag, "limit": "int32" }).to_string();
        assert_eq!(ask(&server, &admin, "POST /v1/tags", &body).status, 201);
        let take = format!("POST /v1/tags/{tag}/ids");
        assert_eq!(ask(&server, &admin, &take, "{}").status, 200);
        let deleted = ask(&server, &admin, &format!("DELETE /v1/tags/{tag}"), "");
        assert_eq!(deleted.status, 204);
        let again = json!({ "tag": tag }).to_string();
        assert_eq!(ask(&server, &admin, "POST /v1/tags", &again).status, 201);
    }
    let shop = log_in(&server, SHOP);
    for read in READS {
        let reply = ask(&server, &shop, read, "");
        assert!(
            !reply.body.contains("secret-plan"),
            "{read}: {}",
            reply.body
        );
    }
    let hidden = ask(&server, &shop, "GET /console/tags/secret-plan", "");
    assert_eq!(hidden.status, 403, "{hidden:?}");
    let live = ask(&server, &shop, "GET /console/live?tag=secret-plan", "");
    assert!(!live.body.contains("\"segments\""), "{}", live.body);
}

fn names(page: &Value) -> Vec<&str> {
    let tags = page["tags"].as_array().unwrap();
    tags.iter()
        .map(|tag| tag["tag"].as_str().unwrap())
        .collect()
}

#[test]
fn tags_are_paged_searched_and_ranked() {
    let server = TestServer::new();
    for (tag, count) in [
        ("a-quiet", 1),
        ("b-busy", 900),
        ("b-calm", 30),
        ("c<script>", 300),
    ] {
        let tag = tag.replace('<', "%3C").replace('>', "%3E");
        let body = json!({ "count": count }).to_string();
        let reply = server.ask_with(&format!("POST /v1/tags/{tag}/ids"), &body);
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    let read = |path: &str| server.ask(&format!("GET /console/tags?{path}")).json();
    let first = read("limit=3");
    assert_eq!(names(&first), ["a-quiet", "b-busy", "b-calm"]);
    assert_eq!(
        (&first["next_after"], &first["loaded"]),
        (&json!("b-calm"), &json!(4))
    );
    let second = read("limit=3&after=b-calm");
    assert_eq!(
        (names(&second), &second["next_after"]),
        (vec!["c<script>"], &Value::Null)
    );
    assert_eq!(names(&read("search=b-")), ["b-busy", "b-calm"]);
    assert_eq!(names(&read("search=b-busy")), ["b-busy"]);
    assert_eq!(names(&read("search=b-&limit=1&after=b-busy")), ["b-calm"]);
    assert!(names(&read("search=usy")).is_empty());
    assert_eq!(names(&read("sort=rate&search=us")), ["b-busy"]);
    let ranked = read("sort=rate&limit=2");
    assert_eq!(
        (names(&ranked), &ranked["next_offset"]),
        (vec!["b-busy", "c<script>"], &json!(2))
    );
    assert_eq!(
        names(&read("sort=rate&limit=2&offset=2")),
        ["b-calm", "a-quiet"]
    );
    assert_eq!(names(&read("sort=cover"))[0], "b-busy");
    server.check_problem("GET /console/tags?sort=size", "", 400, "bad_field");
    server.check_problem("GET /console/tags?limit=0x", "", 400, "bad_field");
}

#[test]
fn a_tag_is_shown_with_its_segments() {
    let server = TestServer::new();
    server.ask("GET /v1/tags/order/ids");
    server.ask_with("POST /v1/tags/order/ids", "{\"count\":49}");
    let detail = server.ask("GET /console/tags/order").json();
    // The first id was given to the call that waited for the reservation.
    let bounds = json!({ "start": "2", "end": "1002" });
    assert_eq!(detail["segments"][0], bounds, "{detail}");
    assert_eq!(
        (&detail["cursor"], &detail["refill_at"]),
        (&json!("51"), &json!("102"))
    );
    assert_eq!(detail["reservations"][0]["start"], "1");
    assert_eq!(detail["reservations"][0]["end"], "1002");
    assert_eq!(detail["tag"]["live"]["issued"], "50");
    assert_eq!(detail["row"]["table"], "leaf_alloc");
    server.ask_with("POST /v1/tags/order/ids", "{\"count\":100}");
    eventually("the next segment", || {
        let detail = server.ask("GET /console/tags/order").json();
        detail["segments"].as_array().unwrap().len() == 2
    });
    // Beyond the first segment, which is still in its place but used up.
    for _ in 0..3 {
        server.ask_with("POST /v1/tags/order/ids", "{\"count\":400}");
    }
    let detail = server.ask("GET /console/tags/order").json();
    let number = |value: &Value| value.as_str().unwrap().parse::<u64>().unwrap();
    let cursor = number(&detail["cursor"]);
    let segments = detail["segments"].as_array().unwrap();
    let all_ahead = segments.iter().all(|one| number(&one["end"]) > cursor);
    assert!(cursor > 1002 && all_ahead, "{detail}");
    server.check_problem("GET /console/tags/nothing", "", 404, "unknown_tag");
    server.ask_with("PUT /v1/quotas/tags/order", "{\"ids_per_second\":7}");
    assert_eq!(server.ask("GET /console/tags/order").json()["quota"], 7);
}

/// Reads events until one of a kind comes.
fn watch(server: &TestServer, path: &str, wanted: usize) -> Vec<(String, Value)> {
    let mut stream = server.connect();
    let head = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    let mut chunk = [0; 4096];
    loop {
        let len = stream.read(&mut chunk).unwrap();
        text += str::from_utf8(&chunk[..len]).unwrap();
        let events: Vec<_> = text.split("event: ").skip(1).collect();
        if len == 0 || events.len() > wanted {
            let whole = events.into_iter().take(wanted);
            let parsed = whole.map(|event| {
                let (kind, rest) = event.split_once("\ndata: ").unwrap();
                let (data, _) = rest.split_once("\n\n").unwrap();
                (kind.to_owned(), serde_json::from_str(data).unwrap())
            });
            return parsed.collect();
        }
    }
}

#[test]
fn the_server_is_watched_live() {
    let server = TestServer::new();
    server.ask("GET /api/segment/get/order");
    let (clock, began) = stopwatch();
    let events = watch(&server, "/console/live?tag=order", 4);
    assert!(
        (clock.now().saturating_sub(began)) >= Duration::from_secs(1),
        "an event each second"
    );
    let kinds: Vec<_> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["overview", "tag", "overview", "tag"]);
    assert_eq!(events[0].1["store"]["state"], "up");
    assert_eq!(events[3].1["cursor"], "2");
    let problems = watch(&server, "/console/live?tag=unknown", 2);
    assert_eq!(problems[1].1["code"], "unknown_tag", "{problems:?}");
    server.check_problem("GET /console/live?tga=x", "", 400, "unknown_field");
}

/// Guards that the pages of an outage show the outage, and the tag that lives on.
#[test]
fn an_outage_is_seen_live() {
    let store = Moody::with_tag("order");
    let server = TestServer::on_store(Config::default(), store.clone());
    server.wait_until_ready();
    server.ask("GET /api/segment/get/order");
    store.go(true);
    eventually("the store is seen down", || {
        let overview = server.ask("GET /console/overview").json();
        overview["store"]["state"] == "down"
    });
    let overview = server.ask("GET /console/overview").json();
    assert_eq!(overview["events"][0]["what"], "store_down", "{overview}");
    let findings = server.ask("GET /console/findings").json();
    assert_eq!(findings["findings"][0]["code"], "store_down", "{findings}");
    let detail = server.ask("GET /console/tags/order").json();
    assert_eq!(detail["cursor"], "2", "{detail}");
}

/// Guards that pages which watch are bounded, and that a stop does not wait for them.
#[test]
fn watching_pages_are_bounded_and_end_with_the_server() {
    let mut server = TestServer::new();
    let mut streams: Vec<_> = (0..65).map(|_| server.connect()).collect();
    let mut answers = streams.iter_mut().map(|stream| {
        stream
            .write_all(b"GET /console/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        String::from_utf8_lossy(&head).into_owned()
    });
    assert!(answers.by_ref().take(64).all(|head| head == "HTTP/1.1 200"));
    assert_eq!(answers.next().as_deref(), Some("HTTP/1.1 503"));
    drop(answers);
    let (clock, began) = stopwatch();
    server.stop();
    server.ended().unwrap();
    assert!(
        (clock.now().saturating_sub(began)) < Duration::from_secs(5),
        "{:?}",
        (clock.now().saturating_sub(began))
    );
}

/// A clock, and its reading now.
fn stopwatch() -> (SystemClock, Duration) {
    let clock = SystemClock::new();
    let now = clock.now();
    (clock, now)
}
