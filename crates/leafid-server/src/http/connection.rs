//! One connection: served by hyper, watched for silence, and told to finish at shutdown.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;

use super::Door;
use super::body::AnswerBody;
use super::pipe::Pipe;
use crate::bell::Belled;
use crate::limits::Limits;
use crate::listen::{Io, Place};
use crate::shutdown::Shutdown;

/// How connections are served: HTTP/1.1, and HTTP/2 for those who open with its preface.
///
/// hyper's own time-out for headers is off: it would set a timer for each request. The watch
/// below has one timer for a connection, and sees more.
pub(super) fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_headers(limits.headers_max)
        .max_buf_size(limits.head_len_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(limits.head_len_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.streams_max);
    builder
}

/// One connection's requests.
#[derive(Clone)]
struct Conversation(Arc<Shared>);

/// What all requests of a connection share.
struct Shared {
    door: Arc<Door>,
    place: Place,
    begun: AtomicU64,
    ended: AtomicU64,
}

/// An answer: most are there at once, and cost no state to wait in.
enum Answering {
    Now(Option<Response<AnswerBody>>),
    Later(Pin<Box<dyn Future<Output = Response<AnswerBody>> + Send>>),
}

impl Service<Request<Incoming>> for Conversation {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, mut request: Request<Incoming>) -> Answering {
        let shared = &*self.0;
        // Relaxed: the watch only asks whether anything moved.
        shared.begun.fetch_add(1, Ordering::Relaxed);
        if shared.place == Place::Full
            && let Some(answer) = shared.door.at_once(&mut request)
        {
            shared.ended.fetch_add(1, Ordering::Relaxed);
            return Answering::Now(Some(answer));
        }
        let shared = Arc::clone(&self.0);
        Answering::Later(Box::pin(async move {
            let answer = shared.door.answer(shared.place, request).await;
            shared.ended.fetch_add(1, Ordering::Relaxed);
            answer
        }))
    }
}

impl Future for Answering {
    type Output = Result<Response<AnswerBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            // Nobody polls an answer again that was there.
            Self::Now(answer) => answer
                .take()
                .map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer))),
            Self::Later(answering) => answering.as_mut().poll(context).map(Ok),
        }
    }
}

impl Shared {
    /// Begun and ended requests.
    fn seen(&self) -> (u64, u64) {
        let begun = self.begun.load(Ordering::Relaxed);
        (begun, self.ended.load(Ordering::Relaxed))
    }
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(door: Arc<Door>, stream: S, place: Place, shutdown: Shutdown) {
    let limits = *door.front.service.limits();
    let shared = Arc::new(Shared {
        door: Arc::clone(&door),
        place,
        begun: AtomicU64::new(0),
        ended: AtomicU64::new(0),
    });
    let pipe = Pipe::new(stream);
    let io = TokioIo::new(pipe.clone());
    let conversation = Conversation(Arc::clone(&shared));
    let mut connection = pin!(door.builder.serve_connection(io, conversation));
    let mut asked = Belled::new(shutdown.asked());
    let mut silent = Belled::new(silent(&shared, &limits));
    poll_fn(|context| {
        if asked.poll(context).is_ready() {
            pipe.hurry();
            connection.as_mut().graceful_shutdown();
        }
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        // hyper's turn is over: what it wrote leaves together. If it cannot, nobody listens.
        if let Poll::Ready(Err(_)) = pipe.poll_send(context) {
            return Poll::Ready(());
        }
        silent.poll(context)
    })
    .await;
}

/// Is ready once the connection has been silent for too long.
async fn silent(shared: &Shared, limits: &Limits) {
    tokio::time::sleep(limits.first_head_max).await;
    let mut before = shared.seen();
    if before.0 == 0 {
        return;
    }
    loop {
        tokio::time::sleep(limits.idle_max).await;
        let now = shared.seen();
        if now == before {
            return;
        }
        before = now;
    }
}
