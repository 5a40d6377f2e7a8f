//! Guards that all front ends lead to one service: a table of requests, each sent over every front
//! end, gives ids of one sequence, and the same errors.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

use leafid::store::{MemoryJournal, MemoryLeaseStore, MemoryStore};
use leafid::{RegistryStage, WorkerChoice};
use leafid_server::{Caller, Config, Limits, QuotaScope, Workers};
use tokio::runtime::Runtime;
use tonic::Status;
use tonic_types::StatusExt as _;

use crate::grpc::Line;
use crate::grpc::v1::{NextManyRequest, NextRequest, ReserveRangeRequest};
use crate::test_server::{TestServer, eventually};

/// The request.
#[derive(Debug, Clone, Copy)]
enum Ask {
    One,
    Many(u64),
    Run(u64),
}

/// The ids, or the code of the error in lower case.
type Answer = Result<Vec<u64>, String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http,
    Resp,
    Grpc,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Http, Protocol::Resp, Protocol::Grpc];

fn ask(line: &Line, protocol: Protocol, ask: Ask, tag: &str) -> Answer {
    match protocol {
        Protocol::Http => http(&line.server, ask, tag),
        Protocol::Resp => resp(&line.server, ask, tag),
        Protocol::Grpc => grpc(line, ask, tag),
    }
}

fn http(server: &TestServer, ask: Ask, tag: &str) -> Answer {
    let encoded: String = tag.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("POST /v1/tags/{encoded}");
    let reply = match ask {
        Ask::One => server.ask(&format!("{path}/ids")),
        Ask::Many(count) => {
            server.ask_with(&format!("{path}/ids"), &format!("{{\"count\":{count}}}"))
        }
        Ask::Run(length) => server.ask_with(
            &format!("{path}/ranges"),
            &format!("{{\"length\":{length}}}"),
        ),
    };
    let body = reply.json();
    let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<u64>().unwrap();
    if reply.status != 200 {
        return Err(body["code"].as_str().unwrap().to_owned());
    }
    Ok(match ask {
        Ask::Run(_) => (number(&body["first"])..=number(&body["last"])).collect(),
        _ => body["ids"].as_array().unwrap().iter().map(number).collect(),
    })
}

fn resp(server: &TestServer, ask: Ask, tag: &str) -> Answer {
    let stream = TcpStream::connect(server.addresses.resp.unwrap()).unwrap();
    let words = match ask {
        Ask::One => vec!["INCR".to_owned(), tag.to_owned()],
        Ask::Many(count) => vec!["ID.NEXT".to_owned(), tag.to_owned(), count.to_string()],
        Ask::Run(length) => vec!["ID.RANGE".to_owned(), tag.to_owned(), length.to_string()],
    };
    let mut command = format!("*{}\r\n", words.len());
    for word in words {
        command += &format!("${}\r\n{word}\r\n", word.len());
    }
    (&stream).write_all(command.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let mut bulk = || {
        let _length = lines.next().unwrap();
        lines.next().unwrap().parse::<u64>().unwrap()
    };
    match first.split_at(1) {
        (":", id) => Ok(vec![id.parse().unwrap()]),
        ("*", count) => {
            let ids: Vec<u64> = (0..count.parse().unwrap()).map(|_: u64| bulk()).collect();
            Ok(match ask {
                Ask::Run(_) => (ids[0]..=ids[1]).collect(),
                _ => ids,
            })
        }
        ("-", "NOAUTH Authentication required.") => Err("no_token".to_owned()),
        ("-", text) => Err(text.split(' ').nth(1).unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}

fn grpc(line: &Line, ask: Ask, tag: &str) -> Answer {
    let tag = tag.to_owned();
    let answered: Result<Vec<u64>, Status> = line.run(async {
        let mut ids = line.ids();
        Ok(match ask {
            Ask::One => vec![
                ids.next(NextRequest {
                    tag,
                    ..NextRequest::default()
                })
                .await?
                .into_inner()
                .id,
            ],
            Ask::Many(count) => {
                // A field that is not there is 0, and means one id.
                let count = u32::try_from(count).unwrap();
                let request = NextManyRequest {
                    tag,
                    count,
                    ..NextManyRequest::default()
                };
                ids.next_many(request).await?.into_inner().ids
            }
            Ask::Run(length) => {
                let request = ReserveRangeRequest { tag, length };
                let run = ids.reserve_range(request).await?.into_inner();
                (run.first..=run.last).collect()
            }
        })
    });
    answered.map_err(|status| {
        let info = status.get_error_details().error_info().cloned();
        info.unwrap().reason.to_ascii_lowercase()
    })
}

/// Guards that ids of a tag are one sequence without a gap, whichever front end they come through.
#[test]
fn ids_of_all_protocols_are_one_sequence() {
    let line = Line::new();
    let mut expected = 1;
    for round in 0..3 {
        for protocol in PROTOCOLS {
            for asked in [
                Ask::One,
                Ask::Many(5),
                Ask::Run(7),
                Ask::Run(1),
                Ask::Many(1),
            ] {
                let ids = ask(&line, protocol, asked, "order");
                let count = match asked {
                    Ask::One => 1,
                    Ask::Many(count) | Ask::Run(count) => count,
                };
                let wanted = (expected..expected + count).collect::<Vec<_>>();
                assert_eq!(ids, Ok(wanted), "{protocol:?} {asked:?} in round {round}");
                expected += count;
            }
        }
    }
}

/// Sends a request over every front end, and compares the errors.
#[track_caller]
fn check(line: &Line, asked: Ask, tag: &str, code: &str) {
    for protocol in PROTOCOLS {
        let answer = ask(line, protocol, asked, tag);
        assert_eq!(
            answer,
            Err(code.to_owned()),
            "{protocol:?} {asked:?} {tag:?}"
        );
    }
}

/// Guards that every error of the service has one code on every front end.
#[test]
fn errors_of_all_protocols_are_the_same() {
    let line = Line::to(server());
    check(&line, Ask::One, "nobody", "unknown_tag");
    check(&line, Ask::Many(3), "nobody", "unknown_tag");
    check(&line, Ask::Run(3), "nobody", "unknown_tag");
    check(&line, Ask::One, &"x".repeat(129), "bad_tag");
    check(&line, Ask::One, "line\nfeed", "bad_tag");
    check(&line, Ask::Many(10_001), "order", "bad_count");
    check(&line, Ask::Run(0), "order", "bad_count");
    check(&line, Ask::Run(10_000_001), "order", "bad_count");
    check(&line, Ask::Run(3), "trace", "snowflake_tag");
    // Three ids are all that this tag has.
    for protocol in PROTOCOLS {
        assert_eq!(
            ask(&line, protocol, Ask::One, "small").map(|ids| ids.len()),
            Ok(1)
        );
    }
    check(&line, Ask::One, "small", "limit_reached");
    check(&line, Ask::Many(2), "small", "limit_reached");
    let quota = |tag: &str, per_second| {
        let scope = QuotaScope::Tag(tag.parse().unwrap());
        let service = &line.server.service;
        service
            .set_quota(&Caller::anonymous(), &scope, per_second)
            .unwrap();
    };
    quota("order", Some(0));
    check(&line, Ask::One, "order", "over_quota");
    check(&line, Ask::Many(3), "order", "over_quota");
    check(&line, Ask::Run(3), "order", "over_quota");
    quota("order", None);
    for protocol in PROTOCOLS {
        let ids = ask(&line, protocol, Ask::Many(2), "trace").unwrap();
        assert!(ids.len() == 2 && ids.is_sorted(), "{protocol:?}: {ids:?}");
    }
}

/// Guards that requests that may not wait are refused alike.
#[test]
fn calls_that_would_wait_are_refused_alike() {
    let limits = Limits {
        requests_max: 0,
        ..Limits::default()
    };
    let line = Line::to(TestServer::with(&Config::default(), limits));
    for (protocol, tag) in PROTOCOLS.into_iter().zip(["a", "b", "c"]) {
        // The first id of a tag waits for its segment.
        let answer = ask(&line, protocol, Ask::One, tag);
        assert_eq!(answer, Err("overloaded".to_owned()), "{protocol:?}");
    }
}

/// Guards that a server without segments answers alike.
#[test]
fn a_kind_that_is_off_is_off_everywhere() {
    let config = Config {
        segment: false,
        ..Config::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let line = Line::to(TestServer::on(
        Runtime::new().unwrap(),
        &Config {
            data_dir: folder.path().to_owned(),
            allow_weak_store: true,
            ..config
        },
        Limits::default(),
        Arc::new(MemoryStore::new()),
    ));
    check(&line, Ask::One, "order", "mode_off");
    check(&line, Ask::Many(2), "order", "mode_off");
    check(&line, Ask::Run(2), "order", "mode_off");
}

/// With the tags `order` and `small` of segments, and `trace` of snowflake ids.
fn server() -> TestServer {
    let config = Config {
        allow_weak_store: true,
        create_tags: Some(false),
        ..Config::default()
    };
    let workers = Workers {
        leases: Some(Arc::new(MemoryLeaseStore::new())),
        journal: Arc::new(MemoryJournal::new()),
        choice: WorkerChoice::Any,
        preferred: None,
        worker_node: None,
    };
    let store = Arc::new(MemoryStore::new());
    let runtime = Runtime::new().unwrap();
    let server =
        TestServer::with_workers(runtime, &config, Limits::default(), store, Some(workers));
    server.wait_until_ready();
    eventually("holding", || {
        let status = server.service.worker_status();
        status.is_some_and(|status| matches!(status.stage, RegistryStage::Holding { .. }))
    });
    for body in [
        r#"{"tag":"order"}"#,
        r#"{"tag":"small","limit":"3"}"#,
        r#"{"tag":"trace","kind":"snowflake"}"#,
    ] {
        assert_eq!(server.ask_with("POST /v1/tags", body).status, 201, "{body}");
    }
    server
}
