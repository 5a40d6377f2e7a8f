//! The gRPC front end. Messages and services are generated from `proto/` and checked in
//! (`grpc/generated`).

mod call;
mod connection;
mod counts;
mod deadline;
mod decode;
mod error;
mod executor;
mod handler;
mod health;
mod ids;
mod method;
mod methods;
mod reflection;
mod reply;
mod request_body;
mod serve;
mod stream;
mod tags;
mod traced;

#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "generated code"
)]
mod v1;

use std::sync::Arc;

use crate::net::connection_counts::Protocol;
use crate::net::front_end::{ConnectionInfo, FrontEnd, Io};
use crate::service::Service;
use crate::trace::Tracer;

pub(crate) use counts::GrpcCounts;
use handler::Handler;
pub(crate) use method::Method;

/// Serves the connections of gRPC clients.
pub(crate) struct GrpcFrontEnd(Arc<Handler>);

impl GrpcFrontEnd {
    /// Without a tracer no call is traced.
    pub(crate) fn new(
        service: Arc<Service>,
        counts: Arc<GrpcCounts>,
        tracer: Option<Arc<Tracer>>,
    ) -> Self {
        Self(Arc::new(Handler::new(service, counts, tracer)))
    }
}

impl FrontEnd for GrpcFrontEnd {
    const PROTOCOL: Protocol = Protocol::Grpc;
    /// Empty, as for a connection beyond the limit: see `TOO_MANY_CONNECTIONS`.
    const TLS_REQUIRED: &'static [u8] = b"";
    /// Empty: a client whose connection closes before it receives anything backs off exponentially.
    /// One that receives a GOAWAY reconnects at once.
    const TOO_MANY_CONNECTIONS: &'static [u8] = b"";

    async fn serve<S: Io>(self: Arc<Self>, stream: S, connection: ConnectionInfo) {
        serve::serve(Arc::clone(&self.0), stream, connection).await;
    }
}
