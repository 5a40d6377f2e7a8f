//! Guards how long a call may take: its caller's deadline, the server's own limits, and a caller
//! that gives up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::ready;
use futures_util::stream::{once, pending};
use http_body_util::StreamBody;
use hyper::body::Frame;
use leafid_server::{Config, Limits};
use tonic::body::Body;
use tonic::codegen::{Service as _, http};
use tonic::{Code, Request, Status};

use super::v1::ids_client::IdsClient;
use super::v1::{NextRequest, StreamRequest};
use super::{Line, Wire, check_status, counted};
use crate::test_server::{Moody, TestServer, eventually};

fn request(tag: &str) -> Request<NextRequest> {
    Request::new(NextRequest {
        tag: tag.into(),
        ..NextRequest::default()
    })
}

/// A store that never answers.
fn silent_line(config: Config) -> Line {
    let store = Moody::with_tag("order");
    let line = Line::to(TestServer::on_store(config, Arc::clone(&store) as Arc<_>));
    line.server.wait_until_ready();
    store.sleep();
    line
}

#[test]
fn a_deadline_that_has_passed_starts_nothing() {
    let line = Line::new();
    let mut late = request("order");
    late.metadata_mut()
        .insert("grpc-timeout", "0n".parse().unwrap());
    let mut ids = IdsClient::new(line.run(Wire::new(&line.server)));
    let status = line.run(ids.next(late)).unwrap_err();
    check_status(&status, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", None);
    assert_eq!(
        line.next("order").unwrap(),
        1,
        "no id was taken by the late call"
    );
    for bad in ["1", "1x", "123456789S", "-1S"] {
        let mut call = request("order");
        call.metadata_mut()
            .insert("grpc-timeout", bad.parse().unwrap());
        let status = line.run(ids.next(call)).unwrap_err();
        check_status(
            &status,
            Code::InvalidArgument,
            "BAD_FIELD",
            Some("grpc-timeout"),
        );
    }
}

#[test]
fn a_call_waits_as_long_as_its_caller_does() {
    let config = Config {
        wait_max: Duration::from_secs(3600),
        ..Config::default()
    };
    let line = silent_line(config);
    let mut call = request("order");
    call.metadata_mut()
        .insert("grpc-timeout", "50m".parse().unwrap());
    let wire = line.run(Wire::new(&line.server));
    let mut ids = IdsClient::new(wire);
    let status = line.run(ids.next(call)).unwrap_err();
    check_status(&status, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", None);
    // The same on a stream, whose first answer does not come.
    let asked = StreamRequest {
        tag: "order".into(),
        count: 1,
        ..StreamRequest::default()
    };
    let mut call = Request::new(futures_util::stream::iter([asked]));
    call.metadata_mut()
        .insert("grpc-timeout", "50m".parse().unwrap());
    let status = line.run(async {
        let mut answers = ids.stream(call).await?.into_inner();
        answers.message().await
    });
    check_status(
        &status.unwrap_err(),
        Code::DeadlineExceeded,
        "DEADLINE_EXCEEDED",
        None,
    );
}

#[test]
fn a_call_that_its_caller_gives_up_is_counted_as_cancelled() {
    let config = Config {
        wait_max: Duration::from_secs(3600),
        ..Config::default()
    };
    let line = silent_line(config);
    line.run(async {
        let mut ids = line.ids();
        let call = ids.next(request("order"));
        let _given_up = tokio::time::timeout(Duration::from_millis(50), call).await;
    });
    let key = ("leafid.v1.Ids/Next".to_owned(), "CANCELLED".to_owned());
    eventually("the end of the call", || {
        counted(&line.server).get(&key) == Some(&1)
    });
}

/// Guards that a slow caller is not told that the store is slow.
#[test]
fn a_message_that_does_not_come_times_out() {
    let limits = Limits {
        body_max: Duration::from_millis(50),
        ..Limits::default()
    };
    let line = Line::to(TestServer::with(&Config::default(), limits));
    let mut wire = line.run(Wire::new(&line.server));
    let whole = b"\0\0\0\0\x07\x0a\x05order";
    // Half of it; and all of it without the end of the call.
    for sent in [&whole[..7], whole] {
        let answer = line.run(async {
            let frame = Ok::<_, Status>(Frame::data(Bytes::from_static(sent)));
            let frames = once(ready(frame)).chain(pending());
            let request = http::Request::post("/leafid.v1.Ids/Next")
                .header("content-type", "application/grpc");
            let request = request.body(Body::new(StreamBody::new(frames))).unwrap();
            wire.call(request).await.unwrap()
        });
        let status = Status::from_header_map(answer.headers()).expect("a status");
        check_status(&status, Code::DeadlineExceeded, "TIMEOUT", None);
    }
    // The messages of a stream may take any time.
    let status = line.run(async {
        let mut call = Request::new(pending::<StreamRequest>());
        let timeout = "300m".parse().unwrap();
        call.metadata_mut().insert("grpc-timeout", timeout);
        let answered = IdsClient::new(wire).stream(call).await;
        answered.unwrap().into_inner().message().await.unwrap_err()
    });
    check_status(&status, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", None);
    assert_eq!(line.next("order").unwrap(), 1, "no id was taken");
}
