//! One connection: served by hyper as HTTP/2, asked for signs of life, and told to finish when it
//! is idle or the server shuts down.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::GrpcDoor;
use super::socket::Socket;
use super::traffic::Traffic;
use crate::bell::Belled;
use crate::limits::Limits;
use crate::listen::{Io, Place};
use crate::shutdown::Shutdown;

/// How connections are served.
pub(super) fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(limits.head_len_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.streams_max)
        .initial_stream_window_size(limits.stream_window_len)
        .initial_connection_window_size(limits.connection_window_len)
        .keep_alive_interval(Some(limits.ping_interval))
        .keep_alive_timeout(limits.ping_max);
    builder
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(door: Arc<GrpcDoor>, stream: S, place: Place, shutdown: Shutdown) {
    let traffic = Arc::new(Traffic::default());
    let service = service_fn(|request| {
        let begun = door.begin(place, traffic.begin(), request);
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.finish(begun).await) }
    });
    let io = TokioIo::new(Socket::new(stream, Arc::clone(&traffic)));
    let mut connection = pin!(door.builder.serve_connection(io, service));
    let mut leave = Belled::new(async {
        tokio::select! {
            () = shutdown.asked() => {}
            () = traffic.silent(door.service.limits()) => {}
            () = traffic.refused() => {}
        }
    });
    poll_fn(|context| {
        if leave.poll(context).is_ready() {
            if !traffic.is_open() {
                // It would not understand what it is told.
                return Poll::Ready(());
            }
            // The peer is told to begin no more calls here; those that it began are finished.
            connection.as_mut().graceful_shutdown();
        }
        // However it ended: the peer has gone, or was told why.
        connection.as_mut().poll(context).map(drop)
    })
    .await;
}
