//! Guards the server's side of the console: what its pages read, who gets in, and what a browser
//! may be made to do.

mod sessions;

use std::io::{Read as _, Write as _};
use std::time::Duration;

use leafid::{Clock as _, SystemClock};
use leafid_server::Config;
use serde_json::{Value, json};

use crate::test_server::{Moody, Reply, TestServer, eventually};

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

fn names(page: &Value) -> Vec<&str> {
    let tags = page["tags"].as_array().unwrap();
    tags.iter()
        .map(|tag| tag["tag"].as_str().unwrap())
        .collect()
}

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

/// Guards that no page of another site can use a session, whatever a browser lets it send.
/// Guards that a token for some tags sees nothing of others, in no list and no event.
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
    // A tag that is gone is not shown from memory.
    assert_eq!(server.ask("DELETE /v1/tags/order").status, 204);
    let gone = watch(&server, "/console/live?tag=order", 2);
    assert_eq!(gone[1].1["code"], "unknown_tag", "{gone:?}");
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
