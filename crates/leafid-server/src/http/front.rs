//! `Front`: what holds for every request, whichever way it takes: it is bounded in length and time,
//! its error written down, and counted.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, State};
use hyper::Uri;
use hyper::header::HeaderValue;

use super::answer::Answer;
use super::leaf;
use super::problem::{Kind, Problem};
use super::route::Route;
use crate::metrics::Metrics;
use crate::service::{Code, Service};

/// What a caller waits before coming back after an answer that was not made in time.
const TIMEOUT_RETRY: Duration = Duration::from_secs(1);

/// What a handler that needs only the service takes.
pub(super) type Served = State<Arc<Service>>;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
    /// How the URLs begin under which callers find us.
    scheme: &'static str,
}

impl Front {
    pub(super) fn new(service: Arc<Service>, metrics: Arc<Metrics>) -> Self {
        let scheme = match metrics.tls {
            Some(_) => "https",
            None => "http",
        };
        Self {
            service,
            metrics,
            scheme,
        }
    }

    /// Refuses a request whose target is too long.
    pub(super) fn check(&self, uri: &Uri) -> Result<(), Problem> {
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
        answered.unwrap_or_else(|_| {
            let detail = "the store did not answer in time";
            let problem = Problem::of(Code::StoreUnavailable, detail);
            Err(problem.with_retry_after(TIMEOUT_RETRY))
        })
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
            leaf::error(uri, problem)
        } else {
            problem.answer(uri, self.scheme, host)
        }
    }
}

impl FromRef<Front> for Arc<Service> {
    fn from_ref(front: &Front) -> Self {
        Arc::clone(&front.service)
    }
}
