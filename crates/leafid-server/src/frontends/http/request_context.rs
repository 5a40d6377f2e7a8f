//! `RequestContext`: what holds for every request, whichever way it takes: its length and time are
//! bounded, its error is written in the form that its caller expects, and it is counted.

use std::future::Future;
use std::sync::Arc;

use axum::extract::FromRef;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Uri};

use super::answer::Answer;
use super::counts::HttpCounts;
use super::csrf::{self, Hosts};
use super::leaf::error as leaf_error;
use super::problem::{Kind, Problem};
use super::route::Route;
use crate::ops::metrics::Metrics;
use crate::service::{Service, ServiceError};

/// What all requests share.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) counts: Arc<HttpCounts>,
    /// The names under which callers find us.
    pub(crate) hosts: Arc<Hosts>,
    /// How the URLs begin under which they do.
    pub(crate) scheme: &'static str,
}

impl RequestContext {
    /// Refuses a request whose target is too long, and what a web page may not send. Leaf's own
    /// paths are served under every name, as Leaf does.
    pub(super) fn check(&self, route: Route, request: &Parts) -> Result<(), Problem> {
        let Parts { uri, headers, .. } = request;
        self.check_len(uri)?;
        self.check_sender(route, &request.method, uri, headers)
    }

    /// Whether an id of Leaf's path may only come from a tag that exists: under a name that is none
    /// of this server's own, a web page may have sent the request.
    pub(super) fn creates_nothing(&self, route: Route, uri: &Uri, headers: &HeaderMap) -> bool {
        route == Route::SegmentGet && self.hosts.are_foreign(uri, headers)
    }

    /// Refuses what a web page may not send.
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
        // Every method of what issues ids does so.
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

    /// Waits for an answer, within bounds.
    pub(super) async fn in_time<T>(
        &self,
        answering: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let answer_max = self.service.limits().answer_max;
        let answered = tokio::time::timeout(answer_max, answering).await;
        answered.unwrap_or_else(|_| Err(ServiceError::StoreTimeout.into()))
    }

    /// An error as the callers of a route expect it; `host` is where they found us.
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
