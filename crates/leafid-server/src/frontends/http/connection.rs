//! One connection: served by hyper, watched for silence, and told to finish at shutdown.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::{Instant, sleep, sleep_until};

use super::body::AnswerBody;
use super::handler::Handler;
use crate::config::Limits;
use crate::net::front_end::{ConnectionInfo, Peer, Slot};
use crate::net::graceful_close::end;
use crate::net::io::Io;
use crate::net::poll_on_wake::PollOnWake;
use crate::net::preface::Preface;
use crate::net::shutdown::Shutdown;
use crate::net::socket::Socket;
use crate::net::unread::Backlog;

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

/// One connection's requests.
#[derive(Clone)]
struct Conversation(Arc<Shared>);

/// What all requests of a connection share.
struct Shared {
    handler: Arc<Handler>,
    slot: Slot,
    peer: Peer,
    backlog: Arc<Backlog>,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Whether the peer shall be told to begin nothing more here.
    is_leaving: AtomicBool,
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
        count_up(&shared.begun);
        let is_leaving = shared.handler.context.service.health().is_leaving();
        if is_leaving {
            shared.leave();
        }
        let answer = match shared.slot {
            Slot::Normal => shared.handler.answer_from_memory(&mut request),
            Slot::Admin => shared.refuse(&request),
        };
        if let Some(mut answer) = answer {
            count_up(&shared.ended);
            if is_leaving {
                say_goodbye(&mut answer);
            }
            return Answering::Now(Some(answer));
        }
        let shared = Arc::clone(&self.0);
        Answering::Later(Box::pin(async move {
            let mut answer = shared
                .handler
                .answer(request, shared.peer, &shared.backlog)
                .await;
            count_up(&shared.ended);
            if is_leaving {
                say_goodbye(&mut answer);
            }
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

/// Relaxed, and no addition: the watch only asks whether anything moved, which two requests of
/// HTTP/2 that are counted as one do not hide.
fn count_up(count: &AtomicU64) {
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(1), Ordering::Relaxed);
}

/// Tells the peer to send its next request over another connection. Over HTTP/2, where answers
/// cannot say that, hyper drops the header.
fn say_goodbye<B>(answer: &mut Response<B>) {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
}

impl Shared {
    /// Begun and ended requests.
    fn seen(&self) -> (u64, u64) {
        let begun = self.begun.load(Ordering::Relaxed);
        (begun, self.ended.load(Ordering::Relaxed))
    }

    /// Refuses who came for ids, and makes the connection give up its slot.
    fn refuse<B>(&self, request: &Request<B>) -> Option<Response<AnswerBody>> {
        let answer = self.handler.refuse(request)?;
        self.leave();
        Some(answer)
    }

    // Relaxed, in all: all of it happens in the connection's task.

    fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
    }

    fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(
    handler: &Arc<Handler>,
    versions: &Versions,
    mut stream: S,
    connection: ConnectionInfo,
) {
    let ConnectionInfo {
        slot,
        peer,
        shutdown,
        backlog,
    } = connection;
    let limits = *handler.context.service.limits();
    let head_due = Instant::now() + limits.first_head_max;
    let Some(preface) = Preface::of_new(&mut stream, head_due, &shutdown).await else {
        return;
    };
    let is_http2 = preface.is_http2();
    let shared = Arc::new(Shared {
        handler: Arc::clone(handler),
        slot,
        peer,
        backlog: Arc::clone(&backlog),
        begun: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        is_leaving: AtomicBool::new(false),
    });
    let silent = async {
        tokio::select! {
            () = silent(&shared, &limits, head_due) => {}
            () = leaving(&shared, &shutdown), if is_http2 => {}
        }
    };
    let mut around = Around {
        shared: &shared,
        socket: Socket::new(stream, preface, backlog),
        is_http2,
        asked: PollOnWake::new(shutdown.asked()),
        silent: PollOnWake::new(silent),
        is_told: false,
    };
    let io = TokioIo::new(around.socket.for_hyper());
    let conversation = Conversation(Arc::clone(&shared));
    let is_over = if is_http2 {
        let connection = versions.http2.serve_connection(io, conversation);
        // In a box of its own: the others shall not take its memory.
        let mut connection = Box::pin(connection);
        around
            .serve(connection.as_mut(), http2::Connection::graceful_shutdown)
            .await
    } else {
        let connection = versions.http1.serve_connection(io, conversation);
        let connection = pin!(connection);
        around
            .serve(connection, http1::Connection::graceful_shutdown)
            .await
    };
    if is_over {
        around.close().await;
    }
}

/// What a connection listens to beside its peer.
struct Around<'a, S, Asked, Silent> {
    shared: &'a Shared,
    socket: Socket<S>,
    is_http2: bool,
    /// Is ready when the server shuts down.
    asked: PollOnWake<Asked>,
    /// Is ready when the peer was silent for too long, and was told to go.
    silent: PollOnWake<Silent>,
    /// Whether it was told to finish.
    is_told: bool,
}

impl<S, Asked, Silent> Around<'_, S, Asked, Silent>
where
    S: Io,
    Asked: Future<Output = ()>,
    Silent: Future<Output = ()>,
{
    /// Serves it until its end; `false`: it was cut, because its peer was silent. `finish` lets it
    /// end once what began has been answered.
    async fn serve<C: Future>(
        &mut self,
        mut connection: Pin<&mut C>,
        finish: impl Fn(Pin<&mut C>),
    ) -> bool {
        poll_fn(|context| {
            let turn = self.socket.poll_turn(connection.as_mut(), context);
            if turn.is_ready() {
                return Poll::Ready(true);
            }
            // Afterwards: what came in before is answered.
            let silent = self.silent.poll(context).is_ready();
            let is_asked = self.asked.poll(context).is_ready();
            if is_asked || (self.shared.is_leaving() && !self.is_told) {
                self.is_told = true;
                finish(connection.as_mut());
                let turn = self.socket.poll_turn(connection.as_mut(), context);
                if turn.is_ready() || (is_asked && self.gives_up_slot()) {
                    return Poll::Ready(true);
                }
            }
            match silent {
                true => Poll::Ready(false),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Whether a connection that was told to finish does not wait for its peer: in an admin slot,
    /// before the first request over HTTP/1.1, or while nothing goes on over HTTP/2, where a peer
    /// at rest may never say that it has heard.
    fn gives_up_slot(&self) -> bool {
        let (begun, ended) = self.shared.seen();
        let waits = match self.is_http2 {
            true => begun == ended,
            false => begun == 0,
        };
        waits && self.shared.slot == Slot::Admin
    }

    /// Ends the connection so that its peer can still read the last answers. An admin slot is not
    /// kept for a peer that does not hang up.
    async fn close(mut self) {
        let is_hurried = self.asked.is_over() || self.shared.is_leaving();
        let Some((stream, rest)) = self.socket.into_parts() else {
            return;
        };
        let mut ending = pin!(end(stream, &rest, is_hurried));
        poll_fn(|context| {
            let ended = ending.as_mut().poll(context);
            match self.shared.slot == Slot::Admin && self.asked.poll(context).is_ready() {
                true => Poll::Ready(()),
                false => ended,
            }
        })
        .await;
    }
}

/// Is ready once the connection has been silent for too long, and was told to go in vain.
async fn silent(shared: &Shared, limits: &Limits, head_due: Instant) {
    let end = tokio::select! {
        end = rest(shared, limits, head_due) => end,
        () = shared.backlog.cut_off() => End::Unread,
    };
    if end == End::Unread {
        return;
    }
    let before = shared.seen();
    shared.leave();
    sleep(limits.leave_max).await;
    if shared.seen() != before {
        // A request crossed our word, and the connection ends with its answer.
        sleep(limits.answer_max).await;
    }
}

/// Tells a connection of HTTP/2 that has had requests to begin no more, once the server is about to
/// shut down; all others hear of it with their next answer. Never ready.
async fn leaving(shared: &Shared, shutdown: &Shutdown) {
    shutdown.leaving().await;
    if shared.seen().0 > 0 {
        shared.leave();
    }
    pending::<()>().await;
}

/// Why a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing goes on.
    Silent,
    /// Its peer does not read.
    Unread,
}

/// Is ready once no request began and none ended for too long, or what was answered is not read.
async fn rest(shared: &Shared, limits: &Limits, head_due: Instant) -> End {
    sleep_until(head_due).await;
    let look = || (shared.seen(), shared.backlog.progress());
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
