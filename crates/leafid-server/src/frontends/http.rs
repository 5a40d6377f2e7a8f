//! The HTTP front end: accepts connections, and leads each request through one front end to its route.
//!
//! The routes that issue ids take a short way, so that they cost nothing on top of hyper; all
//! others are axum's.

mod answer;
mod at_once;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod audit;
mod body;
mod clock;
mod connection;
mod counts;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod decode;
mod error;
mod front;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod ids;
mod json;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod leaf;
mod openapi;
mod page;
mod path;
mod pipe;
mod preface;
mod probes;
mod problem;
mod quotas;
mod route;
mod router;
#[expect(unused_qualifications, reason = "utoipa's macros write them")]
mod tags;
mod who;
mod workers;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use leafid::Tag;

use crate::net::connection_counts::Protocol;
use crate::net::front_end::{ConnectionInfo, FrontEnd, Peer};
use crate::net::io::Io;
use crate::net::tls::Alpn;
use crate::net::unread::Backlog;
use crate::ops::metrics::Metrics;
use crate::service::{Caller, Service};

use answer::Answer;
use body::AnswerBody;
use connection::Versions;
use front::Front;
use problem::Problem;
use router::Routes;

pub(crate) use counts::HttpCounts;
pub use openapi::openapi;
pub(crate) use page::Hosts;
pub(crate) use route::Route;

/// What a connection too many is told.
const TOO_MANY_CONNECTIONS: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "content-type: application/problem+json\r\n",
    "cache-control: no-store\r\n",
    "retry-after: 1\r\n",
    "connection: close\r\n\r\n",
    "{\"type\":\"urn:leafid:problem:overloaded\",\"title\":\"this server has as much to do as it takes on\",",
    "\"status\":503,\"detail\":\"as many connections are open as this server takes on\",",
    "\"code\":\"overloaded\",\"next\":\"try again when Retry-After has passed, or ask another server\"}",
);

/// What a request without TLS is told where TLS is asked for. The status is the one that other
/// servers answer with, 400.
const TLS_REQUIRED: &str = concat!(
    "HTTP/1.1 400 Bad Request\r\n",
    "content-type: application/problem+json\r\n",
    "cache-control: no-store\r\n",
    "connection: close\r\n\r\n",
    "{\"type\":\"urn:leafid:problem:tls_needed\",\"title\":\"this server asks for TLS\",",
    "\"status\":400,\"detail\":\"a plain HTTP request came to an HTTPS port\",",
    "\"code\":\"tls_needed\",\"next\":\"begin the URL with https://\"}",
);

/// Through which all requests come.
pub(crate) struct HttpFrontEnd {
    front: Front,
    routes: Routes,
    versions: Versions,
}

impl HttpFrontEnd {
    pub(crate) fn new(
        service: Arc<Service>,
        metrics: Arc<Metrics>,
        counts: Arc<HttpCounts>,
        hosts: Hosts,
        scheme: &'static str,
    ) -> Self {
        let front = Front {
            service,
            metrics,
            counts,
            hosts: Arc::new(hosts),
            scheme,
        };
        let routes = router::routes(&front);
        let versions = Versions::new(front.service.limits());
        Self {
            front,
            routes,
            versions,
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
        backlog: &Arc<Backlog>,
    ) -> Response<AnswerBody> {
        let (parts, body) = request.into_parts();
        let answer = match Route::issuing(parts.uri.path()) {
            Some((route, name)) if route != Route::Ranges => {
                self.issue(route, name, &parts, body, backlog).await
            }
            _ => {
                let mut request = Request::from_parts(parts, body);
                request.extensions_mut().insert(peer);
                router::answer(&self.front, &self.routes, request, backlog).await
            }
        };
        answer.map(AnswerBody::Whole)
    }

    /// The short way of the routes that issue ids: past the router, and past what it allocates.
    async fn issue(
        &self,
        route: Route,
        name: &str,
        parts: &Parts,
        body: Incoming,
        backlog: &Arc<Backlog>,
    ) -> Answer {
        let (front, service) = (&self.front, &*self.front.service);
        let answering = async {
            front.check(route, parts)?;
            let caller = &who::caller(service, &parts.headers)?;
            if front.creates_nothing(route, &parts.uri, &parts.headers) {
                let tag = Tag::new(&*path::decode(name)?)?;
                front.in_time(exists(service, caller, &tag)).await?;
            }
            match route {
                // No timer: it has no body, and its wait is bounded by wait_max.
                Route::SegmentGet => leaf::segment(service, caller, name).await,
                Route::SnowflakeGet => leaf::snowflake(service, caller, name).await,
                _ => {
                    let called = ids::Called {
                        service,
                        caller,
                        backlog,
                    };
                    let answering = ids::answer(called, name, parts, body);
                    front.in_time(answering).await
                }
            }
        };
        let answered = answering.await;
        let answer = answered.unwrap_or_else(|problem| {
            let host = parts.headers.get(HOST);
            front.explain(route, &parts.uri, host, &problem)
        });
        front.counts.count(route, answer.status());
        answer
    }

    /// Refuses a request for ids, for which there is no place; `None`: it is not for ids.
    fn refuse<B>(&self, request: &Request<B>) -> Option<Response<AnswerBody>> {
        let uri = request.uri();
        let (route, _) = Route::issuing(uri.path())?;
        let host = request.headers().get(HOST);
        let mut answer = self.front.explain(route, uri, host, &Problem::no_place());
        self.front.counts.count(route, answer.status());
        // Who came for ids gives its place up.
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
        Some(answer.map(AnswerBody::Whole))
    }
}

async fn exists(service: &Service, caller: &Caller, tag: &Tag) -> Result<(), Problem> {
    Ok(service.check_exists(caller, tag).await?)
}

impl FrontEnd for HttpFrontEnd {
    const PROTOCOL: Protocol = Protocol::Http;
    const ALPN: Alpn = Alpn::Http;
    const TLS_REQUIRED: &'static [u8] = TLS_REQUIRED.as_bytes();
    const TOO_MANY_CONNECTIONS: &'static [u8] = TOO_MANY_CONNECTIONS.as_bytes();

    async fn serve<S: Io>(self: Arc<Self>, stream: S, connection: ConnectionInfo) {
        connection::serve(self, stream, connection).await;
    }
}
