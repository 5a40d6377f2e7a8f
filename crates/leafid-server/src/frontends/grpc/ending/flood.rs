//! An answer that always has more to send.

use http_body_util::BodyExt as _;
use hyper::HeaderMap;

use super::*;
use crate::config::Limits;
use crate::frontends::grpc::GrpcCounts;
use crate::frontends::grpc::Method;
use crate::frontends::grpc::traffic::Traffic;
use crate::service::health::Phase;

/// More frames than anybody would send after the end.
const FRAMES: usize = 10_000;

struct Endless;

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"answer")))))
    }
}

/// The metadata that an endless answer ends with.
async fn end_of(headers: &HeaderMap, is_draining: bool) -> Option<HeaderMap> {
    let (service, _driver) = Service::in_memory(Vec::new(), Limits::default());
    if is_draining {
        service.health().enter(Phase::Draining);
    }
    let traffic = Arc::new(Traffic::for_tests());
    let call = Call::new(Method::Stream, Arc::new(GrpcCounts::default()));
    let deadline = Deadline::of(headers).ok()?;
    let service = Arc::new(service);
    let mut body = Ending::new(Body::new(Endless), call, deadline, traffic, &service);
    for _ in 0..FRAMES {
        let frame = body.frame().await?.ok()?;
        if let Ok(trailers) = frame.into_trailers() {
            let after = body.frame().await;
            assert!(after.is_none(), "more comes behind the end");
            return Some(trailers);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Guards: a caller who asks all the time hears of the shutdown, and of his deadline.
#[tokio::test]
async fn a_busy_stream_ends() {
    let trailers = end_of(&HeaderMap::new(), true).await;
    assert_eq!(
        code_of(&trailers.expect("it goes on")),
        tonic::Code::Unavailable
    );
    let mut headers = HeaderMap::new();
    headers.insert("grpc-timeout", "1m".parse().unwrap());
    let trailers = end_of(&headers, false).await;
    let code = code_of(&trailers.expect("it goes on"));
    assert_eq!(code, tonic::Code::DeadlineExceeded);
}
