//! The HTTP front end: accepts connections, and leads each request through one door to its route.
//!
//! The routes that issue ids take a short way, so that they cost nothing on top of hyper; all
//! others are axum's.

mod answer;
mod clock;
mod connection;
mod decode;
mod error;
mod front;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod ids;
mod json;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod leaf;
mod openapi;
mod path;
mod pipe;
mod probes;
mod problem;
mod route;
mod router;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod tags;
mod who;
mod workers;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::metrics::Metrics;
use crate::service::Service;
use crate::shutdown::Shutdown;

use answer::Answer;
use front::Front;
use router::Routes;

pub use openapi::openapi;
pub(crate) use route::Route;

/// How long to wait after the system refused a connection, such as for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// What a connection too many is told.
const REFUSAL: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "content-type: application/problem+json\r\n",
    "cache-control: no-store\r\n",
    "retry-after: 1\r\n",
    "connection: close\r\n\r\n",
    "{\"type\":\"urn:leafid:problem:overloaded\",\"title\":\"this server has as much to do as it takes on\",",
    "\"status\":503,\"detail\":\"as many connections are open as this server takes on\",",
    "\"code\":\"overloaded\",\"next\":\"try again when Retry-After has passed, or ask another server\"}",
);

/// Through which all requests come.
pub(crate) struct Door {
    front: Front,
    routes: Routes,
}

impl Door {
    pub(crate) fn new(service: Arc<Service>, metrics: Arc<Metrics>) -> Self {
        let front = Front::new(service, metrics);
        let routes = router::routes(&front);
        Self { front, routes }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Either<Full<Bytes>, Body>> {
        let (parts, body) = request.into_parts();
        match Route::issuing(parts.uri.path()) {
            Some((route, name)) => {
                let answer = self.issue(route, name, &parts, body).await;
                answer.map(Either::Left)
            }
            None => {
                let request = Request::from_parts(parts, body);
                let answer = router::answer(&self.front, &self.routes, request).await;
                answer.map(Either::Right)
            }
        }
    }

    /// The short way of the routes that issue ids: past the router, and past what it allocates.
    async fn issue(&self, route: Route, name: &str, parts: &Parts, body: Incoming) -> Answer {
        let (front, service) = (&self.front, &*self.front.service);
        let answering = async {
            front.check(&parts.uri)?;
            let caller = &who::caller(service, &parts.headers)?;
            match route {
                // No timer: it has no body, and its wait is bounded by wait_max.
                Route::SegmentGet => leaf::segment(service, caller, name).await,
                Route::SnowflakeGet => leaf::snowflake(service, caller, name).await,
                _ => {
                    let answering = ids::answer(service, caller, name, parts, body);
                    front.in_time(answering).await
                }
            }
        };
        let answered = answering.await;
        let answer = answered.unwrap_or_else(|problem| {
            let host = parts.headers.get(HOST);
            Front::explain(route, &parts.uri, host, &problem)
        });
        front.metrics.http.count(route, answer.status());
        answer
    }
}

/// Accepts connections until the shutdown is asked for, then lets those that are open finish,
/// for `grace` at the most.
pub(crate) async fn serve(door: Door, listener: TcpListener, shutdown: Shutdown, grace: Duration) {
    let door = Arc::new(door);
    let limits = *door.front.service.limits();
    let slots = Arc::new(Semaphore::new(limits.connections_max as usize));
    tokio::select! {
        () = accept(&door, &listener, &shutdown, &slots) => {}
        () = shutdown.asked() => {}
    }
    drop(listener);
    let all = slots.acquire_many(limits.connections_max);
    if !crate::shutdown::within(grace, async { drop(all.await) }).await {
        let open = limits.connections_max as usize - slots.available_permits();
        tracing::warn!(
            open,
            "connections did not finish within the grace period; they are cut"
        );
    }
}

async fn accept(
    door: &Arc<Door>,
    listener: &TcpListener,
    shutdown: &Shutdown,
    slots: &Arc<Semaphore>,
) {
    let builder = Arc::new(connection::builder(door.front.service.limits()));
    let mut failures: u32 = 0;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                failures = failures.saturating_add(1);
                if failures.is_power_of_two() {
                    tracing::warn!(%error, failures, "cannot accept a connection; raise the limit on open files if it says so");
                }
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        let Ok(slot) = Arc::clone(slots).try_acquire_owned() else {
            refuse(&door.front.metrics, &stream);
            continue;
        };
        let (door, builder, shutdown) = (Arc::clone(door), Arc::clone(&builder), shutdown.clone());
        tokio::spawn(async move {
            let _connected = door.front.metrics.connected();
            connection::serve(door, builder, shutdown, stream).await;
            drop(slot);
        });
    }
}

/// Tells a connection too many to come back later. It gets what fits into the socket at once.
fn refuse(metrics: &Metrics, stream: &TcpStream) {
    metrics.connections_refused.fetch_add(1, Ordering::Relaxed);
    let _told = stream.try_write(REFUSAL.as_bytes());
}
