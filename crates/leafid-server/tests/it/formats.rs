//! Guards tags whose ids are texts: written, counted and refused alike over every front end.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use leafid::{Clock as _, Family, SystemClock};
use leafid_server::{Config, Limits};
use serde_json::{Value, json};

use crate::grpc::Line;
use crate::grpc::v1::{NextManyRequest, NextRequest, ReserveRangeRequest};
use crate::test_server::TestServer;

/// What the Redis protocol answers.
pub(crate) fn redis(server: &TestServer, input: &str) -> String {
    let mut stream = TcpStream::connect(server.addresses.resp.unwrap()).unwrap();
    stream.write_all(input.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    answers
}

#[track_caller]
pub(crate) fn create(server: &TestServer, body: &Value) -> Value {
    let reply = server.ask_with("POST /v1/tags", &body.to_string());
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()
}

pub(crate) fn texts(reply: &Value) -> Vec<String> {
    let ids = reply["ids"].as_array().unwrap();
    ids.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_formatted_tag_answers_texts_everywhere() {
    let line = Line::new();
    let server = &line.server;
    let format = "SO-\"é\"-{number width=6 radix=36}{check 37-36}";
    let made = create(server, &json!({"tag": "invoice", "format": format}));
    assert_eq!(
        (&made["kind"], &made["format"]),
        (&json!("segment"), &json!(format))
    );
    server.check("GET /api/segment/get/invoice", 200, &written(1));
    let one = server.ask("GET /v1/tags/invoice/ids").json();
    assert_eq!(texts(&one), [written(2)]);
    let many = server.ask("GET /v1/tags/invoice/ids?count=100").json();
    let expected: Vec<_> = (3..103).map(written).collect();
    assert_eq!(texts(&many), expected);
    let text = written(103);
    let bulk = format!("${}\r\n{text}\r\n", text.len());
    assert_eq!(redis(server, "INCR invoice\r\n"), bulk);
    let text = written(104);
    let array = format!("*1\r\n${}\r\n{text}\r\n", text.len());
    assert_eq!(redis(server, "ID.NEXT invoice 1\r\n"), array);
    let tag = || "invoice".to_owned();
    let next = line.runtime.block_on(async {
        let mut ids = line.ids();
        let next = ids
            .next(NextRequest {
                tag: tag(),
                ..NextRequest::default()
            })
            .await
            .unwrap()
            .into_inner();
        let many = NextManyRequest {
            tag: tag(),
            count: 2,
            ..NextManyRequest::default()
        };
        let many = ids.next_many(many).await.unwrap().into_inner();
        let range = ReserveRangeRequest {
            tag: tag(),
            length: 2,
        };
        let range = ids.reserve_range(range).await.unwrap_err();
        (next, many, range)
    });
    assert_eq!((next.0.id, next.0.text), (0, written(105)));
    assert!(next.1.ids.is_empty());
    assert_eq!(next.1.texts, [written(106), written(107)]);
    assert!(next.2.message().contains("issues texts"), "{:?}", next.2);
    server.check_problem(
        "POST /v1/tags/invoice/ranges",
        r#"{"length":5}"#,
        409,
        "text_tag",
    );
    assert!(redis(server, "INCRBY invoice 5\r\n").starts_with("-ERR text_tag "));
    // The refused ranges took nothing.
    server.check("GET /api/segment/get/invoice", 200, &written(108));
    let text = written(108);
    let bulk = format!("${}\r\n{text}\r\n", text.len());
    assert_eq!(redis(server, "GET invoice\r\n"), bulk);
}

/// Guards that `GET` answers no text that was never issued: a number of yesterday has yesterday's
/// date, and the last snowflake id is none of a family.
#[test]
fn what_cannot_be_written_again_is_null() {
    let server = TestServer::new();
    for (tag, kind, format) in [
        ("dated", "segment", Some("{date %Y}-{number}")),
        ("random", "segment", Some("{number width=9}{random 2}")),
        (
            "daily",
            "segment",
            Some("{date %Y}{number width=9 restart=year}"),
        ),
        ("session", "uuid7", None),
    ] {
        create(
            &server,
            &json!({"tag": tag, "kind": kind, "format": format}),
        );
        let issued = texts(&server.ask(&format!("GET /v1/tags/{tag}/ids")).json());
        assert_eq!(issued.len(), 1, "{tag}");
        let line = format!("GET {tag}\r\n");
        assert_eq!(redis(&server, &line), "$-1\r\n", "{tag}");
    }
    create(&server, &json!({"tag": "sqid", "format": "{sqids min=8}"}));
    let issued = texts(&server.ask("GET /v1/tags/sqid/ids").json());
    let bulk = format!("${}\r\n{}\r\n", issued[0].len(), issued[0]);
    assert_eq!(redis(&server, "GET sqid\r\n"), bulk);
}

/// The text of a number of the tag `invoice`.
fn written(number: u64) -> String {
    use leafid::format::{CheckDigit, Radix};
    let mut text = "SO-\"é\"-".to_owned();
    Radix::Base36.push(number, 6, &mut text);
    let mut digits = String::from("SO");
    Radix::Base36.push(number, 6, &mut digits);
    CheckDigit::Mod37_36.push(&mut digits).unwrap();
    text.push(digits.pop().unwrap());
    text
}

#[test]
fn a_format_that_cannot_be_read_is_refused_when_the_tag_is_created() {
    let server = TestServer::new();
    for (format, part) in [
        ("SO-{nmber}", "{number}"),
        ("SO-", "number"),
        ("{number", "brace"),
        ("{date %A}{number}", "%A"),
    ] {
        let body = json!({"tag": "bad", "format": format}).to_string();
        let reply = server.ask_with("POST /v1/tags", &body);
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (400, &json!("bad_field")),
            "{format}"
        );
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.starts_with("format \"") && detail.contains("\" is invalid: "),
            "{format}: {detail}"
        );
        assert!(
            detail.matches(part).count() >= 1 && reply.json()["next"] == "correct format",
            "{format}: {detail}"
        );
    }
    server.check_problem("GET /v1/tags/bad", "", 404, "unknown_tag");
}

/// Guards that a tag stops at the last number that its format can write, like at any limit.
#[test]
fn a_format_bounds_its_tag() {
    let server = TestServer::new();
    let made = create(
        &server,
        &json!({"tag": "small", "format": "N{number width=2}"}),
    );
    assert_eq!(made["limit"], "99");
    let first = texts(&server.ask("GET /v1/tags/small/ids?count=99").json());
    assert_eq!((first[0].as_str(), first[98].as_str()), ("N01", "N99"));
    server.check_problem("GET /v1/tags/small/ids", "", 409, "limit_reached");
    for (limit, status) in [("100", 400), ("99", 200), ("50", 200)] {
        let body = json!({ "limit": limit }).to_string();
        let changed = server.ask_with("PATCH /v1/tags/small", &body);
        assert_eq!(changed.status, status, "{limit}: {}", changed.body);
    }
    for text in ["N00", "N0"] {
        let refused = format!("GET /v1/decode/{text}?tag=small");
        server.check_problem(&refused, "", 400, "bad_field");
    }
}

/// Guards that a tag made anew may not write the same texts for other numbers.
#[test]
fn a_deleted_tag_keeps_its_format() {
    let server = TestServer::new();
    create(
        &server,
        &json!({"tag": "kept", "format": "A{number radix=36}"}),
    );
    server.check("GET /api/segment/get/kept", 200, "A1");
    assert_eq!(server.ask("DELETE /v1/tags/kept").status, 204);
    for body in [
        json!({"tag": "kept"}),
        json!({"tag": "kept", "format": "A{number}"}),
    ] {
        let reply = server.ask_with("POST /v1/tags", &body.to_string());
        assert_eq!(reply.status, 409, "{}", reply.body);
    }
    create(
        &server,
        &json!({"tag": "kept", "format": "A{number radix=36}"}),
    );
    let id = server.ask("GET /v1/tags/kept/ids").json();
    let id = leafid::format::Radix::Base36
        .parse(&texts(&id)[0][1..])
        .unwrap();
    assert!(id > 1);
}

/// Guards that a tag of each family answers texts of it, by every front end, none twice.
#[test]
fn a_tag_of_a_family_answers_its_texts() {
    let line = Line::new();
    let server = &line.server;
    for family in Family::ALL {
        let name = family.name();
        let made = create(server, &json!({"tag": name, "kind": name}));
        assert_eq!((&made["kind"], &made["step"]), (&json!(name), &json!(null)));
        let request = format!("GET /v1/tags/{name}/ids?count=500");
        let mut all = texts(&server.ask(&request).json());
        all.push(server.ask(&format!("GET /api/segment/get/{name}")).body);
        all.extend(texts(
            &server.ask(&format!("GET /v1/tags/{name}/ids")).json(),
        ));
        let bulk = redis(server, &format!("INCR {name}\r\n"));
        all.push(bulk.split("\r\n").nth(1).unwrap().to_owned());
        let next = NextRequest {
            tag: name.to_owned(),
            ..NextRequest::default()
        };
        let next = line.run(line.ids().next(next)).unwrap().into_inner();
        all.push(next.text);
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (504, 504), "{name}");
        if matches!(
            family,
            Family::Uuid6 | Family::Uuid7 | Family::Ulid | Family::Tsid
        ) {
            assert!(all.is_sorted(), "{name} ascends over all front ends");
        }
        let ranges = format!("POST /v1/tags/{name}/ranges");
        server.check_problem(&ranges, r#"{"length":5}"#, 409, "text_tag");
        let change = server.ask_with(&format!("PATCH /v1/tags/{name}"), r#"{"step":5}"#);
        assert_eq!(
            (change.status, &change.json()["code"]),
            (409, &json!("text_tag")),
            "{name}"
        );
    }
    let body = json!({"tag": "typed", "kind": "uuid7", "format": "order_{id form=typeid}"});
    create(server, &body);
    let typed = server.ask("GET /api/segment/get/typed").body;
    assert!(typed.starts_with("order_0") && typed.len() == 32, "{typed}");
}

/// Guards the API of ns4_gear_idgen for its callers: bytes, codes, and one sequence for its kinds.
#[test]
fn callers_of_gear_idgen_are_answered_as_there() {
    let config = Config {
        store: vec!["mysql://gear@127.0.0.1/gear?table=gear_key".to_owned()],
        ..Config::default()
    };
    // The rows are in memory; the test of the store beside gear's programs has real ones.
    let server = TestServer::with(&config, Limits::default());
    create(
        &server,
        &json!({"tag": "TEST-KEY9", "format": "TS{number total=8}"}),
    );
    let ok = |result: &str| {
        format!(
            "{{\"retCode\":\"0000\", \"retInfo\":\"获取成功\",\"data\":{{\"result\":\"{result}\"}}}}"
        )
    };
    let ask = |query: &str, body: &str| {
        let reply = server.ask(&format!("GET /getId?{query}"));
        assert_eq!((reply.status, reply.body.as_str()), (200, body), "{query}");
        assert_eq!(
            reply.header("content-type"),
            "application/json;charset=UTF-8"
        );
    };
    ask("keyType=1&keyName=TEST-KEY9", &ok("1"));
    ask("keyType=2&keyName=%20TEST-KEY9%20", &ok("TS000002"));
    ask(
        "keyType=3&keyName=TEST-KEY9%24%24%243",
        &ok("TS000003,TS000004,TS000005"),
    );
    ask("keyType=3&keyName=TEST-KEY9%24%24%24x", &ok("TS000006"));
    let failed =
        r#"{"retCode":"9999", "retInfo":"获取失败，请检查参数或重试","data":{"result":""}}"#;
    for query in [
        "",
        "keyType=1",
        "keyName=TEST-KEY9",
        "keyType=4&keyName=TEST-KEY9",
        "keyType=2&keyName=",
        "keyType=2&keyName=%ff",
        "keyType=1&keyName=%",
        "keyType=1&keyName=a%2",
        "keyType=1&keyName=%zz",
        "keyType=3&keyName=TEST-KEY9%24%24%24%ff",
        "keyType=3&keyName=TEST-KEY9",
        "keyType=3&keyName=TEST-KEY9%24%24%240",
        "keyType=3&keyName=TEST-KEY9%24%24%24",
        "keyType=3&keyName=TEST-KEY9%24%24%2410001",
    ] {
        ask(query, failed);
    }
}

/// Guards that no number leaves beside the texts of a tag: the text of another number may look like
/// it, and an opaque format hides it.
#[test]
fn numbers_of_a_tag_with_texts_are_no_ids() {
    let server = TestServer::new();
    create(
        &server,
        &json!({"tag": "ticket", "format": "{number radix=36}"}),
    );
    create(&server, &json!({"tag": "plain"}));
    let result = |query: &str| {
        let reply = server.ask(&format!("GET /getId?{query}"));
        reply.json()["data"]["result"].as_str().unwrap().to_owned()
    };
    for _ in 0..3 {
        assert_eq!(result("keyType=1&keyName=ticket"), "");
    }
    // At most the first call takes a number, which is lost, when the tag is loaded.
    let text = result("keyType=2&keyName=ticket");
    assert!(["1", "2"].contains(&&*text), "{text}");
    assert_eq!(result("keyType=1&keyName=plain"), "1");
}

/// Guards the order number of gear's row KEY9: `TS` and six digits of the date, sixteen in all.
#[test]
fn the_order_number_of_gear_idgen_is_as_there() {
    let server = TestServer::new();
    let format = "{zone Asia/Shanghai}TS${date6}{number total=16}";
    create(
        &server,
        &json!({"tag": "KEY9", "start": 181_687, "format": format}),
    );
    let text = server.ask("GET /api/segment/get/KEY9").body;
    let date = text
        .strip_prefix("TS")
        .and_then(|rest| rest.strip_suffix("00181687"));
    let zone = jiff::tz::TimeZone::get("Asia/Shanghai").unwrap();
    let now_ms = SystemClock::new().wall().as_millis();
    let now = jiff::Timestamp::from_millisecond(now_ms.try_into().unwrap()).unwrap();
    // A minute ago it may have been another day.
    let dates = [now - jiff::SignedDuration::from_mins(1), now];
    let mut dates = dates.map(|time| time.to_zoned(zone.clone()).strftime("%y%m%d").to_string());
    assert!(
        date.is_some_and(|date| dates.iter_mut().any(|day| day == date)),
        "{text}"
    );
}

/// Guards that an id is decoded exactly by its tag, and that another tag's id is refused.
#[test]
fn ids_are_decoded_by_their_tag() {
    let server = TestServer::new();
    create(
        &server,
        &json!({"tag": "invoice", "format": "SO-{number width=6}{check damm}"}),
    );
    create(
        &server,
        &json!({"tag": "session", "kind": "uuid7", "format": "s_{id}"}),
    );
    let text = server.ask("GET /api/segment/get/invoice").body;
    let decoded = server
        .ask(&format!("GET /v1/decode/{text}?tag=invoice"))
        .json();
    assert_eq!(
        (&decoded["number"], &decoded["id"]),
        (&json!("1"), &json!(text))
    );
    let session = server.ask("GET /api/segment/get/session").body;
    let decoded = server
        .ask(&format!("GET /v1/decode/{session}?tag=session"))
        .json();
    assert_eq!(decoded["parts"]["version"], "7");
    assert!(decoded["time"].is_string());
    for wrong in [
        format!("{text}?tag=session"),
        format!("{session}?tag=invoice"),
    ] {
        server.check_problem(&format!("GET /v1/decode/{wrong}"), "", 400, "bad_field");
    }
    let forged = text.replace("000001", "000010");
    server.check_problem(
        &format!("GET /v1/decode/{forged}?tag=invoice"),
        "",
        400,
        "bad_field",
    );
    server.check_problem("GET /v1/decode/1?tag=nobody", "", 404, "unknown_tag");
}
