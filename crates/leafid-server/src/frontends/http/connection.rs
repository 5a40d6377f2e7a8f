//! One connection: served by hyper, watched for silence, and told to finish at shutdown.

use std::convert::Infallible;
use std::future::{Future, Ready, pending, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::{BoxFuture, Either};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::body::AnswerBody;
use super::handler::Handler;
use super::traced::Traced;
use crate::config::Limits;
use crate::net::front_end::{ConnectionInfo, Io, Slot};
use crate::net::graceful_close::end;
use crate::net::preface::Preface;
use crate::net::socket::Socket;

/// How connections are served: HTTP/1.1, and HTTP/2 for those who open with its preface.
pub(super) struct Versions {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl Versions {
    /// hyper's own time-out for headers is off: it would set a timer for each request. The watch
    /// below has one timer for a connection, and sees more.
    pub(super) fn new(limits: &Limits) -> Self {
        let mut http1 = http1::Builder::new();
        http1
            .header_read_timeout(None)
            .max_headers(limits.headers_max)
            .max_buf_size(limits.head_len_max);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(limits.head_len_max).unwrap_or(u32::MAX))
            .max_concurrent_streams(limits.streams_max)
            .initial_stream_window_size(limits.stream_window_len)
            .initial_connection_window_size(limits.connection_window_len)
            .max_send_buf_size(limits.stream_window_len as usize);
        Self { http1, http2 }
    }
}

/// What all requests of a connection share.
struct Connection {
    handler: Arc<Handler>,
    info: ConnectionInfo,
    is_http2: bool,
    /// Until when the first request has to be there.
    head_due: Instant,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Whether the peer shall be told to begin nothing more here; `leave` wakes.
    is_leaving: AtomicBool,
    leave: Notify,
}

/// Why a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The server shuts down, or the peer shall go elsewhere.
    Asked,
    /// Nothing goes on.
    Silent,
    /// Its peer does not read.
    Unread,
}

/// An answer: most are there at once, and cost no state to wait in.
type Answering = Either<Ready<Answered>, BoxFuture<'static, Answered>>;
type Answered = Result<Response<AnswerBody>, Infallible>;

/// Relaxed, and no addition: the watch only asks whether anything moved, which two requests of
/// HTTP/2 that are counted as one do not hide.
fn count_up(count: &AtomicU64) {
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(1), Ordering::Relaxed);
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(
    handler: &Arc<Handler>,
    versions: &Versions,
    mut stream: S,
    info: ConnectionInfo,
) {
    let head_due = Instant::now() + handler.context.service.limits().first_head_max;
    let Some(preface) = Preface::of_new(&mut stream, head_due, &info.shutdown).await else {
        return;
    };
    let is_http2 = preface.is_http2();
    let socket = Socket::new(stream, preface, Arc::clone(&info.backlog));
    let connection = Arc::new(Connection {
        handler: Arc::clone(handler),
        info,
        is_http2,
        head_due,
        begun: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        is_leaving: AtomicBool::new(false),
        leave: Notify::new(),
    });
    let io = TokioIo::new(socket.for_hyper());
    let requests = service_fn(|request| connection.answer(request));
    let is_over = if is_http2 {
        // In a box of its own: the others shall not take its memory.
        let mut hyper = Box::pin(versions.http2.serve_connection(io, requests));
        let finish = http2::Connection::graceful_shutdown;
        connection.drive(&socket, hyper.as_mut(), finish).await
    } else {
        let hyper = pin!(versions.http1.serve_connection(io, requests));
        let finish = http1::Connection::graceful_shutdown;
        connection.drive(&socket, hyper, finish).await
    };
    if is_over {
        connection.close(socket).await;
    }
}

impl Connection {
    fn answer(self: &Arc<Self>, mut request: Request<Incoming>) -> Answering {
        count_up(&self.begun);
        let begun = Instant::now();
        let is_leaving = self.handler.context.service.health().is_leaving();
        if is_leaving {
            self.leave();
        }
        let context = &self.handler.context;
        let traced = context.tracer.as_ref();
        let traced = traced.and_then(|tracer| Traced::begin(tracer, context, &request, &self.info));
        let answer = match self.info.slot {
            Slot::Normal => self.handler.answer_from_memory(&mut request),
            Slot::Admin => self.refuse(&request),
        };
        if let Some(answer) = answer {
            if let Some(traced) = traced {
                traced.end(answer.status());
            }
            return Either::Left(ready(Ok(self.answered(answer, begun, is_leaving))));
        }
        let connection = Arc::clone(self);
        if let Some(traced) = traced {
            return Either::Right(Box::pin(async move {
                let ConnectionInfo { peer, backlog, .. } = &connection.info;
                let answering = connection.handler.answer(request, *peer, backlog);
                let answer = traced.answered(answering).await;
                Ok(connection.answered(answer, begun, is_leaving))
            }));
        }
        Either::Right(Box::pin(async move {
            let ConnectionInfo { peer, backlog, .. } = &connection.info;
            let answer = connection.handler.answer(request, *peer, backlog).await;
            Ok(connection.answered(answer, begun, is_leaving))
        }))
    }

    /// Serves it until its end; `false`: it was cut, because its peer was silent or does not read.
    /// `finish` lets it end once what began has been answered.
    async fn drive<S: Io, C: Future>(
        &self,
        socket: &Socket<S>,
        mut hyper: Pin<&mut C>,
        finish: impl FnOnce(Pin<&mut C>),
    ) -> bool {
        match socket.serve_until(self.end(), hyper.as_mut()).await {
            None => true,
            Some(End::Unread) => false,
            Some(end) => {
                self.leave();
                finish(hyper.as_mut());
                let cut = socket.serve_until(self.overstayed(end), hyper).await;
                cut.is_none_or(|end| end == End::Asked)
            }
        }
    }

    /// Is ready when the connection has to end.
    async fn end(&self) -> End {
        tokio::select! {
            () = self.info.shutdown.asked() => End::Asked,
            () = self.leave.notified() => End::Asked,
            () = self.server_leaving(), if self.is_http2 => End::Asked,
            end = self.silent() => end,
            () = self.info.backlog.cut_off() => End::Unread,
        }
    }

    /// Is ready when a connection that was told to finish, because of `end`, is to be cut; or
    /// closed, with [`End::Asked`].
    async fn overstayed(&self, end: End) -> End {
        let limits = self.limits();
        let silent = async {
            if end != End::Silent && self.silent().await == End::Unread {
                return;
            }
            let before = self.seen();
            sleep(limits.leave_max).await;
            if self.seen() != before {
                // A request crossed our word, and the connection ends with its answer.
                sleep(limits.answer_max).await;
            }
        };
        tokio::select! {
            () = self.slot_wanted() => End::Asked,
            () = silent => End::Silent,
            () = self.info.backlog.cut_off() => End::Unread,
        }
    }

    /// Is ready when an admin slot is to be given up, at its peer's rest: before the first request
    /// over HTTP/1.1, or while nothing goes on over HTTP/2, where the peer may never say that it
    /// was told.
    async fn slot_wanted(&self) {
        self.info.shutdown.asked().await;
        let (begun, ended) = self.seen();
        let waits = begun == if self.is_http2 { ended } else { 0 };
        if !waits || self.info.slot == Slot::Normal {
            pending::<()>().await;
        }
    }

    /// Is ready once the server is about to shut down, if there were requests. Without any, the
    /// peer hears of it with its first answer.
    async fn server_leaving(&self) {
        self.info.shutdown.leaving().await;
        if self.seen().0 == 0 {
            pending::<()>().await;
        }
    }

    /// Is ready once no request began and none ended for too long, or what was answered is not
    /// read.
    async fn silent(&self) -> End {
        sleep_until(self.head_due).await;
        let limits = self.limits();
        let look = || (self.seen(), self.info.backlog.progress());
        let mut before = look();
        if before.0.0 == 0 {
            return End::Silent;
        }
        loop {
            sleep(limits.idle_max).await;
            let now = look();
            if now.1.is_too_slow(&before.1, limits.read_len_min) {
                return End::Unread;
            }
            if now.0 == before.0 {
                return End::Silent;
            }
            before = now;
        }
    }

    /// Ends the connection so that its peer can still read the last answers. An admin slot is not
    /// kept for a peer that does not hang up.
    async fn close<S: Io>(&self, socket: Socket<S>) {
        let Some((stream, rest)) = socket.into_parts() else {
            return;
        };
        let is_hurried = self.is_leaving.load(Ordering::Relaxed);
        let ending = end(stream, &rest, is_hurried);
        if self.info.slot == Slot::Normal {
            return ending.await;
        }
        tokio::select! {
            biased;
            () = ending => {}
            () = self.info.shutdown.asked() => {}
        }
    }

    // Relaxed, in all: all of it happens in the connection's task.

    /// Begun and ended requests.
    fn seen(&self) -> (u64, u64) {
        let begun = self.begun.load(Ordering::Relaxed);
        (begun, self.ended.load(Ordering::Relaxed))
    }

    /// Has the peer told to begin nothing more here.
    fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.leave.notify_one();
    }

    /// Counts an answer. A server that is leaving tells the peer to send its next request over
    /// another connection; over HTTP/2, where answers cannot say that, hyper drops the header.
    fn answered(
        &self,
        mut answer: Response<AnswerBody>,
        begun: Instant,
        is_leaving: bool,
    ) -> Response<AnswerBody> {
        count_up(&self.ended);
        let latency = &self.handler.context.counts.latency;
        latency.record(begun.elapsed(), 1);
        if is_leaving {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
        }
        answer
    }

    /// Refuses a request for ids, and makes the connection give up its slot.
    fn refuse<B>(&self, request: &Request<B>) -> Option<Response<AnswerBody>> {
        let answer = self.handler.refuse(request)?;
        self.leave();
        Some(answer)
    }

    fn limits(&self) -> &Limits {
        self.handler.context.service.limits()
    }
}
