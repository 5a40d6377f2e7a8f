//! One connection: served by hyper as HTTP/2, asked for signs of life, and told to finish when it
//! is idle or the server shuts down.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::Notify;

use super::GrpcDoor;
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

/// Calls of one connection.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Told when a call was refused for want of a place.
    refused: Notify,
}

/// A call that goes on, until it is dropped.
pub(super) struct Ongoing(Arc<Traffic>);

impl Traffic {
    pub(super) fn begin(self: &Arc<Self>) -> Ongoing {
        // Relaxed: only the idle watch reads it, and that one asks whether anything moved.
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ongoing(Arc::clone(self))
    }

    /// Makes the connection give up its place.
    pub(super) fn refuse(&self) {
        self.refused.notify_one();
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Is ready once no call has begun and none goes on for as long as is allowed.
    async fn idle(&self, limits: &Limits) {
        tokio::time::sleep(limits.first_head_max).await;
        let mut before = 0;
        loop {
            let begun = self.begun();
            if begun == before && self.ended.load(Ordering::Relaxed) == begun {
                return;
            }
            before = begun;
            tokio::time::sleep(limits.idle_max).await;
        }
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(door: Arc<GrpcDoor>, stream: S, place: Place, shutdown: Shutdown) {
    let traffic = Arc::new(Traffic::default());
    let service = service_fn(|request| {
        let begun = door.begin(place, traffic.begin(), request);
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.finish(begun).await) }
    });
    let mut connection = pin!(door.builder.serve_connection(TokioIo::new(stream), service));
    let mut leave = Belled::new(async {
        tokio::select! {
            () = shutdown.asked() => {}
            () = traffic.idle(door.service.limits()) => {}
            () = traffic.refused.notified() => {}
        }
    });
    poll_fn(|context| {
        if leave.poll(context).is_ready() {
            if traffic.begun() == 0 {
                // It may not even speak HTTP/2, and would never hear what it is told.
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

impl Ongoing {
    /// The connection that it came over.
    pub(super) fn traffic(&self) -> &Traffic {
        &self.0
    }
}
