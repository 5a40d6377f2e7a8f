//! Guards what each token allows over gRPC, and that a full server keeps admin slots.

use std::time::Duration;

use leafid_server::{Config, Limits, TagPattern, TokenScope, TokenSpec};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::v1::ids_client::IdsClient;
use super::v1::{
    CreateTagRequest, ListTagsRequest, NextManyRequest, NextRequest, StreamRequest, Tag,
};
use super::{Line, Wire, address, check_status, connect};
use crate::test_server::TestServer;

/// A server whose callers need one of the tokens "ids" and "admin", the former with a quota.
fn guarded() -> Line {
    let mut ids = TokenSpec::new("shop", "ids");
    ids.ids_per_second = Some(10);
    let mut admin = TokenSpec::new("chief", "admin");
    admin.is_admin = true;
    let config = Config {
        tokens: vec![ids, admin],
        ..Config::default()
    };
    Line::to(TestServer::with(&config, Limits::default()))
}

fn with<T>(authorization: &str, message: T) -> Request<T> {
    let mut metadata = MetadataMap::new();
    if !authorization.is_empty() {
        metadata.insert("authorization", authorization.parse().unwrap());
    }
    Request::from_parts(metadata, tonic::Extensions::default(), message)
}

#[test]
fn a_token_is_asked_for_and_says_what_its_holder_may_do() {
    let line = guarded();
    let next = |authorization: &str| {
        let request = NextRequest {
            tag: "order".into(),
            ..NextRequest::default()
        };
        line.run(line.ids().next(with(authorization, request)))
    };
    // Only an admin's token creates a tag on first use.
    let status = next("Bearer ids").unwrap_err();
    check_status(&status, Code::PermissionDenied, "NOT_ADMIN", None);
    assert_eq!(next("Bearer admin").unwrap().into_inner().id, 1);
    assert_eq!(next("Bearer ids").unwrap().into_inner().id, 2);
    assert_eq!(next("bearer  ids").unwrap().into_inner().id, 3);
    let status = next("").unwrap_err();
    check_status(&status, Code::Unauthenticated, "NO_TOKEN", None);
    for wrong in ["Bearer idx", "Basic ids", "ids"] {
        let status = next(wrong).unwrap_err();
        check_status(&status, Code::Unauthenticated, "BAD_TOKEN", None);
        assert!(!status.message().contains("id"), "{status:?}");
    }
    // A stream that would stay open without a message is refused at its beginning.
    let silent = with("", tokio_stream::pending::<StreamRequest>());
    let status = line.run(line.ids().stream(silent)).unwrap_err();
    check_status(&status, Code::Unauthenticated, "NO_TOKEN", None);
    let metrics = line.server.ask("GET /metrics").body;
    for (reason, count) in [("missing", 2), ("unknown", 3)] {
        let row = format!("leafid_token_refusals_total{{reason=\"{reason}\"}} {count}");
        assert!(metrics.lines().any(|line| line == row), "{row}");
    }
    let create = |authorization: &str| {
        let tag = Tag {
            name: "user".into(),
            ..Tag::default()
        };
        let request = CreateTagRequest {
            tag: Some(tag),
            start: 0,
        };
        line.run(line.tags().create_tag(with(authorization, request)))
    };
    let status = create("Bearer ids").unwrap_err();
    check_status(&status, Code::PermissionDenied, "NOT_ADMIN", None);
    create("Bearer admin").unwrap();
    let health = HealthCheckRequest::default();
    let mut client = HealthClient::new(line.channel.clone());
    line.run(client.check(health))
        .expect("whoever looks after it has no token");
}

#[test]
fn a_quota_that_is_used_up_says_when_to_come_back() {
    let line = guarded();
    let status = line.run(async {
        let tag = "order".into();
        let first = with(
            "Bearer admin",
            NextRequest {
                tag,
                ..NextRequest::default()
            },
        );
        line.ids().next(first).await.unwrap();
        loop {
            let request = NextManyRequest {
                tag: "order".into(),
                count: 100,
                ..NextManyRequest::default()
            };
            if let Err(status) = line.ids().next_many(with("Bearer ids", request)).await {
                break status;
            }
        }
    });
    check_status(&status, Code::ResourceExhausted, "OVER_QUOTA", None);
}

#[test]
fn a_full_server_lets_operators_in_and_sends_callers_for_ids_away() {
    let limits = Limits {
        connections_max: 1,
        operator_connections_max: 2,
        ..Limits::default()
    };
    let line = Line::to(TestServer::with(&Config::default(), limits));
    assert_eq!(line.next("order").unwrap(), 1);
    line.run(async {
        let second = connect(&line.server).await;
        let mut health = HealthClient::new(second.clone());
        health.check(HealthCheckRequest::default()).await.unwrap();
        let mut tags = super::v1::tags_client::TagsClient::new(second.clone());
        tags.list_tags(ListTagsRequest::default()).await.unwrap();
        let mut ids = IdsClient::new(second);
        let request = NextRequest {
            tag: "order".into(),
            ..NextRequest::default()
        };
        let status = ids.next(request).await.unwrap_err();
        check_status(&status, Code::ResourceExhausted, "OVERLOADED", None);
    });
}

/// Guards that an idle connection is closed: silently if it never sent anything, with a GOAWAY
/// between calls, and not while a call is open.
#[test]
fn an_idle_connection_is_closed_gracefully() {
    let limits = Limits {
        first_head_max: Duration::from_millis(50),
        idle_max: Duration::from_millis(50),
        ..Limits::default()
    };
    let line = Line::to(TestServer::with(&Config::default(), limits));
    line.run(async {
        let mut silent = TcpStream::connect(address(&line.server)).await.unwrap();
        let mut heard = Vec::new();
        silent.read_to_end(&mut heard).await.unwrap();

        let mut watching = Wire::new(&line.server).await;
        let mut watched = HealthClient::new(watching.clone());
        let watched = watched.watch(HealthCheckRequest::default()).await.unwrap();
        let mut between = Wire::new(&line.server).await;
        let request = NextRequest {
            tag: "order".into(),
            ..NextRequest::default()
        };
        IdsClient::new(between.clone())
            .next(request.clone())
            .await
            .unwrap();
        between.closed().await;
        assert!(IdsClient::new(between).next(request.clone()).await.is_err());
        IdsClient::new(watching.clone())
            .next(request)
            .await
            .unwrap();
        drop(watched);
        watching.closed().await;
    });
}

/// Guards that the permissions of a token apply over gRPC too.
#[test]
fn a_token_is_good_for_its_tags_and_its_scope() {
    let mut shop = TokenSpec::new("shop", "ids");
    shop.tags = vec![TagPattern::new("pay-*")];
    let mut looker = TokenSpec::new("looker", "look");
    looker.scope = TokenScope::Read;
    let mut admin = TokenSpec::new("chief", "admin");
    admin.is_admin = true;
    let config = Config {
        tokens: vec![shop, looker, admin],
        ..Config::default()
    };
    let line = Line::to(TestServer::with(&config, Limits::default()));
    let next = |authorization: &str, tag: &str| {
        let request = NextRequest {
            tag: tag.into(),
            ..NextRequest::default()
        };
        line.run(line.ids().next(with(authorization, request)))
    };
    assert_eq!(next("Bearer admin", "pay-in").unwrap().into_inner().id, 1);
    assert_eq!(next("Bearer ids", "pay-in").unwrap().into_inner().id, 2);
    for (authorization, tag) in [("Bearer ids", "order"), ("Bearer look", "pay-in")] {
        let status = next(authorization, tag).unwrap_err();
        check_status(&status, Code::PermissionDenied, "NOT_ALLOWED", None);
    }
    let list = |authorization: &str| {
        let request = with(authorization, ListTagsRequest::default());
        let listed = line.run(line.tags().list_tags(request));
        listed.unwrap().into_inner().tags.len()
    };
    assert_eq!((list("Bearer ids"), list("Bearer look")), (1, 1));
}
