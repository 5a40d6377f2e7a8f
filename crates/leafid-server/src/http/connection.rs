//! One connection: served by hyper, watched for silence, and told to finish at shutdown.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use super::Door;
use super::pipe::Pipe;
use crate::limits::Limits;
use crate::listen::{Io, Place};
use crate::shutdown::Shutdown;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;

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

/// Requests of one connection.
#[derive(Debug, Default)]
struct Traffic {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Traffic {
    /// Begun and ended requests. Relaxed: the watch only asks whether anything moved.
    fn seen(&self) -> (u64, u64) {
        let begun = self.begun.load(Ordering::Relaxed);
        (begun, self.ended.load(Ordering::Relaxed))
    }
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(door: Arc<Door>, stream: S, place: Place, shutdown: Shutdown) {
    let limits = *door.front.service.limits();
    let traffic = Arc::new(Traffic::default());
    let service = service_fn(|request| {
        let (door, traffic) = (Arc::clone(&door), Arc::clone(&traffic));
        async move {
            traffic.begun.fetch_add(1, Ordering::Relaxed);
            let answer = door.answer(place, request).await;
            traffic.ended.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(answer)
        }
    });
    let pipe = Pipe::new(stream);
    let mut is_asked = false;
    let is_silent = {
        let io = TokioIo::new(pipe.clone());
        let mut connection = pin!(door.builder.serve_connection(io, service));
        let mut silent = pin!(silent(&traffic, &limits));
        let mut asked = pin!(shutdown.asked());
        poll_fn(|context| {
            if !is_asked && asked.as_mut().poll(context).is_ready() {
                is_asked = true;
                connection.as_mut().graceful_shutdown();
            }
            if connection.as_mut().poll(context).is_ready() {
                return Poll::Ready(false);
            }
            // hyper's turn is over: what it wrote leaves together. If it cannot, nobody listens.
            if let Poll::Ready(Err(_)) = pipe.poll_send(context) {
                return Poll::Ready(true);
            }
            silent.as_mut().poll(context).map(|()| true)
        })
        .await
    };
    if !is_silent {
        pipe.close(is_asked).await;
    }
}

/// Is ready once the connection has been silent for too long.
async fn silent(traffic: &Traffic, limits: &Limits) {
    tokio::time::sleep(limits.first_head_max).await;
    let mut before = traffic.seen();
    if before.0 == 0 {
        return;
    }
    loop {
        tokio::time::sleep(limits.idle_max).await;
        let now = traffic.seen();
        if now == before {
            return;
        }
        before = now;
    }
}
