//! `RequestContext`: what applies to every request on every path: its length and time are bounded,
//! its error is written in the form that its caller expects, and it is counted.

use std::future::Future;
use std::sync::Arc;

use axum::extract::FromRef;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Uri};

use super::answer::Answer;
use super::console::context::Console;
use super::counts::HttpCounts;
use super::csrf::{self, Hosts};
use super::leaf::error as leaf_error;
use super::problem::{Kind, Problem};
use super::route::Route;
use crate::ops::metrics::Metrics;
use crate::service::{Service, ServiceError};
use crate::trace::Tracer;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) counts: Arc<HttpCounts>,
    pub(crate) console: Arc<Console>,
    /// The names under which the server may be called.
    pub(crate) hosts: Arc<Hosts>,
    /// The scheme of the server's URLs.
    pub(crate) scheme: &'static str,
    /// `None`: no request is traced.
    pub(crate) tracer: Option<Arc<Tracer>>,
}

impl RequestContext {
    /// Refuses a request whose target is too long, and requests from foreign pages. Leaf's own
    /// paths are served under every name, as Leaf does.
    pub(super) fn check(&self, route: Route, request: &Parts) -> Result<(), Problem> {
        let Parts { uri, headers, .. } = request;
        self.check_len(uri)?;
        self.check_sender(route, &request.method, uri, headers)
    }

    /// Whether Leaf's path must not create a tag: a request under a foreign name may come from a
    /// web page.
    pub(super) fn creates_nothing(&self, route: Route, uri: &Uri, headers: &HeaderMap) -> bool {
        route == Route::SegmentGet && self.hosts.are_foreign(uri, headers)
    }

    /// Refuses requests from foreign pages.
    pub(super) fn check_sender(
        &self,
        route: Route,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        if !route.is_leafs() {
            self.hosts.check(uri, headers)?;
        }
        // Every method of a route that issues ids does so.
        if route.issues() || !method.is_safe() {
            csrf::check_csrf(uri, headers)?;
        }
        Ok(())
    }

    fn check_len(&self, uri: &Uri) -> Result<(), Problem> {
        let max = self.service.limits().target_len_max;
        let target = uri.path_and_query().map_or("", |target| target.as_str());
        if target.len() > max {
            let detail = format!("the path with its query has {} bytes", target.len());
            let next = format!("send at most {max} bytes");
            return Err(Problem::new(Kind::TARGET_TOO_LONG, detail, next));
        }
        Ok(())
    }

    /// Waits for an answer, until the deadline.
    pub(super) async fn in_time<T>(
        &self,
        answering: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let answer_max = self.service.limits().answer_max;
        let answered = tokio::time::timeout(answer_max, answering).await;
        answered.unwrap_or_else(|_| Err(ServiceError::StoreTimeout.into()))
    }

    /// An error as the callers of a route expect it; `host` is the name in the request.
    pub(super) fn explain(
        &self,
        route: Route,
        uri: &Uri,
        host: Option<&HeaderValue>,
        problem: &Problem,
    ) -> Answer {
        if route.is_leafs() {
            leaf_error::answer(uri, problem)
        } else {
            problem.answer(uri, self.scheme, host)
        }
    }
}

impl FromRef<RequestContext> for Arc<Service> {
    fn from_ref(context: &RequestContext) -> Self {
        Arc::clone(&context.service)
    }
}
