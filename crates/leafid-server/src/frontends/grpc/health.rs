//! `grpc.health.v1.Health`: whether this server is ready, as a whole and by service. All of them
//! follow readiness, as `/readyz` does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio_stream::Stream;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::ids::Answered;
use super::v1::{ids_server, tags_server};
use crate::excerpt::shown;
use crate::service::Service;

/// How often `Watch` checks the server. The shutdown is noticed at once.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The services that can be asked about; the empty name is the server as a whole.
const NAMES: [&str; 3] = ["", ids_server::SERVICE_NAME, tags_server::SERVICE_NAME];

/// Answers the calls of `grpc.health.v1.Health`.
pub(super) struct HealthFrontEnd {
    service: Arc<Service>,
}

impl HealthFrontEnd {
    pub(super) fn new(service: Arc<Service>) -> Self {
        Self { service }
    }
}

#[tonic::async_trait]
impl Health for HealthFrontEnd {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Answered<HealthCheckResponse> {
        let name = request.into_inner().service;
        if NAMES.contains(&name.as_str()) {
            return Ok(Response::new(response(now(&self.service))));
        }
        // The service's definition requires this status, and clients check nothing else.
        let message = format!(
            "unknown service {:?}: ask about {}",
            shown(&name),
            NAMES[1..].join(", ")
        );
        Err(Status::not_found(message))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    /// Streams the state of the service, now and each time that it changes.
    async fn watch(&self, request: Request<HealthCheckRequest>) -> Answered<Self::WatchStream> {
        let name = request.into_inner().service;
        if !NAMES.contains(&name.as_str()) {
            // The definition allows an unknown service to appear later, so the stream stays open.
            let unknown = tokio_stream::once(Ok(response(ServingStatus::ServiceUnknown)));
            let watched = tokio_stream::StreamExt::chain(unknown, tokio_stream::pending());
            return Ok(Response::new(Box::pin(watched)));
        }
        Ok(Response::new(Box::pin(WatchStream::new(Arc::clone(
            &self.service,
        )))))
    }
}

fn now(service: &Service) -> ServingStatus {
    if service.health().readiness().is_ready() {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

/// Yields each state of a service, the present one first.
struct WatchStream {
    service: Arc<Service>,
    reported: Option<ServingStatus>,
    /// Is ready when it is time to check again.
    change: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl WatchStream {
    fn new(service: Arc<Service>) -> Self {
        let change = next_look(Arc::clone(&service));
        Self {
            service,
            reported: None,
            change,
        }
    }
}

fn next_look(service: Arc<Service>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let changed = service.health().changed();
        // Either way it is time to check.
        let _came = tokio::time::timeout(LOOK_INTERVAL, changed).await;
    })
}

impl Stream for WatchStream {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let now = now(&self.service);
            if self.reported != Some(now) {
                self.reported = Some(now);
                return Poll::Ready(Some(Ok(response(now))));
            }
            ready!(self.change.as_mut().poll(context));
            self.change = next_look(Arc::clone(&self.service));
        }
    }
}
