//! `Traced`: the span of a request, with the names of OpenTelemetry's semantic conventions for HTTP.

use hyper::{Request, Response, StatusCode, Version};

use super::path;
use super::request_context::RequestContext;
use super::route::Route;
use crate::net::front_end::ConnectionInfo;
use crate::trace::{Outcome, RequestSpan, Tracer};

/// A request that is traced.
pub(super) struct Traced(RequestSpan);

impl Traced {
    /// `None`: it is not.
    pub(super) fn begin<B>(
        tracer: &Tracer,
        context: &RequestContext,
        request: &Request<B>,
        info: &ConnectionInfo,
    ) -> Option<Self> {
        let mut span = tracer.request(request.headers())?;
        // Others would be names without a bound.
        let method = match request.method().as_str() {
            method @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => method,
            _ => "_OTHER",
        };
        let path_len_max = context.service.limits().target_len_max;
        let path = request.uri().path();
        let path = path.get(..path_len_max).unwrap_or(path);
        let route = Route::of_path(path);
        span.name(match route {
            Some((route, _)) => format!("{method} {}", route.path()),
            None => method.to_owned(),
        });
        span.text("http.request.method", method);
        span.text("url.path", path);
        span.text("url.scheme", context.scheme);
        let version = match request.version() {
            Version::HTTP_2 => "2",
            Version::HTTP_10 => "1.0",
            _ => "1.1",
        };
        span.text("network.protocol.version", version);
        if let Some(peer) = info.peer.0 {
            span.text("client.address", peer.ip().to_string());
        }
        if let Some((route, tag)) = route {
            span.text("http.route", route.path());
            if let Some(Ok(tag)) = tag.map(path::decode) {
                span.tag(&tag);
            }
        }
        Some(Self(span))
    }

    /// Answers it, and ends its span.
    pub(super) async fn answered<B>(
        self,
        answering: impl Future<Output = Response<B>>,
    ) -> Response<B> {
        let answer = self.0.scope(answering).await;
        self.end(answer.status());
        answer
    }

    pub(super) fn end(mut self, status: StatusCode) {
        let number = i64::from(status.as_u16());
        self.0.number("http.response.status_code", number);
        self.0.end(match status.as_u16() {
            500.. => Outcome::Failed(status.as_str().to_owned()),
            400.. => Outcome::Refused,
            _ => Outcome::Ok,
        });
    }
}
