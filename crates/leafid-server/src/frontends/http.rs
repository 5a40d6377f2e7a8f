//! The HTTP front end: Leaf's own API, a modern one under `/v1`, health and metrics.
//!
//! The routes that issue ids take a fast path with almost no cost on top of hyper; all others are
//! axum's.

mod answer;
mod audit;
mod auth;
mod body;
mod clock;
mod connection;
mod console;
mod counts;
mod csrf;
#[cfg_attr(
    test,
    expect(unused_qualifications, reason = "utoipa's macros write them")
)]
mod decode;
mod error;
mod fast_path;
mod gear;
mod handler;
mod ids;
mod json;
mod leaf;
mod openapi;
mod path;
mod probes;
mod problem;
mod quotas;
mod request_context;
mod route;
mod router;
#[cfg_attr(
    test,
    expect(unused_qualifications, reason = "utoipa's macros write them")
)]
mod tags;
mod traced;
mod workers;

use std::sync::Arc;

use crate::net::connection_counts::Protocol;
use crate::net::front_end::{ConnectionInfo, FrontEnd, Io};

use connection::Versions;
use handler::Handler;

pub(crate) use console::context::Console;
pub(crate) use counts::HttpCounts;
pub(crate) use csrf::Hosts;
pub use openapi::openapi;
pub(crate) use request_context::RequestContext;
pub(crate) use route::Route;

/// The answer to a connection beyond the limit.
const TOO_MANY_CONNECTIONS: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "content-type: application/problem+json\r\n",
    "cache-control: no-store\r\n",
    "retry-after: 1\r\n",
    "connection: close\r\n\r\n",
    "{\"type\":\"urn:leafid:problem:overloaded\",\"title\":\"this server is overloaded\",",
    "\"status\":503,\"detail\":\"the server has reached connections-max, its limit on connections\",",
    "\"code\":\"overloaded\",\"next\":\"try again when Retry-After has passed, or ask another server\"}",
);

/// The answer to a plain request if TLS is required. Other servers use the same status, 400.
const TLS_REQUIRED: &str = concat!(
    "HTTP/1.1 400 Bad Request\r\n",
    "content-type: application/problem+json\r\n",
    "cache-control: no-store\r\n",
    "connection: close\r\n\r\n",
    "{\"type\":\"urn:leafid:problem:tls_needed\",\"title\":\"this server requires TLS\",",
    "\"status\":400,\"detail\":\"a plain HTTP request came to an HTTPS port\",",
    "\"code\":\"tls_needed\",\"next\":\"begin the URL with https://\"}",
);

/// Serves the connections of HTTP clients.
pub(crate) struct HttpFrontEnd {
    handler: Arc<Handler>,
    versions: Versions,
}

impl HttpFrontEnd {
    pub(crate) fn new(context: RequestContext) -> Self {
        Self {
            versions: Versions::new(context.service.limits()),
            handler: Arc::new(Handler::new(context)),
        }
    }
}

impl FrontEnd for HttpFrontEnd {
    const PROTOCOL: Protocol = Protocol::Http;
    const TLS_REQUIRED: &'static [u8] = TLS_REQUIRED.as_bytes();
    const TOO_MANY_CONNECTIONS: &'static [u8] = TOO_MANY_CONNECTIONS.as_bytes();

    async fn serve<S: Io>(self: Arc<Self>, stream: S, connection: ConnectionInfo) {
        connection::serve(&self.handler, &self.versions, stream, connection).await;
    }
}
