//! Guards calendar counters: numbers restart with each period, whose tag nothing else takes.

use std::collections::BTreeSet;

use leafid_server::{Config, Limits};
use serde_json::json;

use crate::formats::{create, redis, texts};
use crate::grpc::Line;
use crate::test_server::TestServer;

/// Guards that numbers restart with each period, that a period has a tag of its own, and that
/// batches and single ids share it.
#[test]
fn a_calendar_counter_takes_its_numbers_from_the_tag_of_its_period() {
    let server = TestServer::new();
    let format = "{date %Y}-{number width=5 restart=year}";
    create(&server, &json!({"tag": "invoice", "format": format}));
    let first = texts(&server.ask("GET /v1/tags/invoice/ids").json());
    let year = first[0].strip_suffix("-00001").unwrap().to_owned();
    assert_eq!(year.len(), 4);
    let mut seen: BTreeSet<_> = first.into_iter().collect();
    for request in [
        "GET /v1/tags/invoice/ids",
        "GET /v1/tags/invoice/ids?count=2000",
    ] {
        for text in texts(&server.ask(request).json()) {
            assert!(seen.insert(text.clone()), "{text} came twice");
        }
    }
    assert_eq!(seen.len(), 2002);
    assert_eq!(seen.last().unwrap(), &format!("{year}-02002"));
    let period = server.ask(&format!("GET /v1/tags/invoice@{year}")).json();
    assert_eq!(period["limit"], "99999");
    assert_eq!(period["description"], format!("period {year} of invoice"));
    server.check_problem(
        "POST /v1/tags/invoice/ranges",
        r#"{"length":5}"#,
        409,
        "text_tag",
    );
}

/// Guards that a period's tag which was moved by hand, or created by others without its limit, never
/// makes texts of the next period.
#[test]
fn a_counter_ends_with_its_period() {
    let server = TestServer::new();
    let label = |name: &str| {
        let text = server.ask(&format!("GET /api/segment/get/{name}")).body;
        assert!(text.ends_with("-000001"), "{text}");
        text[..8].to_owned()
    };
    let format = "{date %Y%m%d}-{number width=6 restart=day}";
    create(&server, &json!({"tag": "other", "format": format}));
    let today = label("other");
    // Before its counter, so that it does not get its limit.
    let period = json!({"tag": format!("invoice@{today}"), "start": "100000000001"});
    create(&server, &period);
    create(&server, &json!({"tag": "invoice", "format": format}));
    let refused = server.ask("GET /v1/tags/invoice/ids");
    if label_of_now(&server, "other") != today {
        return; // midnight passed
    }
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(
        refused.body.contains("beyond the counter"),
        "{}",
        refused.body
    );
}

/// Guards that no tag takes the place of a counter's period, and that one which is there already is
/// named.
#[test]
fn a_tag_of_another_kind_is_no_period() {
    let server = TestServer::new();
    let format = "{date %Y}-{number width=5 restart=year}";
    create(&server, &json!({"tag": "other", "format": format}));
    let text = server.ask("GET /api/segment/get/other").body;
    let period = format!("invoice@{}", &text[..4]);
    for kind in ["snowflake", "uuid7"] {
        create(&server, &json!({"tag": "invoice", "format": format}));
        let body = json!({"tag": period, "kind": kind}).to_string();
        server.check_problem("POST /v1/tags", &body, 400, "bad_field");
        server.ask("DELETE /v1/tags/invoice");
    }
    create(&server, &json!({"tag": period, "kind": "snowflake"}));
    create(&server, &json!({"tag": "invoice", "format": format}));
    for request in [
        "GET /v1/tags/invoice/ids",
        "GET /v1/tags/invoice/ids?count=5",
    ] {
        let refused = server.ask(request);
        let is_named = refused.body.contains(&period) && refused.body.contains("next period");
        assert!(is_named && refused.status >= 400, "{}", refused.body);
    }
}

/// Guards that a tag with a format that has the name of a period shares no numbers with the counter,
/// and that whatever has such a name, or had it, is called what it is.
#[test]
fn a_name_that_is_taken_says_by_what() {
    let server = TestServer::new();
    let format = "{date %Y}-{number width=5 restart=year}";
    create(&server, &json!({"tag": "other", "format": format}));
    let text = server.ask("GET /api/segment/get/other").body;
    let period = format!("invoice@{}", &text[..4]);
    let plain = "A{number width=5}";
    let uuids = json!({"tag": period, "kind": "uuid7"});
    for (taken, is_deleted, expected) in [
        (
            json!({"tag": period, "format": plain}),
            false,
            "is a tag with a format",
        ),
        (
            json!({"tag": period, "format": plain}),
            true,
            "had a format before",
        ),
        (
            json!({"tag": period, "format": format}),
            false,
            "is a calendar counter itself",
        ),
        (uuids.clone(), false, "is a uuid7 tag"),
        (uuids, true, "was a uuid7 tag before"),
    ] {
        let server = TestServer::new();
        create(&server, &taken);
        if is_deleted {
            assert_eq!(server.ask(&format!("DELETE /v1/tags/{period}")).status, 204);
        }
        create(&server, &json!({"tag": "invoice", "format": format}));
        for request in [
            "GET /v1/tags/invoice/ids",
            "GET /v1/tags/invoice/ids?count=5",
            "GET /api/segment/get/invoice",
        ] {
            // The first call loads the tag, the second one finds it in memory.
            for _ in 0..2 {
                let refused = server.ask(request);
                assert!(refused.status >= 400, "{}", refused.body);
                let is_named = refused.body.contains(expected) || request.starts_with("GET /api");
                assert!(is_named, "{expected}: {}", refused.body);
            }
        }
    }
}

/// Guards the step of a restore: a period that has no tag yet begins where an operator says, and only
/// one of a calendar counter does.
#[test]
fn a_period_that_has_not_begun_can_be_raised() {
    let server = TestServer::new();
    let format = "{date %Y}-{number width=5 restart=year}";
    create(&server, &json!({"tag": "other", "format": format}));
    let year = server.ask("GET /api/segment/get/other").body[..4].to_owned();
    create(&server, &json!({"tag": "invoice", "format": format}));
    create(&server, &json!({"tag": "plain"}));
    let raise = |tag: &str| server.ask_with(&format!("PATCH /v1/tags/{tag}"), r#"{"next":"500"}"#);
    for name in ["plain", "missing", "invoice@x"] {
        let reply = raise(&format!("{name}@{year}"));
        assert_eq!(reply.status, 404, "{name}: {}", reply.body);
    }
    assert_eq!(raise("invoice@20261122").status, 404, "no label of a year");
    let hourly = "{date %Y%m%d%H}-{number width=5 restart=hour}";
    create(&server, &json!({"tag": "hourly", "format": hourly}));
    for label in ["2026112325", "2026022900", "2026130100", "2026112324"] {
        let reply = raise(&format!("hourly@{label}"));
        assert_eq!(
            reply.status, 404,
            "there is no hour {label}: {}",
            reply.body
        );
    }
    assert_eq!(raise("hourly@2028022923").status, 200);
    for _ in 0..2 {
        let reply = raise(&format!("invoice@{year}"));
        let is_first = reply.status == 200;
        assert!(is_first || reply.body.contains("next"), "{}", reply.body);
    }
    let period = server.ask(&format!("GET /v1/tags/invoice@{year}")).json();
    assert_eq!(period["description"], format!("period {year} of invoice"));
    assert_eq!(period["limit"], "99999");
    let text = server.ask("GET /api/segment/get/invoice").body;
    assert_eq!(text, format!("{year}-00500"));
}

/// Guards that a tag with the name of a period has its limit, however it is made, and keeps it: numbers
/// beyond it would be lost, and the counter dead until the next period.
#[test]
fn a_period_has_no_more_numbers_than_its_counter_writes() {
    let config = Config {
        create_tags: Some(true),
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    let format = "{date %Y}-{number width=4 restart=year}";
    create(&server, &json!({"tag": "invoice", "format": format}));
    create(&server, &json!({"tag": "invoice@2031"}));
    assert_eq!(server.ask("GET /v1/tags/invoice@2032/ids").status, 200);
    let year = server.ask("GET /api/segment/get/invoice").body[..4].to_owned();
    for label in [&year, "2031", "2032"] {
        let period = server.ask(&format!("GET /v1/tags/invoice@{label}")).json();
        assert_eq!(period["limit"], "9999", "{period}");
        assert_eq!(period["description"], format!("period {label} of invoice"));
        let patch = format!("PATCH /v1/tags/invoice@{label}");
        for body in [
            r#"{"limit":"10000"}"#,
            r#"{"limit":"int64","next":"500000"}"#,
        ] {
            let problem = server.check_problem(&patch, body, 400, "bad_field");
            assert_eq!(problem["field"], "limit");
        }
        assert_eq!(server.ask_with(&patch, r#"{"limit":"9998"}"#).status, 200);
    }
}

/// Guards that a counter is not given a first id, which none of its periods would have.
#[test]
fn a_calendar_counter_has_no_start() {
    let server = TestServer::new();
    let format = "{date %Y}-{number width=4 restart=year}";
    let body = json!({"tag": "invoice", "format": format, "start": "500"});
    let problem = server.check_problem("POST /v1/tags", &body.to_string(), 400, "bad_field");
    assert_eq!(problem["field"], "start");
    assert!(problem["detail"].as_str().unwrap().contains("starts at 1"));
    assert_eq!(problem["next"], "leave out start");
    create(
        &server,
        &json!({"tag": "invoice", "format": format, "start": "1"}),
    );
}

/// Guards that an operator who begins a period learns where it starts: not below what a former tag
/// of the name issued, whoever remembers that, and not beyond its last number.
#[test]
fn a_period_begins_at_the_number_that_was_named_or_not_at_all() {
    let server = TestServer::new();
    let format = "{date %Y}-{number width=4 restart=year}";
    create(&server, &json!({"tag": "invoice", "format": format}));
    let first = texts(&server.ask("GET /v1/tags/invoice/ids").json());
    let period = format!("invoice@{}", &first[0][..4]);
    let patch = format!("PATCH /v1/tags/{period}");
    server.check_problem(&patch, r#"{"next":"10001"}"#, 409, "limit_reached");
    assert_eq!(server.ask(&format!("DELETE /v1/tags/{period}")).status, 204);
    let problem = server.check_problem(&patch, r#"{"next":"10001"}"#, 409, "limit_reached");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("its limit is 9999"), "{detail}");
    let problem = server.check_problem(&patch, r#"{"next":"2"}"#, 409, "next_behind");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("can only be raised"), "{detail}");
    let other = server.ask_with("PATCH /v1/tags/invoice@1999", r#"{"next":"10000"}"#);
    assert_eq!(other.json()["max_id"], "10000", "none left: {}", other.body);
    let raised = server.ask_with(&patch, r#"{"next":"9998"}"#);
    assert_eq!(raised.json()["max_id"], "9998", "{}", raised.body);
    let next = texts(&server.ask("GET /v1/tags/invoice/ids").json());
    assert!(next[0].ends_with("-9998"), "{next:?}");
}

/// Guards that each front end says what helps when the numbers of a period are spent: no limit that
/// could be raised.
#[test]
fn a_period_that_is_spent_names_the_next_one() {
    let line = Line::new();
    let server = &line.server;
    let format = "{date %Y}-{number width=1 restart=year}";
    create(server, &json!({"tag": "invoice", "format": format}));
    let issued = texts(&server.ask("GET /v1/tags/invoice/ids?count=9").json());
    let period = format!("invoice@{}", &issued[0][..4]);
    let check = |text: &str| {
        let is_told = text.contains("it goes on in the next period") && text.contains("is 9, ");
        assert!(is_told && !text.contains("raise"), "{text}");
    };
    for name in ["invoice", &period] {
        for count in ["", "?count=20"] {
            let request = format!("GET /v1/tags/{name}/ids{count}");
            let problem = server.check_problem(&request, "", 409, "limit_reached");
            check(&problem.to_string());
            assert!(problem["next"].as_str().unwrap().contains("wider number"));
        }
        let leaf = server.ask(&format!("GET /api/segment/get/{name}"));
        check(&leaf.body);
        check(&redis(server, &format!("INCR {name}\r\n")));
        check(&redis(server, &format!("ID.NEXT {name} 2\r\n")));
        check(line.next(name).unwrap_err().message());
    }
}

/// Guards that a tag whose format has no room for more is not advised to raise its limit, which
/// would be refused.
#[test]
fn a_tag_at_the_end_of_its_format_is_advised_to_be_replaced() {
    let line = Line::new();
    let server = &line.server;
    create(
        server,
        &json!({"tag": "ticket", "format": "T{number width=1}"}),
    );
    assert_eq!(
        texts(&server.ask("GET /v1/tags/ticket/ids?count=9").json()).len(),
        9
    );
    for count in ["", "?count=20"] {
        let request = format!("GET /v1/tags/ticket/ids{count}");
        let problem = server.check_problem(&request, "", 409, "limit_reached");
        let text = problem.to_string();
        assert!(
            text.contains("9, the last one that its format has room for"),
            "{text}"
        );
        assert!(
            text.contains("wider number") && !text.contains("raise"),
            "{text}"
        );
    }
    let limited = json!({"tag": "few", "format": "T{number width=3}", "limit": "9"});
    create(server, &limited);
    assert_eq!(
        texts(&server.ask("GET /v1/tags/few/ids?count=9").json()).len(),
        9
    );
    let problem = server.check_problem("GET /v1/tags/few/ids", "", 409, "limit_reached");
    assert!(problem.to_string().contains("raise its limit"), "{problem}");
}

fn label_of_now(server: &TestServer, name: &str) -> String {
    let text = server.ask(&format!("GET /api/segment/get/{name}")).body;
    text[..8].to_owned()
}
