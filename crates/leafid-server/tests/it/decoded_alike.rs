//! Guards that ids are decoded alike by HTTP, gRPC and the Redis protocol: of a tag exactly, and
//! without one as every family that fits, with marks for what is impossible.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use leafid::store::{MemoryJournal, MemoryLeaseStore, MemoryStore};
use leafid::{Clock as _, Fields, Layout, RegistryStage, SystemClock, WorkerChoice, WorkerId};
use leafid_server::{Config, Limits, TokenSpec, Workers};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tonic_types::StatusExt as _;

use crate::grpc::Line;
use crate::grpc::v1::{DecodeRequest, DecodeTextRequest, DecodedOfTag, Reading};
use crate::test_server::{TestServer, eventually};

pub(crate) const HOUR_MS: i64 = 3_600_000;
const FUTURE: &str = "its time is in the future";
pub(crate) const UNKNOWN: &str = "the registry has no row for its worker id";

pub(crate) fn with_snowflakes(config: Config) -> TestServer {
    let config = Config {
        allow_weak_store: true,
        ..config
    };
    let workers = Workers {
        leases: Some(Arc::new(MemoryLeaseStore::new())),
        journal: Arc::new(MemoryJournal::new()),
        choice: WorkerChoice::Any,
        preferred: None,
        worker_node: None,
    };
    let runtime = Runtime::new().unwrap();
    let store = Arc::new(MemoryStore::new());
    let server =
        TestServer::with_workers(runtime, &config, Limits::default(), store, Some(workers));
    server.wait_until_ready();
    eventually("holding", || {
        let status = server.service.worker_status();
        status.is_some_and(|status| matches!(status.stage, RegistryStage::Holding { .. }))
    });
    server
}

pub(crate) fn create(server: &TestServer, body: &Value) {
    let reply = server.ask_with("POST /v1/tags", &body.to_string());
    assert_eq!(reply.status, 201, "{}", reply.body);
}

/// A text in a path.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// One answer over RESP3; an error as the object `{"error": …}`. Numbers are texts.
pub(crate) fn resp(server: &TestServer, words: &[&str]) -> Value {
    let mut stream = TcpStream::connect(server.addresses.resp.unwrap()).unwrap();
    let mut command = format!("HELLO 3\r\n*{}\r\n", words.len());
    for word in words {
        command += &format!("${}\r\n{word}\r\n", word.len());
    }
    stream.write_all(command.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let _hello = read(&mut stream);
    read(&mut stream)
}

fn read(stream: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let (sign, rest) = line.trim_end().split_at(1);
    let len = || rest.parse::<usize>().unwrap();
    match sign {
        ":" => json!(rest),
        "-" => json!({ "error": rest.split(' ').nth(1) }),
        "*" => (0..len()).map(|_| read(stream)).collect(),
        "%" => {
            let fields = (0..len()).map(|_| (read(stream), read(stream)));
            let fields = fields.map(|(name, value)| (name.as_str().unwrap().to_owned(), value));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        "$" => {
            let mut bytes = vec![0; len() + 2];
            stream.read_exact(&mut bytes).unwrap();
            bytes.truncate(bytes.len() - 2);
            json!(String::from_utf8(bytes).unwrap())
        }
        other => panic!("{other}{rest}"),
    }
}

/// Numbers as texts, as the Redis protocol has them here.
fn as_texts(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.to_string()),
        Value::Array(values) => values.into_iter().map(as_texts).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, value)| (name, as_texts(value)))
                    .collect(),
            )
        }
        value => value,
    }
}

fn time(time: Option<prost_types::Timestamp>) -> Option<String> {
    let time = time?;
    let time = jiff::Timestamp::new(time.seconds, time.nanos).unwrap();
    let digits = if time.subsec_millisecond() == 0 { 0 } else { 3 };
    Some(format!("{time:.digits$}"))
}

fn without_nulls(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    Value::Object(
        fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
    )
}

fn of_tag(id: &str, found: &DecodedOfTag) -> Value {
    without_nulls(json!({
        "id": id,
        "tag": found.tag,
        "number": found.number.map(|number| number.to_string()),
        "time": time(found.time),
        "parts": found.parts,
        "marks": found.marks,
    }))
}

fn reading(found: &Reading) -> Value {
    without_nulls(json!({
        "name": found.name,
        "time": time(found.time),
        "parts": found.parts,
        "marks": found.marks,
        "score": found.score,
    }))
}

/// Decodes an id of a tag over each protocol, and returns the answer that all of them gave.
pub(crate) fn decoded(line: &Line, tag: &str, id: &str) -> Value {
    let path = format!("GET /v1/decode/{}?tag={}", encoded(id), encoded(tag));
    let http = line.server.ask(&path).json();
    let request = DecodeTextRequest {
        text: id.to_owned(),
        tag: tag.to_owned(),
    };
    let grpc = line.run(line.ids().decode_text(request));
    let resp = resp(&line.server, &["ID.DECODE", id, "TAG", tag]);
    match grpc {
        Ok(found) => {
            let found = found.into_inner();
            assert!(found.readings.is_empty());
            assert_eq!(of_tag(id, &found.of_tag.unwrap()), http, "gRPC {tag} {id}");
            assert_eq!(resp, as_texts(http.clone()), "RESP {tag} {id}");
            http
        }
        Err(status) => {
            let info = status.get_error_details().error_info().cloned();
            let code = json!(info.unwrap().reason.to_ascii_lowercase());
            assert_eq!(http["code"], code, "gRPC {tag} {id}");
            assert_eq!(resp["error"], code, "RESP {tag} {id}");
            code
        }
    }
}

/// Decodes an id without a tag over each protocol, and returns the readings of all of them.
pub(crate) fn readings(line: &Line, id: &str) -> Vec<Value> {
    let http = line.server.ask(&format!("GET /v1/decode/{}", encoded(id)));
    let http = http.json();
    let request = DecodeTextRequest {
        text: id.to_owned(),
        tag: String::new(),
    };
    let grpc = line
        .run(line.ids().decode_text(request))
        .unwrap()
        .into_inner();
    let grpc: Vec<Value> = grpc.readings.iter().map(reading).collect();
    assert_eq!(json!(grpc), http["readings"], "gRPC {id}");
    assert_eq!(
        resp(&line.server, &["ID.DECODE", id]),
        as_texts(http),
        "RESP {id}"
    );
    grpc
}

#[test]
fn ids_of_a_tag_are_decoded_exactly_over_every_protocol() {
    let line = Line::to(with_snowflakes(Config::default()));
    let server = &line.server;
    create(
        server,
        &json!({"tag": "invoice", "format": "SO-{number width=6}{check damm}"}),
    );
    create(
        server,
        &json!({"tag": "session", "kind": "uuid7", "format": "s_{id}"}),
    );
    create(server, &json!({"tag": "trace", "kind": "snowflake"}));
    create(server, &json!({"tag": "order"}));
    let next = |tag: &str| server.ask(&format!("GET /api/segment/get/{tag}")).body;
    let (invoice, session, order) = (next("invoice"), next("session"), next("order"));
    let trace = server.ask("GET /v1/tags/trace/ids").json()["ids"][0].clone();
    let trace = trace.as_str().unwrap();

    let found = decoded(&line, "invoice", &invoice);
    let expected =
        json!({"id": invoice, "tag": "invoice", "number": "1", "parts": {}, "marks": []});
    assert_eq!(found, expected);
    let found = decoded(&line, "session", &session);
    assert_eq!(
        (&found["parts"]["version"], &found["marks"]),
        (&json!("7"), &json!([]))
    );
    assert_eq!(decoded(&line, "order", &order)["number"], "1");
    let found = decoded(&line, "trace", trace);
    assert_eq!(
        (&found["parts"]["layout"], &found["marks"]),
        (&json!("leaf"), &json!([]))
    );

    assert_eq!(decoded(&line, "session", &invoice), "bad_field");
    assert_eq!(decoded(&line, "invoice", &session), "bad_field");
    assert_eq!(decoded(&line, "order", "SO-1"), "bad_field");
    assert_eq!(decoded(&line, "nobody", "1"), "unknown_tag");
    assert_eq!(decoded(&line, " x", "1"), "bad_tag");
}

#[test]
fn texts_without_a_tag_are_read_as_every_family_that_fits() {
    let line = Line::new();
    let check = |id: &str, names: &[&str]| {
        let found = readings(&line, id);
        let found: Vec<&str> = found
            .iter()
            .map(|found| found["name"].as_str().unwrap())
            .collect();
        assert_eq!(found[..names.len()], *names, "{id}");
    };
    check("507f1f77bcf86cd799439011", &["objectid-old", "objectid"]);
    check("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", &["uuid7"]);
    check("prefix_01h455vb4pex5vsknk084sn02q", &["typeid"]);
    check("1169786042799259000", &["leaf"]);
    // Beyond the server's layout: what else it may be.
    check("18446744073709551615", &["discord", "tsid"]);
    let request = DecodeTextRequest {
        text: "order".into(),
        tag: String::new(),
    };
    let nothing = line.run(line.ids().decode_text(request)).unwrap();
    assert!(nothing.into_inner().readings.is_empty());
    assert_eq!(
        resp(&line.server, &["ID.DECODE", "order"])["error"],
        "bad_field"
    );
}

/// Guards the marks of snowflake ids: a time in the future, and a worker id without a row, as long
/// as the rows were read after that time.
#[test]
fn impossible_snowflake_ids_are_marked_over_every_protocol() {
    let line = Line::to(with_snowflakes(Config::default()));
    create(&line.server, &json!({"tag": "trace", "kind": "snowflake"}));
    let now_ms = i64::try_from(SystemClock::new().wall().as_millis()).unwrap();
    let id = |after_ms: i64, worker: u32| {
        let fields = Fields {
            tick: Layout::LEAF.tick_of(now_ms + after_ms).unwrap(),
            worker: WorkerId::new(worker),
            sequence: 0,
            shard: 0,
        };
        Layout::LEAF.compose(fields).get()
    };
    let own = line.server.service.worker_status().unwrap().lease.unwrap();
    let own = own.worker.get();
    let other = own ^ 512;
    for (id, marks) in [
        (id(-HOUR_MS, own), json!([])),
        (id(HOUR_MS, own), json!([FUTURE])),
        (id(-HOUR_MS, other), json!([UNKNOWN])),
        // Another server may have claimed it since the rows were read.
        (id(0, other), json!([])),
        (id(HOUR_MS, other), json!([FUTURE])),
    ] {
        assert_eq!(
            decoded(&line, "trace", &id.to_string())["marks"],
            marks,
            "{id}"
        );
        let found = readings(&line, &id.to_string());
        let leaf = found.iter().find(|found| found["name"] == "leaf").unwrap();
        assert_eq!(leaf["marks"], marks, "{id}");
        let number = line
            .server
            .ask(&format!("GET /v1/decode/{id}?layout=leaf"))
            .json();
        assert_eq!(number["marks"], marks, "{id}");
        let request = DecodeRequest {
            id,
            layout: String::new(),
        };
        let number = line.run(line.ids().decode(request)).unwrap().into_inner();
        assert_eq!(json!(number.marks), marks, "{id}");
    }
    let unknown = id(-HOUR_MS, other).to_string();
    let found = readings(&line, &unknown);
    let at = |name: &str| found.iter().position(|found| found["name"] == name);
    assert!(
        at("twitter") < at("leaf"),
        "a marked reading comes later: {found:?}"
    );
}

/// Guards the parts and marks of texts that a template wrote: the first moment of a date, the
/// worker id, and what is impossible about either. A text that was just issued has no mark.
#[test]
fn dates_and_worker_ids_in_texts_are_told_and_marked_over_every_protocol() {
    let line = Line::to(with_snowflakes(Config::default()));
    let server = &line.server;
    let bill = "{zone Asia/Shanghai}B{date %Y%m%d}-{worker width=4}-{number}";
    create(server, &json!({"tag": "bill", "format": bill}));
    let daily = "{date %Y%m%d}-{number width=6 restart=day}";
    create(server, &json!({"tag": "daily", "format": daily}));
    let own = server.service.worker_status().unwrap().lease.unwrap();
    let (own, other) = (own.worker.get(), own.worker.get() ^ 512);

    for tag in ["bill", "daily"] {
        let issued = server.ask(&format!("GET /api/segment/get/{tag}")).body;
        let found = decoded(&line, tag, &issued);
        assert_eq!(found["marks"], json!([]), "{issued}");
    }
    let found = decoded(&line, "bill", &format!("B20260105-{own:04}-77"));
    assert_eq!(found["time"], "2026-01-04T16:00:00Z");
    assert_eq!(found["parts"], json!({"worker": own.to_string()}));
    assert_eq!(
        (&found["number"], &found["marks"]),
        (&json!("77"), &json!([]))
    );
    for (text, marks) in [
        (format!("B20990105-{own:04}-77"), json!([FUTURE])),
        (format!("B20260105-{other:04}-77"), json!([UNKNOWN])),
        (format!("B20990105-{other:04}-77"), json!([FUTURE])),
    ] {
        assert_eq!(decoded(&line, "bill", &text)["marks"], marks, "{text}");
    }
    let found = decoded(&line, "daily", "20990105-000001");
    assert_eq!(found["marks"], json!([FUTURE]));
    assert_eq!(found["time"], "2099-01-05T00:00:00Z");
    assert_eq!(
        found["parts"],
        json!({"period": "20990105", "counter": "1"})
    );
    assert_eq!(decoded(&line, "daily", "20990230-000001"), "bad_field");
}

/// Guards that `/v1/decode`, which needs no token, tells nobody which worker ids there are.
#[test]
fn worker_ids_are_checked_for_callers_with_a_token_only() {
    let server = with_snowflakes(Config {
        tokens: vec![TokenSpec::new("shop", "secret of the shop")],
        ..Config::default()
    });
    let own = server.service.worker_status().unwrap().lease.unwrap();
    let now_ms = i64::try_from(SystemClock::new().wall().as_millis()).unwrap();
    let fields = Fields {
        tick: Layout::LEAF.tick_of(now_ms - HOUR_MS).unwrap(),
        worker: WorkerId::new(own.worker.get() ^ 512),
        sequence: 0,
        shard: 0,
    };
    let id = Layout::LEAF.compose(fields);
    let found = server.ask(&format!("GET /v1/decode/{id}")).json();
    assert_eq!(found["marks"], json!([]));
}
