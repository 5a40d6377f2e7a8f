//! Guards the gRPC front end, called by a client generated from the same protocol files.

mod access;
mod clients;
mod connection_close;
mod deadlines;
mod frames;
mod health;
mod ids;
mod malformed_calls;
mod reflection;
mod stream;
mod tags;

/// The code generated from `proto/leafid/v1`.
#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "nobody wrote it"
)]
pub(crate) mod v1 {
    include!("generated/leafid.v1.rs");
}

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};
use tonic_types::StatusExt as _;

use crate::test_server::TestServer;
use v1::ids_client::IdsClient;
use v1::tags_client::TagsClient;
use v1::{NextRequest, NextResponse};

/// A server, and a client that is connected to it.
pub(crate) struct Line {
    pub(crate) server: TestServer,
    pub(crate) runtime: Runtime,
    pub(crate) channel: Channel,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self::to(TestServer::new())
    }

    pub(crate) fn to(server: TestServer) -> Self {
        let runtime = Runtime::new().unwrap();
        let channel = runtime.block_on(connect(&server));
        Self {
            server,
            runtime,
            channel,
        }
    }

    /// Runs a client's future to its end.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let patience = Duration::from_secs(60);
        let bounded = async { tokio::time::timeout(patience, work).await };
        self.runtime.block_on(bounded).expect("an answer in time")
    }

    pub(crate) fn ids(&self) -> IdsClient<Channel> {
        IdsClient::new(self.channel.clone())
    }

    pub(crate) fn tags(&self) -> TagsClient<Channel> {
        TagsClient::new(self.channel.clone())
    }

    pub(crate) fn next(&self, tag: &str) -> Result<u64, Status> {
        let answered = self.run(self.ids().next(NextRequest {
            tag: tag.into(),
            ..NextRequest::default()
        }));
        answered.map(|answer: Response<NextResponse>| answer.into_inner().id)
    }
}

/// A connection without a client library, which would enforce deadlines itself.
#[derive(Clone)]
pub(crate) struct Wire(SendRequest<Body>);

impl Wire {
    pub(crate) async fn new(server: &TestServer) -> Self {
        let stream = TcpStream::connect(address(server)).await.unwrap();
        let io = TokioIo::new(stream);
        let (sender, connection) = handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Waits until the server has ended it.
    pub(crate) async fn closed(&mut self) {
        while !self.0.is_closed() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Service<http::Request<Body>> for Wire {
    type Response = http::Response<hyper::body::Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        // The client knows no address.
        let path = request.uri().path().to_owned();
        *request.uri_mut() = format!("http://leafid{path}").parse().unwrap();
        Box::pin(self.0.send_request(request))
    }
}

fn address(server: &TestServer) -> SocketAddr {
    server.addresses.grpc.unwrap()
}

pub(crate) async fn connect(server: &TestServer) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", address(server))).unwrap();
    endpoint.connect().await.unwrap()
}

/// Compares a status, with its details: the reason, whether a retry helps, and the invalid field.
#[track_caller]
pub(crate) fn check_status(status: &Status, code: Code, reason: &str, field: Option<&str>) {
    assert_eq!(status.code(), code, "{status:?}");
    let details = status.get_error_details();
    let info = details.error_info().expect("an ErrorInfo");
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        (reason, "leafid")
    );
    assert!(!info.metadata["next"].is_empty(), "{info:?}");
    let violation = details
        .bad_request()
        .map(|bad| bad.field_violations[0].field.as_str());
    assert_eq!(violation, field, "{status:?}");
    let retries = [Code::Unavailable, Code::ResourceExhausted].contains(&code);
    let delay = details.retry_info().and_then(|info| info.retry_delay);
    assert_eq!(delay.is_some(), retries, "{status:?}");
    assert!(!status.message().is_empty() && !status.message().contains("secret"));
}

/// The calls that the server has counted, by method and status.
pub(crate) fn counted(server: &TestServer) -> HashMap<(String, String), u64> {
    let text = server.ask("GET /metrics").body;
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("leafid_grpc_calls_total{"));
    lines
        .map(|line| {
            let (labels, count) = line.split_once("} ").unwrap();
            let mut labels = labels.split('"').skip(1).step_by(2).map(str::to_owned);
            let key = (labels.next().unwrap(), labels.next().unwrap());
            (key, count.parse().unwrap())
        })
        .collect()
}
