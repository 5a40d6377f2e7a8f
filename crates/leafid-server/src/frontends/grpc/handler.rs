//! `Handler`: routes each call to its method.
//!
//! The path of a call selects the generated service directly, without a router, so that a call
//! costs next to nothing on top of tonic.

use std::future::ready;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Request, Response, StatusCode};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic_health::pb::health_server::HealthServer;

use super::call::{Answering, Call};
use super::connection::Connection;
use super::counts::GrpcCounts;
use super::deadline::Deadline;
use super::error::Refusal;
use super::method::Method;
use super::methods::Methods;
use super::reflection::Reflection;
use super::reply::{Reply, StreamEnd};
use super::request_body::RequestBody;
use super::traced::Traced;
use super::v1::ids_server::IdsServer;
use super::v1::tags_server::TagsServer;
use crate::net::front_end::Slot;
use crate::service::{Service, ServiceError};
use crate::trace::Tracer;

/// Answers the calls of all connections.
pub(super) struct Handler {
    pub(super) service: Arc<Service>,
    counts: Arc<GrpcCounts>,
    ids: IdsServer<Methods>,
    tags: TagsServer<Methods>,
    health: HealthServer<Methods>,
    reflection: Reflection,
    tracer: Option<Arc<Tracer>>,
}

impl Handler {
    pub(super) fn new(
        service: Arc<Service>,
        counts: Arc<GrpcCounts>,
        tracer: Option<Arc<Tracer>>,
    ) -> Self {
        let message_len_max = service.limits().body_len_max;
        let methods = Arc::new(Methods {
            service: Arc::clone(&service),
            is_traced: tracer.is_some(),
        });
        let ids = IdsServer::from_arc(Arc::clone(&methods));
        let tags = TagsServer::from_arc(Arc::clone(&methods));
        let health = HealthServer::from_arc(methods);
        Self {
            service,
            counts,
            ids: ids.max_decoding_message_size(message_len_max),
            tags: tags.max_decoding_message_size(message_len_max),
            health: health.max_decoding_message_size(message_len_max),
            reflection: Reflection::new(message_len_max),
            tracer,
        }
    }

    /// Answers a call. The request goes to its method right here, so that the waiting future stays
    /// small.
    pub(super) fn answer(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Reply>> + Send + use<> {
        let mut call = Call::begin(&connection.activity);
        let started = self.start(connection, &mut call, request);
        let (handler, connection) = (Arc::clone(self), Arc::clone(connection));
        async move {
            let Started {
                answering,
                deadline,
                stream_len,
            } = started;
            let service = &handler.service;
            let held = stream_len
                .map(|call_len| connection.hold(call_len))
                .transpose();
            let (answer, held) = match held {
                Ok(held) => {
                    let answer_max = service.limits().answer_max;
                    let answer = match deadline.bound(answering, answer_max).await {
                        Ok(answer) => answer.unwrap_or_else(|never| match never {}),
                        Err(late) => refusal(late),
                    };
                    (answer, held)
                }
                Err(error) => (refusal(error.into()), None),
            };
            let end =
                held.map(|held| StreamEnd::new(deadline, service, &connection.shutdown, held));
            Reply::of(answer, call, end, &connection.backlog)
        }
    }

    /// Calls the method, unless something forbids it.
    fn start(
        &self,
        connection: &Arc<Connection>,
        call: &mut Call,
        request: Request<Incoming>,
    ) -> Started {
        if let Some(status) = not_grpc(&request) {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = status;
            return Started::answered(answer);
        }
        let method = Method::of(request.uri().path());
        call.count_as(method, &self.counts);
        let traced = self.tracer.as_ref();
        let traced = traced.and_then(|tracer| Traced::begin(tracer, method, request.headers()));
        let started = self.begin(connection, method, request);
        let mut started = started.unwrap_or_else(|error| Started::answered(refusal(error)));
        if let Some(traced) = traced {
            started.answering = traced.scope(started.answering);
            call.trace(traced);
        }
        started
    }

    fn begin(
        &self,
        connection: &Arc<Connection>,
        method: Method,
        request: Request<Incoming>,
    ) -> Result<Started, Refusal> {
        let headers = request.headers();
        let text_len = check_metadata(headers, self.service.limits().head_len_max)?;
        let deadline = self.check(connection, method, headers)?;
        let call_len = connection.call_len(headers.len(), text_len);
        Ok(Started {
            answering: self.call(connection, method, request, call_len)?,
            deadline,
            stream_len: method.is_streaming().then_some(call_len),
        })
    }

    /// Whether the method may be called, and its deadline.
    fn check(
        &self,
        connection: &Connection,
        method: Method,
        headers: &HeaderMap,
    ) -> Result<Deadline, Refusal> {
        if self.service.health().is_leaving() {
            // The call is served, but the next one must go to another connection.
            connection.send_goaway();
        }
        let deadline = Deadline::of(headers)?;
        if deadline.has_passed() {
            return Err(Refusal::deadline_exceeded());
        }
        if connection.slot == Slot::Admin && method.issues() {
            // The slot is reserved for admins.
            connection.send_goaway();
            return Err(ServiceError::TooManyConnections.into());
        }
        Ok(deadline)
    }

    fn call(
        &self,
        connection: &Arc<Connection>,
        method: Method,
        request: Request<Incoming>,
        call_len: usize,
    ) -> Result<Answering, Refusal> {
        use Method as M;
        let body_max = method.takes_one().then_some(self.service.limits().body_max);
        let mut request =
            request.map(|body| RequestBody::new(body, body_max, Arc::clone(connection), call_len));
        if !matches!(method, M::Next | M::Stream) {
            // Extensions are heap-allocated, and these are the methods called most.
            request.extensions_mut().insert(Arc::clone(connection));
        }
        Ok(match method {
            M::Next | M::NextMany | M::ReserveRange | M::Stream | M::Decode | M::DecodeText => {
                self.ids.clone().call(request)
            }
            M::CreateTag | M::GetTag | M::ListTags | M::UpdateTag | M::DeleteTag => {
                self.tags.clone().call(request)
            }
            M::HealthCheck | M::HealthWatch => self.health.clone().call(request),
            M::Reflection | M::ReflectionAlpha => self.reflection.call(method, request)?,
            M::Unknown => return Err(Refusal::unknown_method()),
        })
    }
}

/// A call that has begun.
struct Started {
    answering: Answering,
    deadline: Deadline,
    /// If its answer is a stream: the memory of the call.
    stream_len: Option<usize>,
}

impl Started {
    /// It has already ended.
    fn answered(answer: Response<Body>) -> Self {
        Self {
            answering: Box::pin(ready(Ok(answer))),
            deadline: Deadline::NONE,
            stream_len: None,
        }
    }
}

/// The HTTP status for a request that is not gRPC, so that its sender understands it.
fn not_grpc(request: &Request<Incoming>) -> Option<StatusCode> {
    if request.method() != hyper::Method::POST {
        Some(StatusCode::METHOD_NOT_ALLOWED)
    } else if is_grpc(request.headers().get(CONTENT_TYPE)) {
        None
    } else {
        Some(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    }
}

/// Refuses a call with too much metadata, measured as HTTP/2 does; returns the length of its texts.
fn check_metadata(headers: &HeaderMap, len_max: usize) -> Result<usize, Refusal> {
    let lens = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    let text_len: usize = lens.sum();
    let len = text_len + headers.len() * 32;
    match len > len_max {
        true => Err(Refusal::too_much_metadata(len, len_max)),
        false => Ok(text_len),
    }
}

/// `application/grpc`, with or without a suffix for the message format, which must be protobuf.
fn is_grpc(content_type: Option<&HeaderValue>) -> bool {
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
