//! Guards the answers to malformed calls: too large, of another type, at an unknown path, not gRPC
//! at all.

use leafid_server::{Config, Limits};
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::codegen::http;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request};

use super::v1::{DecodeRequest, NextRequest, NextResponse, StreamRequest, StreamResponse};
use super::{Line, check_status, counted};
use crate::test_server::TestServer;

fn request(tag: &str) -> Request<NextRequest> {
    Request::new(NextRequest {
        tag: tag.into(),
        ..NextRequest::default()
    })
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
        ..StreamRequest::default()
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
    assert_eq!(counted(&line.server)[&key], 1);
}

#[test]
fn a_compressed_message_is_refused() {
    let line = Line::new();
    let mut request = Request::new(NextRequest {
        tag: "order".to_owned(),
        ..NextRequest::default()
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
fn a_path_without_a_method_is_unimplemented() {
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
    assert_eq!(counted(&line.server)[&key], 3);
}

/// Guards what curl and browsers see, over HTTP/2.
#[test]
fn what_is_not_grpc_is_answered_in_http() {
    let line = Line::new();
    let check = |method: &str, kind: &str, status: u16| {
        let request = http::Request::builder()
            .method(method)
            .uri(format!(
                "http://{}/leafid.v1.Ids/Next",
                super::address(&line.server)
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

/// Guards that errors are reported in a way that clients understand, and do not quote so much of
/// the input that clients fail on it.
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
