//! The gRPC front end: leads each call through one front end to its method.
//!
//! Messages and services are made from `proto/` and checked in (`grpc/generated`). The front end goes
//! by the path straight to the service that was made from it, past any router, so that a call
//! costs next to nothing on top of tonic. What the wire is, it leaves to who accepts connections.

mod auth;
mod call;
mod connection;
mod counted;
mod counts;
mod deadline;
mod ending;
mod error;
mod health;
mod ids;
mod method;
mod reflection;
mod request_body;
mod socket;
mod stream;
mod tags;
mod task;
mod traffic;

/// Made from `proto/leafid/v1`.
#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "nobody wrote it"
)]
mod v1 {
    include!("grpc/generated/leafid.v1.rs");

    /// The same as a set of file descriptors.
    pub(super) const DESCRIPTION: &[u8] = include_bytes!("grpc/generated/leafid.v1.bin");
}

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Request, Response, StatusCode};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service as _};
use tonic::{Code, Status};
use tonic_health::pb::health_server::HealthServer;

use crate::net::connection_counts::Protocol;
use crate::net::front_end::{ConnectionInfo, FrontEnd, Peer, Slot};
use crate::net::io::Io;
use crate::net::tls::Alpn;
use crate::service::Service;

pub(crate) use counts::GrpcCounts;
pub(crate) use method::Method;

use call::Call;
use deadline::Deadline;
use ending::Ending;
use error::Refusal;
use health::HealthFrontEnd;
use ids::IdsFrontEnd;
use reflection::Reflection;
use request_body::RequestBody;
use tags::TagsFrontEnd;
use traffic::Traffic;
use v1::ids_server::IdsServer;
use v1::tags_server::TagsServer;

/// Through which all calls come.
pub(crate) struct GrpcFrontEnd {
    service: Arc<Service>,
    counts: Arc<GrpcCounts>,
    ids: IdsServer<IdsFrontEnd>,
    tags: TagsServer<TagsFrontEnd>,
    health: HealthServer<HealthFrontEnd>,
    reflection: Reflection,
}

impl GrpcFrontEnd {
    pub(crate) fn new(service: Arc<Service>, counts: Arc<GrpcCounts>) -> Self {
        let message_len_max = service.limits().body_len_max;
        let ids = IdsServer::new(IdsFrontEnd::new(Arc::clone(&service)));
        let tags = TagsServer::new(TagsFrontEnd::new(Arc::clone(&service)));
        let health = HealthServer::new(HealthFrontEnd::new(Arc::clone(&service)));
        Self {
            service,
            counts,
            ids: ids.max_decoding_message_size(message_len_max),
            tags: tags.max_decoding_message_size(message_len_max),
            health: health.max_decoding_message_size(message_len_max),
            reflection: Reflection::new(message_len_max),
        }
    }

    /// Begins a call. What waits for its answer is small then: the request has been moved to where
    /// it is read, once, and not from future to future.
    fn begin(
        &self,
        from: (Slot, Peer),
        traffic: &Arc<Traffic>,
        request: Request<Incoming>,
    ) -> Begun {
        if let Some(answer) = not_grpc(&request) {
            return Begun::Answered(Box::new(answer));
        }
        let method = Method::of(request.uri().path());
        let call = Call::new(method, Arc::clone(&self.counts));
        match self.lead(from, method, traffic, request) {
            Ok((deadline, answering)) => Begun::Going {
                answering,
                deadline,
                call,
                stream: method.is_streaming().then(|| {
                    traffic.announce(deadline.left());
                    Arc::clone(traffic)
                }),
            },
            Err(error) => {
                let answer = refusal(error);
                call.answered(&answer);
                Begun::Answered(Box::new(answer))
            }
        }
    }

    /// Calls the method, unless something stands in the way.
    fn lead(
        &self,
        (slot, peer): (Slot, Peer),
        method: Method,
        traffic: &Traffic,
        request: Request<Incoming>,
    ) -> Result<(Deadline, Answering), Refusal> {
        use Method as M;
        if self.service.health().is_leaving() {
            // The call is served; the next one shall go elsewhere.
            traffic.refuse();
        }
        let head_len_max = self.service.limits().head_len_max;
        check_metadata(request.headers(), head_len_max)?;
        let deadline = Deadline::of(request.headers())?;
        if deadline.has_passed() {
            return Err(Refusal::deadline_exceeded());
        }
        if slot == Slot::Admin && method.issues() {
            // Who came for ids gives its slot up.
            traffic.refuse();
            return Err(Refusal::no_place());
        }
        let body_max = method.takes_one().then_some(self.service.limits().body_max);
        let mut request = request.map(|body| RequestBody::new(body, body_max));
        if method == M::NextMany || method == M::ListTags {
            let backlog = Arc::clone(traffic.backlog());
            request.extensions_mut().insert(backlog);
        }
        let answering = match method {
            M::Next | M::NextMany | M::ReserveRange | M::Stream | M::Decode => {
                self.ids.clone().call(request)
            }
            M::CreateTag | M::GetTag | M::ListTags | M::UpdateTag | M::DeleteTag => {
                request.extensions_mut().insert(peer);
                self.tags.clone().call(request)
            }
            M::HealthCheck | M::HealthWatch => self.health.clone().call(request),
            M::Reflection | M::ReflectionAlpha => self.reflection.call(method, request)?,
            M::Unknown => return Err(Refusal::unknown_method()),
        };
        Ok((deadline, answering))
    }

    /// Waits for the answer, whatever becomes of the call.
    async fn finish(&self, begun: Begun) -> Response<Body> {
        let (answering, deadline, call, stream) = match begun {
            Begun::Answered(answer) => return *answer,
            Begun::Going {
                answering,
                deadline,
                call,
                stream,
            } => (answering, deadline, call, stream),
        };
        let answer_max = self.service.limits().answer_max;
        let mut answer = match deadline.bound(answering, answer_max).await {
            Ok(answer) => answer.unwrap_or_else(|never| match never {}),
            Err(late) => refusal(late),
        };
        if let Some(traffic) = stream
            && !answer.headers().contains_key("grpc-status")
        {
            let ending = |body| Ending::new(body, call, deadline, traffic, &self.service);
            return answer.map(|body| Body::new(ending(body)));
        }
        error::explain(answer.headers_mut());
        call.answered(&answer);
        answer
    }
}

type Answering = BoxFuture<Response<Body>, Infallible>;

/// A call that has begun.
enum Begun {
    /// It is over already.
    Answered(Box<Response<Body>>),
    Going {
        answering: Answering,
        deadline: Deadline,
        call: Call,
        /// Over which its answers go; `None` where there is one.
        stream: Option<Arc<Traffic>>,
    },
}

impl FrontEnd for GrpcFrontEnd {
    const PROTOCOL: Protocol = Protocol::Grpc;
    const ALPN: Alpn = Alpn::Grpc;
    /// Nothing, as for a connection too many: see `REFUSAL`.
    const TLS_REQUIRED: &'static [u8] = b"";
    /// Nothing: a client whose connection closes before it hears anything waits longer and longer
    /// between its attempts. One that hears a GOAWAY comes back at once.
    const TOO_MANY_CONNECTIONS: &'static [u8] = b"";

    async fn serve<S: Io>(self: Arc<Self>, stream: S, connection: ConnectionInfo) {
        connection::serve(self, stream, connection).await;
    }
}

/// What is no gRPC gets a status of HTTP, so that whoever sent it understands.
fn not_grpc(request: &Request<Incoming>) -> Option<Response<Body>> {
    let status = if request.method() != hyper::Method::POST {
        StatusCode::METHOD_NOT_ALLOWED
    } else if is_grpc(request.headers().get(CONTENT_TYPE)) {
        return None;
    } else {
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    };
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    Some(answer)
}

/// Refuses a call with too much metadata, counted as HTTP/2 does.
fn check_metadata(headers: &HeaderMap, len_max: usize) -> Result<(), Refusal> {
    let lens = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 32);
    let len: usize = lens.sum();
    match len > len_max {
        true => Err(Refusal::too_much_metadata(len, len_max)),
        false => Ok(()),
    }
}

/// `application/grpc`, alone or with the form of its messages, which is that of protobuf.
fn is_grpc(content_type: Option<&hyper::header::HeaderValue>) -> bool {
    let Some(rest) =
        content_type.and_then(|kind| kind.as_bytes().strip_prefix(b"application/grpc"))
    else {
        return false;
    };
    rest.is_empty() || rest.starts_with(b";") || rest == b"+proto"
}

fn refusal(refusal: Refusal) -> Response<Body> {
    Status::from(refusal).into_http()
}

/// The status that an answer ends with at once; OK for one that goes on.
fn code_of(headers: &HeaderMap) -> Code {
    let status = headers.get("grpc-status");
    status.map_or(Code::Ok, |status| Code::from_bytes(status.as_bytes()))
}
