//! Serves one connection: hyper speaks HTTP/2 and sends keep-alive PINGs, and the connection is
//! closed when `connection.rs` says so.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::Instant;

use super::connection::{Close, Connection};
use super::executor::CallExecutor;
use super::handler::Handler;
use crate::config::Limits;
use crate::net::front_end::{ConnectionInfo, Io};
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
    let close = connection.close(limits);
    // However it ended before: the peer has closed it, or h2 has told the peer why.
    let close = socket.serve_until(close, http2.as_mut()).await;
    if close == Some(Close::Gracefully) {
        http2.as_mut().graceful_shutdown();
        socket
            .serve_until(connection.overstayed(limits), http2)
            .await;
    }
}
