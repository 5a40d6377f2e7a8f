//! Requests over HTTP, the Redis protocol and gRPC with their answers: a list of steps in order, on
//! a new server. The steps of a release are sent again, and what is said then must be said now;
//! answers may say more, and texts for people may change.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use leafid_testbed::install_python;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::{read, releases, to_record};
use crate::clients::clients;
use crate::server_process::Server;

/// Method, path and body.
const HTTP: [&str; 26] = [
    "GET /livez",
    "GET /readyz",
    "GET /api/segment/get/order",
    "GET /api/snowflake/get/order",
    "GET /decodeSnowflakeId?snowflakeId=2124932288889225494",
    "GET /v1/tags/order/ids?count=3",
    "POST /v1/tags/order/ids {\"count\":2}",
    "POST /v1/tags/order/ranges {\"length\":100}",
    "POST /v1/tags {\"tag\":\"small\",\"limit\":\"js53\",\"step\":500,\"description\":\"x\",\
        \"policy\":{\"name\":\"cover\",\"cover_seconds\":900,\"step_max\":5000}}",
    "POST /v1/tags {\"tag\":\"small\"}",
    "POST /v1/tags {\"tag\":\"sale\",\"format\":\"SO-{number width=8}{check luhn}\",\"start\":\"7\"}",
    "POST /v1/tags {\"tag\":\"event\",\"kind\":\"uuid7\"}",
    "POST /v1/tags {\"tag\":\"flake\",\"kind\":\"snowflake\"}",
    "GET /v1/tags/sale/ids?count=2",
    "GET /v1/tags/event/ids",
    "GET /v1/tags/flake/ids",
    "PATCH /v1/tags/small {\"next\":\"5000\",\"policy\":{\"name\":\"fixed\"},\"description\":null}",
    "GET /v1/tags/small",
    "GET /v1/tags?limit=2",
    "DELETE /v1/tags/small",
    "GET /v1/tags/small",
    "GET /v1/decode/2124932288889225494?layout=leaf",
    "GET /v1/decode/SO-000000075?tag=sale",
    "GET /v1/worker",
    "GET /v1/workers",
    "GET /v1/tags/order/ids?count=0",
];
const RESP: [&str; 12] = [
    "PING",
    "INCR order",
    "INCRBY order 10",
    "GET order",
    "ID.NEXT order",
    "ID.NEXT order 3",
    "ID.RANGE order 5",
    "GET unused",
    "INCRBY order 0",
    "DECR order",
    "SET order 1",
    "MULTI\r\nINCR order\r\nEXEC",
];
const GRPC: [&str; 13] = [
    r#"leafid.v1.Ids/Next {"tag":"order"}"#,
    r#"leafid.v1.Ids/NextMany {"tag":"order","count":3}"#,
    r#"leafid.v1.Ids/ReserveRange {"tag":"order","length":10}"#,
    r#"leafid.v1.Ids/Decode {"id":"2124932288889225494","layout":"leaf"}"#,
    r#"leafid.v1.Ids/DecodeText {"text":"2124932288889225494"}"#,
    r#"leafid.v1.Tags/CreateTag {"tag":{"name":"small","step":500,"limit":"1000000"}}"#,
    r#"leafid.v1.Tags/CreateTag {"tag":{"name":"sale","format":"SO-{number width=8}"}}"#,
    r#"leafid.v1.Tags/CreateTag {"tag":{"name":"event","kind":"KIND_FAMILY","family":"uuid7"}}"#,
    r#"leafid.v1.Ids/Next {"tag":"sale"}"#,
    r#"leafid.v1.Tags/UpdateTag {"tag":{"name":"small","step":2000},"update_mask":"step"}"#,
    r#"leafid.v1.Tags/GetTag {"name":"small"}"#,
    r#"leafid.v1.Tags/ListTags {"page_size":2}"#,
    r#"leafid.v1.Tags/DeleteTag {"name":"small"}"#,
];
/// Fields for people, or with a value of its own in each run: only their type is compared.
const FREE: [&str; 12] = [
    "title",
    "detail",
    "next",
    "instance",
    "updated",
    "updateTime",
    "until",
    "left_seconds",
    "clock_offset_seconds",
    "holder",
    "address",
    "readings",
];

/// Records the steps of this version, and repeats those of each release.
fn check(file: &str, steps: &[&str], answer: impl Fn(&[&str]) -> Vec<Value>) {
    let transcript = |steps: &[&str]| {
        let answers = answer(steps);
        let pairs = steps.iter().zip(answers);
        pairs
            .map(|(step, answer)| json!([step, answer]))
            .collect::<Vec<_>>()
    };
    if let Some(folder) = to_record() {
        let lines = transcript(steps);
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(folder.join(file), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    for release in releases() {
        let then: Vec<Value> = serde_json::from_str(&read(&release.join(file))).unwrap();
        let steps: Vec<&str> = then.iter().map(|pair| pair[0].as_str().unwrap()).collect();
        for (then, now) in then.iter().zip(transcript(&steps)) {
            let wrong = difference("", &then[1], &now[1]);
            let step = &then[0];
            assert_eq!(
                wrong,
                None,
                "{}: {step}\nthen {then}\nnow {now}",
                release.display()
            );
        }
    }
}

/// Where `now` does not say what `then` says.
fn difference(place: &str, then: &Value, now: &Value) -> Option<String> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => then.iter().find_map(|(name, then)| {
            let place = format!("{place}.{name}");
            match now.get(name) {
                None => Some(place),
                // What may be null then may have a value now.
                Some(now) if FREE.contains(&name.as_str()) => {
                    let is_alike = kind(then) == kind(now) || then.is_null() || now.is_null();
                    (!is_alike).then_some(place)
                }
                Some(now) => difference(&place, then, now),
            }
        }),
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            let mut pairs = then.iter().zip(now);
            pairs.find_map(|(then, now)| difference(&format!("{place}[]"), then, now))
        }
        (Value::String(then), Value::String(now)) if drawn(then) && drawn(now) => None,
        _ => (then != now).then(|| place.to_owned()),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Whether it is an id that is another one each time: a snowflake id or a UUID.
fn drawn(text: &str) -> bool {
    let is_number = text.len() >= 17 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (text.len() == 36 && text.matches('-').count() == 4)
}

pub(super) fn check_http() {
    check("http.json", &HTTP, |steps| {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        // The worker id is there before it is asked for.
        crate::server_process::until("worker id", || {
            (server.json("/v1/worker")["stage"] == "holding").then_some(())
        });
        let answers = steps
            .iter()
            .map(|step| http_answer(&server, step))
            .collect();
        server.stop();
        answers
    });
}

/// Status, type and body.
fn http_answer(server: &Server, step: &str) -> Value {
    let mut words = step.splitn(3, ' ');
    let [method, path, body] = [0; 3].map(|_| words.next().unwrap_or_default());
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url))
        .header("content-type", "application/json");
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build()
        .into();
    let answer = match body {
        "" => agent.run(request.body(()).unwrap()),
        body => agent.run(request.body(body.to_owned()).unwrap()),
    };
    let mut answer = answer.unwrap_or_else(|error| panic!("{step}: {error}"));
    let status = answer.status().as_u16();
    let media = answer.headers().get("content-type").cloned();
    let media = media.map(|media| media.to_str().unwrap().to_owned());
    let text = answer.body_mut().read_to_string().unwrap();
    let body = serde_json::from_str(&text)
        .ok()
        .filter(|body: &Value| body.is_object());
    json!({ "status": status, "type": media, "body": body.unwrap_or(text.into()) })
}

pub(super) fn check_resp() {
    check("resp.json", &RESP, |steps| {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        let answers = resp_answers(&server, steps);
        server.stop();
        let first_word = |answer: String| match answer.starts_with('-') {
            // The rest is for people.
            true => answer.split(' ').next().unwrap().to_owned(),
            false => answer,
        };
        answers
            .into_iter()
            .map(|answer| first_word(answer).into())
            .collect()
    });
}

/// The bytes of each answer, with its line ends as `\r\n`.
pub(super) fn resp_answers(server: &Server, commands: &[&str]) -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port("redis"))).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let answer = |command: &&str| {
        // The echo ends the answer.
        let sent = format!("{command}\r\nECHO that-was-it\r\n");
        stream.write_all(sent.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let text = String::from_utf8_lossy(&bytes);
            if let Some(answer) = text.strip_suffix("$11\r\nthat-was-it\r\n") {
                return answer.escape_debug().to_string();
            }
            let len = stream.read(&mut chunk).unwrap();
            assert!(len > 0, "{command}: the connection ended after {text:?}");
            bytes.extend_from_slice(&chunk[..len]);
        }
    };
    commands.iter().map(answer).collect()
}

pub(super) fn check_grpc() {
    check("grpc.json", &GRPC, |steps| {
        let folder = tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        let python = clients().installed("grpcurl", &[], install_python);
        let program = clients().source("grpcurl").join("grpcurl.py");
        let address = format!("localhost:{}", server.port("grpc"));
        let call = |step: &&str| {
            let (method, request) = step.split_once(' ').unwrap();
            let mut command = Command::new(python.join("bin/python"));
            command
                .arg(&program)
                .args(["-plaintext", "-d", request, &address, method]);
            let answer = leafid_testbed::run(&mut command);
            serde_json::from_str(&answer).unwrap()
        };
        let answers = steps.iter().map(call).collect();
        server.stop();
        answers
    });
}

#[test]
fn what_an_answer_no_longer_says_is_noticed() {
    let then = json!({ "ids": ["1"], "title": "a", "max": null });
    let same = |now: Value| difference("", &then, &now).is_none();
    assert!(same(
        json!({ "ids": ["1"], "title": "b", "max": null, "new": 1 })
    ));
    assert!(!same(json!({ "ids": ["2"], "title": "a", "max": null })));
    assert!(!same(
        json!({ "ids": ["1", "2"], "title": "a", "max": null })
    ));
    assert!(!same(json!({ "ids": ["1"], "title": 1, "max": null })));
    assert!(!same(json!({ "ids": ["1"], "title": "a" })));
}
