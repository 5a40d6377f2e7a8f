//! The HTTP front end: accepts connections, and leads each request through one door to its route.
//!
//! hyper is driven by hand, without a router: the routes are one enum, so that the issuing ones
//! cost nothing on top of hyper.

mod answer;
mod call;
mod connection;
mod error;
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
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod tags;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::metrics::Metrics;
use crate::service::Service;
use crate::shutdown::Shutdown;

use answer::Answer;
use call::Call;
use problem::{Kind, Problem};

pub use openapi::openapi;
pub(crate) use route::Route;

/// How long to wait after the system refused a connection, such as for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// What a caller waits before coming back to a server that is full.
const OVERLOAD_RETRY: Duration = Duration::from_secs(1);

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
    service: Arc<Service>,
    metrics: Arc<Metrics>,
    /// Requests being answered now.
    in_flight: AtomicU64,
}

impl Door {
    pub(crate) fn new(service: Arc<Service>, metrics: Arc<Metrics>) -> Self {
        Self {
            service,
            metrics,
            in_flight: AtomicU64::new(0),
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let (route, name) = Route::of(parts.uri.path());
        let call = Call {
            service: &self.service,
            uri: &parts.uri,
            headers: &parts.headers,
        };
        let answer = match self.enter(&parts) {
            Ok(_entered) => {
                self.answer_within(route, name, &call, &parts.method, body)
                    .await
            }
            Err(problem) => Err(problem),
        };
        let answer = answer.unwrap_or_else(|problem| match route {
            Route::SegmentGet | Route::SnowflakeGet => leaf::error(&parts.uri, &problem),
            _ => problem.answer(&parts.uri, &parts.headers),
        });
        self.metrics.http.count(route, answer.status());
        answer
    }

    /// Lets a request in, or refuses it at once.
    fn enter(&self, parts: &Parts) -> Result<Entered<'_>, Problem> {
        let entered = Entered::new(&self.in_flight);
        let limits = self.service.limits();
        if entered.count > limits.requests_max {
            let detail = format!(
                "{} requests are being answered already",
                limits.requests_max
            );
            let next = "try again when Retry-After has passed, or ask another server";
            let problem = Problem::new(Kind::OVERLOADED, detail, next);
            return Err(problem.with_retry_after(OVERLOAD_RETRY));
        }
        let target = parts
            .uri
            .path_and_query()
            .map_or("", |target| target.as_str());
        if target.len() > limits.target_len_max {
            let max = limits.target_len_max;
            let detail = format!("the path with its query has {} bytes", target.len());
            let next = format!("send at most {max} bytes");
            return Err(Problem::new(Kind::TARGET_TOO_LONG, detail, next));
        }
        Ok(entered)
    }

    async fn answer_within(
        &self,
        route: Route,
        name: &str,
        call: &Call<'_>,
        method: &Method,
        body: Incoming,
    ) -> Result<Answer, Problem> {
        // The one route that must cost nothing: no body, and its wait is bounded by wait_max.
        if route == Route::SegmentGet {
            return Ok(leaf::segment(call, name).await);
        }
        let answering = self.route(route, name, call, method, body);
        match tokio::time::timeout(call.limits().answer_max, answering).await {
            Ok(answer) => answer,
            Err(_) => Err(Problem::new(
                Kind::STORE_UNAVAILABLE,
                "the store did not answer in time",
                "try again when Retry-After has passed",
            )
            .with_retry_after(OVERLOAD_RETRY)),
        }
    }

    async fn route(
        &self,
        route: Route,
        name: &str,
        call: &Call<'_>,
        method: &Method,
        body: Incoming,
    ) -> Result<Answer, Problem> {
        let verb = Verb::of(method);
        let name = &*path::decode(name)?;
        Ok(match (route, verb) {
            (Route::SegmentGet, _) => leaf::segment(call, name).await,
            (Route::SnowflakeGet, _) => leaf::snowflake(call, name),
            (Route::Cache, _) => leaf::table::cache(call),
            (Route::Db, _) => leaf::table::db(call).await,
            (Route::Decode, _) => leaf::decode(call),
            (Route::Ids, Verb::Get) => ids::get(call, name).await?,
            (Route::Ids, Verb::Post) => ids::post(call, name, &read(call, body).await?).await?,
            (Route::Ranges, Verb::Post) => {
                ids::post_range(call, name, &read(call, body).await?).await?
            }
            (Route::Tags, Verb::Get) => tags::list(call).await?,
            (Route::Tags, Verb::Post) => tags::create(call, &read(call, body).await?).await?,
            (Route::Tag, Verb::Get) => tags::show(call, name).await?,
            (Route::Tag, Verb::Patch) => tags::change(call, name, &read(call, body).await?).await?,
            (Route::Tag, Verb::Delete) => tags::delete(call, name).await?,
            (Route::Livez, Verb::Get) => probes::livez(),
            (Route::Readyz, Verb::Get) => probes::readyz(call),
            (Route::Metrics, Verb::Get) => probes::metrics(self.metrics.text(&self.service)),
            (Route::OpenApi, Verb::Get) => {
                answer::of(StatusCode::OK, "application/json", openapi())
            }
            (Route::Other, _) => return Err(not_found(call)),
            _ => return Err(Problem::method_not_allowed(allowed(route))),
        })
    }
}

async fn read(call: &Call<'_>, body: Incoming) -> Result<bytes::Bytes, Problem> {
    json::read_body(body, call.limits()).await
}

fn not_found(call: &Call<'_>) -> Problem {
    let detail = format!("there is nothing at {}", call.uri.path());
    Problem::new(
        Kind::NOT_FOUND,
        detail,
        "see /openapi.json for what there is",
    )
}

/// A method, as far as routes tell them apart. HEAD is a GET whose body hyper leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Get,
    Post,
    Patch,
    Delete,
    Other,
}

impl Verb {
    fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD => Self::Get,
            Method::POST => Self::Post,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => Self::Other,
        }
    }
}

/// What a route takes; Leaf's take everything.
const fn allowed(route: Route) -> &'static str {
    match route {
        Route::Ids | Route::Tags => "GET, HEAD, POST",
        Route::Ranges => "POST",
        Route::Tag => "GET, HEAD, PATCH, DELETE",
        _ => "GET, HEAD",
    }
}

/// A request that is being answered.
struct Entered<'a> {
    in_flight: &'a AtomicU64,
    /// How many were, with this one.
    count: u64,
}

impl<'a> Entered<'a> {
    fn new(in_flight: &'a AtomicU64) -> Self {
        // Relaxed: only the count matters, nothing is read behind it.
        let count = in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        Self { in_flight, count }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts connections until the shutdown is asked for, then lets those that are open finish,
/// for `grace` at the most.
pub(crate) async fn serve(door: Door, listener: TcpListener, shutdown: Shutdown, grace: Duration) {
    let door = Arc::new(door);
    let limits = *door.service.limits();
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
    let builder = Arc::new(connection::builder(door.service.limits()));
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
            refuse(&door.metrics, &stream);
            continue;
        };
        let (door, builder, shutdown) = (Arc::clone(door), Arc::clone(&builder), shutdown.clone());
        tokio::spawn(async move {
            let _connected = door.metrics.connected();
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
