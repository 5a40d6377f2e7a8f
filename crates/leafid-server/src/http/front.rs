//! `Front`: what holds for every request, whichever way it takes: it is let in, bounded in time,
//! its error written down, and counted.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{FromRef, State};
use hyper::Uri;
use hyper::header::HeaderValue;

use super::answer::Answer;
use super::leaf;
use super::problem::{Kind, Problem};
use super::route::Route;
use crate::metrics::Metrics;
use crate::service::Service;

/// What a caller waits before coming back to a server that is full.
const OVERLOAD_RETRY: Duration = Duration::from_secs(1);

/// What a handler that needs only the service takes.
pub(super) type Served = State<Arc<Service>>;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
    /// Requests being answered now.
    in_flight: Arc<AtomicU64>,
}

impl Front {
    pub(super) fn new(service: Arc<Service>, metrics: Arc<Metrics>) -> Self {
        let in_flight = Arc::default();
        Self {
            service,
            metrics,
            in_flight,
        }
    }

    /// Lets a request in, until what is returned is dropped, or refuses it at once.
    pub(super) fn enter(&self, uri: &Uri) -> Result<Entered<'_>, Problem> {
        let entered = Entered::new(&self.in_flight);
        let limits = self.service.limits();
        if entered.count > limits.requests_max {
            let detail = format!(
                "{} requests are being answered already",
                limits.requests_max
            );
            let next = "try again when Retry-After has passed, or ask another server";
            let problem = Problem::new(Kind::OVERLOADED, detail, next);
            return Err(problem.with_retry_after(OVERLOAD_RETRY));
        }
        let target = uri.path_and_query().map_or("", |target| target.as_str());
        if target.len() > limits.target_len_max {
            let max = limits.target_len_max;
            let detail = format!("the path with its query has {} bytes", target.len());
            let next = format!("send at most {max} bytes");
            return Err(Problem::new(Kind::TARGET_TOO_LONG, detail, next));
        }
        Ok(entered)
    }

    /// Waits for an answer, within bounds.
    pub(super) async fn in_time<T>(
        &self,
        answering: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let answer_max = self.service.limits().answer_max;
        let answered = tokio::time::timeout(answer_max, answering).await;
        answered.unwrap_or_else(|_| {
            let detail = "the store did not answer in time";
            let next = "try again when Retry-After has passed";
            let problem = Problem::new(Kind::STORE_UNAVAILABLE, detail, next);
            Err(problem.with_retry_after(OVERLOAD_RETRY))
        })
    }

    /// An error as the callers of a route expect it; `host` is where they found us.
    pub(super) fn explain(
        route: Route,
        uri: &Uri,
        host: Option<&HeaderValue>,
        problem: &Problem,
    ) -> Answer {
        if route.is_leafs() {
            leaf::error(uri, problem)
        } else {
            problem.answer(uri, host)
        }
    }
}

impl FromRef<Front> for Arc<Service> {
    fn from_ref(front: &Front) -> Self {
        Arc::clone(&front.service)
    }
}

/// A request that is being answered.
pub(super) struct Entered<'a> {
    in_flight: &'a AtomicU64,
    /// How many were, with this one.
    count: u64,
}

impl<'a> Entered<'a> {
    fn new(in_flight: &'a AtomicU64) -> Self {
        // Relaxed: only the count matters, nothing is read behind it.
        let count = in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        Self { in_flight, count }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
