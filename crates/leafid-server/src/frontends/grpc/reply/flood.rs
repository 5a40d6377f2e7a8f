//! An answer that always has more to send.

use http_body_util::BodyExt as _;

use super::*;
use crate::config::Limits;
use crate::frontends::grpc::deadline::Deadline;
use crate::net::shutdown::Shutdown;
use crate::net::unread::Unread;
use crate::service::Service;
use crate::service::health::Phase;

/// More frames than a correct stream sends after the end.
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
    let deadline = Deadline::of(headers).ok()?;
    let stream_end = StreamEnd::new(deadline, &Arc::new(service), &Shutdown::new(), None);
    let call = Call::begin(&Arc::default());
    let backlog = Unread::new(&Limits::default()).connection();
    let answer = Response::new(Body::new(Endless));
    let mut body = Reply::of(answer, call, Some(stream_end), &backlog).into_body();
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

/// Guards: a caller that never stops asking hears of the shutdown, and of its deadline.
#[tokio::test]
async fn a_busy_stream_ends() {
    let trailers = end_of(&HeaderMap::new(), true).await;
    let code = code_of(&trailers.expect("it continues"));
    assert_eq!(code, Some(tonic::Code::Unavailable));
    let mut headers = HeaderMap::new();
    headers.insert("grpc-timeout", "1m".parse().unwrap());
    let trailers = end_of(&headers, false).await;
    let code = code_of(&trailers.expect("it continues"));
    assert_eq!(code, Some(tonic::Code::DeadlineExceeded));
}
