//! Guards how the front end treats calls whatever they ask: deadlines, sizes, paths, what is no gRPC.

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
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Service as _, http};
use tonic::{Code, Request, Status};

use super::v1::ids_client::IdsClient;
use super::v1::{DecodeRequest, NextRequest, NextResponse, StreamRequest, StreamResponse};
use super::{Line, Wire, check_status, counted};
use crate::test_server::{Moody, TestServer, eventually};

fn request(tag: &str) -> Request<NextRequest> {
    Request::new(NextRequest { tag: tag.into() })
}

/// A store that never answers.
fn silent_line(config: Config) -> Line {
    let store = Moody::with_tag("order");
    let line = Line::to(TestServer::on_store(config, Arc::clone(&store) as Arc<_>));
    line.site.wait_until_ready();
    store.sleep();
    line
}

#[test]
fn a_deadline_that_has_passed_starts_nothing() {
    let line = Line::new();
    let mut late = request("order");
    late.metadata_mut()
        .insert("grpc-timeout", "0n".parse().unwrap());
    let mut ids = IdsClient::new(line.run(Wire::new(&line.site)));
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
    let wire = line.run(Wire::new(&line.site));
    let mut ids = IdsClient::new(wire);
    let status = line.run(ids.next(call)).unwrap_err();
    check_status(&status, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", None);
    // Also on a stream, whose first answer does not come.
    let asked = StreamRequest {
        tag: "order".into(),
        count: 1,
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
        counted(&line.site).get(&key) == Some(&1)
    });
}

#[test]
fn a_message_too_large_is_refused() {
    let limits = Limits {
        body_len_max: 1000,
        ..Limits::default()
    };
    let line = Line::to(TestServer::with(&Config::default(), limits));
    let large = "x".repeat(2000);
    let status = line.next(&large).unwrap_err();
    check_status(&status, Code::OutOfRange, "TOO_LARGE", None);
    let asked = ["order", &large].map(|tag| StreamRequest {
        tag: tag.into(),
        count: 1,
    });
    let status = line.run(async {
        let requests = futures_util::stream::iter(asked);
        let mut answers = line.ids().stream(requests).await.unwrap().into_inner();
        assert_eq!(answers.message().await.unwrap().unwrap().ids, [1]);
        answers.message().await.unwrap_err()
    });
    check_status(&status, Code::OutOfRange, "TOO_LARGE", None);
    assert_eq!(line.next("order").unwrap(), 2);
    let key = ("leafid.v1.Ids/Stream".to_owned(), "OUT_OF_RANGE".to_owned());
    assert_eq!(counted(&line.site)[&key], 1);
}

/// Guards: a caller who is slow is not told that the store is.
#[test]
fn a_message_that_does_not_come_is_told_so() {
    let limits = Limits {
        body_max: Duration::from_millis(50),
        ..Limits::default()
    };
    let line = Line::to(TestServer::with(&Config::default(), limits));
    let mut wire = line.run(Wire::new(&line.site));
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
    // The messages of a stream come when they come.
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

#[test]
fn a_compressed_message_is_refused() {
    let line = Line::new();
    let mut request = Request::new(NextRequest {
        tag: "order".to_owned(),
    });
    let encoding = "gzip".parse().unwrap();
    request.metadata_mut().insert("grpc-encoding", encoding);
    let answered = line.run(async { line.ids().next(request).await });
    check_status(
        &answered.unwrap_err(),
        Code::Unimplemented,
        "COMPRESSED",
        None,
    );
}

#[test]
fn a_message_of_another_type_is_refused() {
    let line = Line::new();
    // Has a number where those of the methods have a tag.
    let message = DecodeRequest {
        id: 1,
        layout: String::new(),
    };
    let codec = tonic_prost::ProstCodec::<DecodeRequest, StreamResponse>::default;
    let (unary, stream) = line.run(async {
        let mut client = tonic::client::Grpc::new(line.channel.clone());
        client.ready().await.unwrap();
        let path = PathAndQuery::from_static("/leafid.v1.Ids/Next");
        let request = Request::new(message.clone());
        let unary = client.unary(request, path, codec()).await.unwrap_err();
        client.ready().await.unwrap();
        let path = PathAndQuery::from_static("/leafid.v1.Ids/Stream");
        let request = Request::new(futures_util::stream::iter([message]));
        let answers = client.streaming(request, path, codec()).await.unwrap();
        (unary, answers.into_inner().message().await.unwrap_err())
    });
    check_status(&unary, Code::Internal, "BAD_MESSAGE", None);
    check_status(&stream, Code::Internal, "BAD_MESSAGE", None);
}

#[test]
fn a_path_without_a_method_is_told() {
    let line = Line::new();
    for path in ["/leafid.v1.Ids/Nxet", "/leafid.v2.Ids/Next", "/"] {
        let status = line.run(async {
            let mut client = tonic::client::Grpc::new(line.channel.clone());
            client.ready().await.unwrap();
            let codec = tonic_prost::ProstCodec::<NextRequest, NextResponse>::default();
            let path = PathAndQuery::from_static(path);
            client
                .unary(request("order"), path, codec)
                .await
                .unwrap_err()
        });
        check_status(&status, Code::Unimplemented, "UNKNOWN_METHOD", None);
    }
    let key = ("(other)".to_owned(), "UNIMPLEMENTED".to_owned());
    assert_eq!(counted(&line.site)[&key], 3);
}

/// Guards what curl and browsers get to see, over HTTP/2.
#[test]
fn what_is_no_grpc_is_told_in_http() {
    let line = Line::new();
    let check = |method: &str, kind: &str, status: u16| {
        let request = http::Request::builder()
            .method(method)
            .uri(format!(
                "http://{}/leafid.v1.Ids/Next",
                super::address(&line.site)
            ))
            .header("content-type", kind)
            .body(Body::empty())
            .unwrap();
        let answer = line.run(async {
            let mut channel = line.channel.clone();
            std::future::poll_fn(|cx| channel.poll_ready(cx))
                .await
                .unwrap();
            channel.call(request).await.unwrap()
        });
        assert_eq!(answer.status(), status, "{method} {kind}");
    };
    check("POST", "application/json", 415);
    check("POST", "application/grpcweb", 415);
    check("POST", "application/grpc+json", 415);
    check("GET", "application/grpc", 405);
    check("POST", "application/grpc+proto", 200);
}

/// Guards that what does not fit is said in a way that clients understand, and that an error does
/// not echo so much that they take the echo for the error.
#[test]
fn what_is_too_long_is_said_in_short() {
    let line = Line::new();
    let mut call = request("order");
    let long = "x".repeat(20_000).parse().unwrap();
    call.metadata_mut().insert("x-long", long);
    let status = line.run(line.ids().next(call)).unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.message().contains("16384"), "{status:?}");
    for layout in ["x".repeat(4000), format!("leaf@{}", "1".repeat(4000))] {
        let call = DecodeRequest { id: 1, layout };
        let status = line.run(line.ids().decode(call)).unwrap_err();
        check_status(&status, Code::InvalidArgument, "BAD_FIELD", Some("layout"));
        assert!(status.message().len() < 200, "{status:?}");
    }
    assert_eq!(line.next("order").unwrap(), 1);
}
