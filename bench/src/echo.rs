//! A gRPC server that does nothing: tonic as it comes, with the messages of ours, answering one
//! id always. A process of its own, started by the scenario.

use std::net::SocketAddr;

use futures_util::StreamExt as _;
use futures_util::stream::Map;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use v1::ids_server::{Ids, IdsServer};
use v1::{
    DecodeRequest, DecodeResponse, DecodeTextRequest, DecodeTextResponse, NextManyRequest,
    NextManyResponse, NextRequest, NextResponse, ReserveRangeRequest, ReserveRangeResponse,
    StreamRequest, StreamResponse,
};

/// Made from `proto/leafid/v1`.
#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "nobody wrote it"
)]
mod v1 {
    include!("../../crates/leafid-server/src/frontends/grpc/generated/leafid.v1.rs");
}

/// What is always answered.
pub(crate) const ID: u64 = 12_345_678;

/// Serves on this thread until the process is killed.
pub(crate) fn run_child(mut arguments: impl Iterator<Item = String>) {
    let address = arguments.next().and_then(|address| address.parse().ok());
    let address: SocketAddr = address.expect("an address to listen on");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime on this thread");
    let serving = Server::builder()
        .add_service(IdsServer::new(Echo))
        .serve(address);
    runtime.block_on(serving).expect("a free port");
}

struct Echo;

type Answered = Result<StreamResponse, Status>;

#[tonic::async_trait]
impl Ids for Echo {
    async fn next(&self, _: Request<NextRequest>) -> Result<Response<NextResponse>, Status> {
        Ok(Response::new(NextResponse {
            id: ID,
            ..NextResponse::default()
        }))
    }

    type StreamStream =
        Map<Streaming<StreamRequest>, fn(Result<StreamRequest, Status>) -> Answered>;

    async fn stream(
        &self,
        requests: Request<Streaming<StreamRequest>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let answer: fn(Result<StreamRequest, Status>) -> Answered = |request| {
            request.map(|_| StreamResponse {
                texts: Vec::new(),
                ids: vec![ID],
                failure: None,
            })
        };
        Ok(Response::new(requests.into_inner().map(answer)))
    }

    async fn next_many(
        &self,
        _: Request<NextManyRequest>,
    ) -> Result<Response<NextManyResponse>, Status> {
        Err(not_measured())
    }

    async fn reserve_range(
        &self,
        _: Request<ReserveRangeRequest>,
    ) -> Result<Response<ReserveRangeResponse>, Status> {
        Err(not_measured())
    }

    async fn decode(&self, _: Request<DecodeRequest>) -> Result<Response<DecodeResponse>, Status> {
        Err(not_measured())
    }

    async fn decode_text(
        &self,
        _: Request<DecodeTextRequest>,
    ) -> Result<Response<DecodeTextResponse>, Status> {
        Err(not_measured())
    }
}

fn not_measured() -> Status {
    Status::unimplemented("only what is measured is here")
}
