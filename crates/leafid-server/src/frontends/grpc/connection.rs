//! One connection: served by hyper as HTTP/2, asked for signs of life, and told to finish when it
//! is idle or the server shuts down. It is cut when its peer does not read.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};

use super::GrpcFrontEnd;
use super::counted::Counted;
use super::socket::Socket;
use super::task::Tasks;
use super::traffic::{Leave, Traffic};
use crate::config::Limits;
use crate::net::front_end::ConnectionInfo;
use crate::net::io::Io;
use crate::net::poll_on_wake::PollOnWake;

/// So many times as much metadata as a call may have is read, so that a call with too much is told in
/// gRPC's words; beyond it h2 answers by itself, which clients call UNKNOWN.
const HEADS: usize = 4;

/// How a connection is served.
fn builder(tasks: Tasks, limits: &Limits) -> Builder<Tasks> {
    let mut builder = Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEADS * limits.head_len_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.streams_max)
        .initial_stream_window_size(limits.stream_window_len)
        .initial_connection_window_size(limits.connection_window_len)
        .max_send_buf_size(limits.stream_window_len as usize)
        .keep_alive_interval(Some(limits.ping_interval))
        .keep_alive_timeout(limits.ping_max);
    builder
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(
    front_end: Arc<GrpcFrontEnd>,
    stream: S,
    connection: ConnectionInfo,
) {
    let limits = front_end.service.limits();
    let ConnectionInfo {
        slot,
        peer,
        shutdown,
        backlog,
    } = connection;
    let traffic = Arc::new(Traffic::new(shutdown, Arc::clone(&backlog)));
    let service = service_fn(|request| {
        let begun = front_end.begin((slot, peer), &traffic, request);
        let (front_end, backlog) = (Arc::clone(&front_end), Arc::clone(&backlog));
        async move {
            let answer = front_end.finish(begun).await;
            Ok::<_, Infallible>(Counted::answer(answer, &backlog))
        }
    });
    let io = TokioIo::new(Socket::new(stream, Arc::clone(&traffic)));
    let tasks = Tasks::new(Arc::clone(&traffic));
    // Not held on to, as it is large.
    let connection = builder(tasks, limits).serve_connection(io, service);
    let mut connection = pin!(connection);
    let mut leave = PollOnWake::new(traffic.leave(limits));
    let mut overstayed = None;
    poll_fn(|context| {
        match leave.poll(context) {
            Poll::Ready(Leave::Cut) => return Poll::Ready(()),
            Poll::Ready(Leave::Finish) => {
                connection.as_mut().graceful_shutdown();
                overstayed = Some(PollOnWake::new(traffic.overstayed(limits)));
            }
            Poll::Pending => {}
        }
        // Before the connection: a peer that never stops sending uses up all that tokio lets one
        // task do in a turn, and timers behind that would not be heard.
        if let Some(overstayed) = &mut overstayed
            && overstayed.poll(context).is_ready()
        {
            return Poll::Ready(());
        }
        // However it ended: the peer has gone, or was told why.
        connection.as_mut().poll(context).map(drop)
    })
    .await;
}
