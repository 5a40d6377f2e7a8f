//! Guards `leafid.v1.Ids`, call by call, and each error with its details.

use std::sync::Arc;

use leafid_server::Config;
use tonic::Code;

use super::v1::{DecodeRequest, NextManyRequest, NextRequest, ReserveRangeRequest};
use super::{Line, check_status};
use crate::test_server::{Moody, TestServer};

#[test]
fn ids_come_one_by_one_by_the_batch_and_by_the_run() {
    let line = Line::new();
    assert_eq!(line.next("order").unwrap(), 1);
    assert_eq!(line.next("order").unwrap(), 2);
    let many = |count| {
        let request = NextManyRequest {
            tag: "order".into(),
            count,
            ..NextManyRequest::default()
        };
        let answered = line.run(line.ids().next_many(request));
        answered.map(|answer| answer.into_inner().ids)
    };
    assert_eq!(many(3).unwrap(), [3, 4, 5]);
    assert_eq!(many(0).unwrap(), [6], "no count is one id");
    let batch = many(10_000).unwrap();
    assert_eq!(batch.len(), 10_000);
    assert!(batch.is_sorted_by(|a, b| a < b) && batch[0] > 6);
    check_status(
        &many(10_001).unwrap_err(),
        Code::InvalidArgument,
        "BAD_COUNT",
        Some("count"),
    );

    let range = |length| {
        let request = ReserveRangeRequest {
            tag: "order".into(),
            length,
        };
        line.run(line.ids().reserve_range(request))
    };
    let run = range(1000).unwrap().into_inner();
    assert!(run.first > *batch.last().unwrap());
    assert_eq!((run.last - run.first + 1, run.length), (1000, 1000));
    assert!(line.next("order").unwrap() > 6);
    for length in [0, 10_000_001] {
        let status = range(length).unwrap_err();
        check_status(&status, Code::InvalidArgument, "BAD_COUNT", Some("length"));
    }
}

#[test]
fn an_invalid_tag_is_distinguished_from_a_missing_one() {
    let config = Config {
        create_tags: Some(false),
        ..Config::default()
    };
    let line = Line::to(TestServer::with(&config, leafid_server::Limits::default()));
    let status = line.next("nobody").unwrap_err();
    check_status(&status, Code::NotFound, "UNKNOWN_TAG", None);
    assert!(status.message().contains("\"nobody\""), "{status:?}");
    let long = "x".repeat(129);
    for bad in ["", " a", "a\n", long.as_str()] {
        let status = line.next(bad).unwrap_err();
        check_status(&status, Code::InvalidArgument, "BAD_TAG", Some("tag"));
    }
}

#[test]
fn an_exhausted_tag_is_permanent_and_a_failing_store_is_transient() {
    let store = Moody::with_tag("order");
    let line = Line::to(TestServer::on_store(
        Config::default(),
        Arc::clone(&store) as Arc<_>,
    ));
    line.server.wait_until_ready();
    store.go(true);
    let status = line.next("order").unwrap_err();
    check_status(&status, Code::Unavailable, "STORE_UNAVAILABLE", None);

    let line = Line::new();
    let body = r#"{"tag":"small","limit":"3"}"#;
    assert_eq!(line.server.ask_with("POST /v1/tags", body).status, 201);
    for id in 1..=3 {
        assert_eq!(line.next("small").unwrap(), id);
    }
    let status = line.next("small").unwrap_err();
    check_status(&status, Code::FailedPrecondition, "LIMIT_REACHED", None);
}

#[test]
fn what_is_off_and_what_a_tag_lacks_are_reported() {
    let config = Config {
        segment: false,
        ..Config::default()
    };
    let server = TestServer::on_store(config, Moody::with_tag("order"));
    let line = Line::to(server);
    let status = line.next("order").unwrap_err();
    check_status(&status, Code::Unimplemented, "MODE_OFF", None);

    let line = Line::new();
    let body = r#"{"tag":"flake","kind":"snowflake"}"#;
    assert_eq!(line.server.ask_with("POST /v1/tags", body).status, 201);
    let request = ReserveRangeRequest {
        tag: "flake".into(),
        length: 10,
    };
    let status = line.run(line.ids().reserve_range(request)).unwrap_err();
    check_status(&status, Code::FailedPrecondition, "SNOWFLAKE_TAG", None);
    let status = line.next("flake").unwrap_err();
    check_status(&status, Code::Unimplemented, "MODE_OFF", None);
}

#[test]
fn a_snowflake_id_comes_apart() {
    let line = Line::new();
    let decode = |id, layout: &str| {
        let layout = layout.to_owned();
        let answered = line.run(line.ids().decode(DecodeRequest { id, layout }));
        answered.map(tonic::Response::into_inner)
    };
    let parts = decode(1_169_786_042_799_259_000, "").unwrap();
    let time = parts.time.unwrap();
    assert_eq!((time.seconds, time.nanos), (1_567_733_700, 834_000_000));
    assert_eq!((parts.worker_id, parts.sequence), (39, 3448));
    assert_eq!(parts.tick, 278_898_726_177);
    assert_eq!(
        (parts.data_center, parts.worker_in_data_center),
        (None, None)
    );
    let parts = decode(1_169_786_042_799_259_000, "twitter").unwrap();
    assert_eq!(
        (parts.data_center, parts.worker_in_data_center),
        (Some(1), Some(7))
    );
    assert_eq!(parts.layout, "twitter");

    let status = decode(1, "leef").unwrap_err();
    check_status(&status, Code::InvalidArgument, "BAD_FIELD", Some("layout"));
    let status = decode(u64::MAX, "leaf").unwrap_err();
    check_status(&status, Code::InvalidArgument, "BAD_FIELD", Some("id"));
}

/// Guards that an answer is that of the call, on a connection with many at once.
#[test]
fn calls_at_once_get_ids_of_their_own() {
    let line = Line::new();
    let mut ids = line.run(async {
        let calls = (0..500).map(|_| {
            let mut client = line.ids();
            async move {
                let request = NextRequest {
                    tag: "order".into(),
                    ..NextRequest::default()
                };
                client.next(request).await.unwrap().into_inner().id
            }
        });
        futures_util::future::join_all(calls).await
    });
    ids.sort_unstable();
    assert_eq!(ids, (1..=500).collect::<Vec<u64>>());
    let counted = super::counted(&line.server);
    let key = ("leafid.v1.Ids/Next".to_owned(), "OK".to_owned());
    assert_eq!(counted[&key], 500, "{counted:?}");
}
