//! Guards that every change is recorded: who made it, from where, and the values before and after;
//! and that a change remains although it cannot be recorded.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::Tag;
use leafid::store::{StoreError, StoreResult, TagSpec};
use leafid_server::{Caller, Config, Limits, TokenSpec};
use leafid_stores::{AuditRecord, AuditStore};
use serde_json::Value;
use tonic::Request;

use crate::grpc::Line;
use crate::grpc::v1::{self, CreateTagRequest, DeleteTagRequest, UpdateTagRequest};
use crate::test_server::{Moody, TestServer, eventually};

/// Records in memory, which can be broken.
#[derive(Default)]
pub(crate) struct Ledger {
    records: Mutex<Vec<AuditRecord>>,
    is_broken: AtomicBool,
    attempts: Mutex<usize>,
}

impl Ledger {
    fn check(&self) -> Result<(), StoreError> {
        match self.is_broken.load(Ordering::SeqCst) {
            true => Err(StoreError::unavailable("cannot record", "broken")),
            false => Ok(()),
        }
    }
}

impl AuditStore for Ledger {
    fn append<'a>(&'a self, record: &'a AuditRecord) -> StoreResult<'a, ()> {
        Box::pin(async {
            *self.attempts.lock().unwrap() += 1;
            self.check()?;
            self.records.lock().unwrap().push(record.clone());
            Ok(())
        })
    }

    fn recent(&self, count: u32) -> StoreResult<'_, Vec<AuditRecord>> {
        Box::pin(async move {
            self.check()?;
            let records = self.records.lock().unwrap();
            let newest = records.iter().rev().take(count as usize);
            Ok(newest.cloned().collect())
        })
    }
}

/// A server with the tokens "chief", an admin, and "shop".
fn guarded() -> Config {
    let mut chief = TokenSpec::new("chief", "secret of the chief");
    chief.is_admin = true;
    Config {
        tokens: vec![chief, TokenSpec::new("shop", "secret of the shop")],
        ..Config::default()
    }
}

/// Sends `METHOD PATH` with a token, and a forged origin.
fn ask(server: &TestServer, token: &str, request: &str, body: &str) -> (u16, Value) {
    let (method, path) = request.split_once(' ').unwrap();
    let reply = server.raw(&format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
         authorization: Bearer secret of the {token}\r\nx-forwarded-for: 203.0.113.9\r\n\
         forwarded: for=203.0.113.9\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    ));
    let reply = crate::test_server::Reply::parse(&reply);
    let body = serde_json::from_str(&reply.body).unwrap_or_default();
    (reply.status, body)
}

/// The changes, the oldest first.
fn changes(server: &TestServer) -> Vec<Value> {
    let (status, list) = ask(server, "chief", "GET /v1/audit?limit=1000", "");
    assert_eq!(status, 200, "{list}");
    let mut changes = list["changes"].as_array().unwrap().clone();
    changes.reverse();
    changes
}

/// Compares action, subject, before and after of the last changes, each on a line.
#[track_caller]
fn check_last(server: &TestServer, expected: &[[&str; 4]]) {
    let changes = changes(server);
    let last = &changes[changes.len() - expected.len()..];
    for (change, expected) in last.iter().zip(expected) {
        let found = ["action", "subject", "before", "after"];
        let found = found.map(|key| change[key].as_str().unwrap_or_default());
        assert_eq!(&found, expected, "{change}");
        assert_eq!(change["token"], "chief");
        let address = change["address"].as_str().unwrap();
        assert!(address.starts_with("127.0.0.1:"), "{change}");
        assert_eq!(change["server"], server.address.to_string());
    }
}

#[test]
fn changes_through_http_are_recorded() {
    let server = TestServer::with(&guarded(), Limits::default());
    let check = |request: &str, body: &str, status: u16| {
        let answer = ask(&server, "chief", request, body);
        assert_eq!(answer.0, status, "{request}: {}", answer.1);
    };
    check("POST /v1/tags", r#"{"tag":"a","step":10}"#, 201);
    check("PATCH /v1/tags/a", r#"{"step":20,"next":"500"}"#, 200);
    check("DELETE /v1/tags/a", "", 204);
    check("PUT /v1/quotas/tags/a", r#"{"ids_per_second":7}"#, 200);
    check("DELETE /v1/quotas/tags/a", "", 204);
    let of =
        |max_id: u32, step: u32| format!("max_id={max_id} step={step} policy=default limit=int64");
    check_last(
        &server,
        &[
            ["tag created", "a", "", &of(1, 10)],
            ["tag changed", "a", &of(1, 10), &of(1, 20)],
            ["tag raised", "a", &of(1, 20), &of(500, 20)],
            ["tag deleted", "a", &of(500, 20), ""],
            ["quota changed", "tag \"a\"", "", "ids_per_second=7"],
            ["quota changed", "tag \"a\"", "ids_per_second=7", ""],
        ],
    );
    // What changed nothing is not there, nor what was refused.
    let before = changes(&server).len();
    check("DELETE /v1/tags/a", "", 404);
    check("PATCH /v1/tags/a", r#"{"step":0}"#, 400);
    check("DELETE /v1/quotas/tags/a", "", 204);
    check("POST /v1/tags", r#"{"tag":"same","step":10}"#, 201);
    check("PATCH /v1/tags/same", r#"{"step":10}"#, 200);
    let refused = ask(&server, "shop", "POST /v1/tags", r#"{"tag":"b"}"#);
    assert_eq!(refused.0, 403, "{}", refused.1);
    assert_eq!(changes(&server).len(), before + 1);
    for (token, status) in [("shop", 403), ("nobody", 401)] {
        assert_eq!(ask(&server, token, "GET /v1/audit", "").0, status);
    }
    assert_eq!(ask(&server, "chief", "GET /v1/audit?limit=0", "").0, 400);
    let (_, list) = ask(&server, "chief", "GET /v1/audit?limit=1", "");
    assert_eq!(list["changes"][0]["action"], "tag created");
    assert_eq!(list["changes"].as_array().unwrap().len(), 1);
}

#[test]
fn changes_through_grpc_are_recorded() {
    fn by_chief<T>(message: T) -> Request<T> {
        let mut request = Request::new(message);
        let token = "Bearer secret of the chief".parse().unwrap();
        request.metadata_mut().insert("authorization", token);
        request
    }
    let line = Line::to(TestServer::with(&guarded(), Limits::default()));
    let tag = v1::Tag {
        name: "g".into(),
        ..v1::Tag::default()
    };
    let create = CreateTagRequest {
        tag: Some(tag.clone()),
        start: 5,
    };
    line.run(line.tags().create_tag(by_chief(create))).unwrap();
    let raise = UpdateTagRequest {
        tag: Some(tag),
        update_mask: None,
        next: 90,
    };
    line.run(line.tags().update_tag(by_chief(raise))).unwrap();
    let delete = DeleteTagRequest { name: "g".into() };
    line.run(line.tags().delete_tag(by_chief(delete))).unwrap();
    let of = |max_id: u32| format!("max_id={max_id} step=1000 policy=default limit=int64");
    check_last(
        &line.server,
        &[
            ["tag created", "g", "", &of(5)],
            ["tag raised", "g", &of(5), &of(90)],
            ["tag deleted", "g", &of(90), ""],
        ],
    );
}

#[test]
fn a_change_stands_although_it_cannot_be_recorded() {
    let server = TestServer::new();
    server.ledger.is_broken.store(true, Ordering::SeqCst);
    let reply = server.ask_with("POST /v1/tags", r#"{"tag":"a"}"#);
    assert_eq!(reply.status, 201, "{}", reply.body);
    eventually("an attempt to record", || {
        *server.ledger.attempts.lock().unwrap() == 1
    });
    server.check_problem("GET /v1/audit", "", 503, "store_unavailable");
    server.ledger.is_broken.store(false, Ordering::SeqCst);
    assert_eq!(server.ask("DELETE /v1/tags/a").status, 204);
    let changes = server.ask("GET /v1/audit").json();
    assert_eq!(changes["changes"][0]["action"], "tag deleted");
    assert!(changes["changes"][0]["token"].is_null(), "{changes}");
}

/// Guards that a change cannot be hidden by closing the connection before the store has answered.
#[test]
fn a_change_whose_caller_went_is_recorded() {
    let store = Arc::new(Moody::default());
    let server = TestServer::on_store(Config::default(), Arc::clone(&store) as _);
    store.sleep();
    let spec = TagSpec::new(Tag::new("a").unwrap());
    let caller = Caller::anonymous();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let call = pin!(server.service.create_tag(&caller, &spec));
        let given_up = tokio::time::timeout(Duration::from_millis(1), call).await;
        assert!(given_up.is_err());
    });
    let recorded = runtime
        .block_on(server.service.changes(&caller, 10))
        .unwrap();
    let AuditRecord {
        action,
        subject,
        after,
        ..
    } = &recorded[0];
    assert_eq!([action.as_str(), subject], ["tag created", "a"]);
    assert_eq!(after, "unknown: the call was given up");
}
