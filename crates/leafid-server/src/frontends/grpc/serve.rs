//! Serves one connection: hyper speaks HTTP/2 and asks for signs of life, and the connection is
//! closed when `connection.rs` says so.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::Instant;

use super::connection::{Close, Connection};
use super::executor::CallExecutor;
use super::handler::Handler;
use crate::config::Limits;
use crate::net::front_end::ConnectionInfo;
use crate::net::io::Io;
use crate::net::poll_on_wake::PollOnWake;
use crate::net::preface::Preface;
use crate::net::socket::Socket;

/// How many times as much metadata is read as a call may have, so that a call with too much is
/// refused as gRPC does. What is beyond it h2 refuses, which clients take for UNKNOWN.
const METADATA_READ_FACTOR: usize = 4;

fn builder(limits: &Limits) -> Builder<CallExecutor> {
    let head_len_max = METADATA_READ_FACTOR * limits.head_len_max;
    let mut builder = Builder::new(CallExecutor);
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(head_len_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.streams_max)
        .initial_stream_window_size(limits.stream_window_len)
        .initial_connection_window_size(limits.connection_window_len)
        .max_send_buf_size(limits.stream_window_len as usize)
        .keep_alive_interval(Some(limits.ping_interval))
        .keep_alive_timeout(limits.ping_max);
    builder
}

/// Serves a connection until its peer, its being idle or the shutdown ends it.
pub(super) async fn serve<S: Io>(handler: Arc<Handler>, mut stream: S, info: ConnectionInfo) {
    let limits = handler.service.limits();
    let head_due = Instant::now() + limits.first_head_max;
    let preface = Preface::of_new(&mut stream, head_due, &info.shutdown).await;
    let Some(preface) = preface.filter(Preface::is_http2) else {
        return;
    };
    let socket = Socket::new(stream, preface, Arc::clone(&info.backlog));
    let connection = Arc::new(Connection::new(info));
    let service = service_fn(|request| {
        let answer = handler.answer(&connection, request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let io = TokioIo::new(socket.for_hyper());
    let mut http2 = pin!(builder(limits).serve_connection(io, service));
    let close = serve_until(connection.close(limits), &socket, http2.as_mut()).await;
    if close == Some(Close::Gracefully) {
        http2.as_mut().graceful_shutdown();
        serve_until(connection.overstayed(limits), &socket, http2).await;
    }
}

/// Serves until `end` is ready; `None`: the connection was over before.
async fn serve_until<T, S: Io>(
    end: impl Future<Output = T>,
    socket: &Socket<S>,
    mut http2: Pin<&mut impl Future>,
) -> Option<T> {
    let mut end = PollOnWake::new(end);
    poll_fn(|context| {
        // First: a peer that never stops sending uses up all that tokio lets one task do in a
        // turn, and timers behind that would not be heard.
        if let Poll::Ready(end) = end.poll(context) {
            return Poll::Ready(Some(end));
        }
        // However it ended: the peer has closed it, or h2 has told the peer why.
        socket.poll_turn(http2.as_mut(), context).map(|()| None)
    })
    .await
}
