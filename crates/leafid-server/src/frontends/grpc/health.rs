//! `grpc.health.v1.Health`: whether this server is ready, as a whole and by service. All of them
//! follow readiness, as `/readyz` does.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::methods::{Answered, Methods};
use super::v1::{ids_server, tags_server};
use crate::excerpt::shown;
use crate::service::Service;

/// How often `Watch` checks the server. The shutdown is noticed at once.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The services that can be asked about; the empty name is the server as a whole.
const NAMES: [&str; 3] = ["", ids_server::SERVICE_NAME, tags_server::SERVICE_NAME];

#[tonic::async_trait]
impl Health for Methods {
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

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    /// Streams the state of the service, now and each time that it changes.
    async fn watch(&self, request: Request<HealthCheckRequest>) -> Answered<Self::WatchStream> {
        let name = request.into_inner().service;
        if !NAMES.contains(&name.as_str()) {
            // The definition allows an unknown service to appear later, so the stream stays open.
            let unknown = stream::once(ready(Ok(response(ServingStatus::ServiceUnknown))));
            return Ok(Response::new(unknown.chain(stream::pending()).boxed()));
        }
        let service = Arc::clone(&self.service);
        let states = stream::unfold(None, move |reported| {
            let service = Arc::clone(&service);
            async move {
                let now = changed(&service, reported).await;
                Some((Ok(response(now)), Some(now)))
            }
        });
        Ok(Response::new(states.boxed()))
    }
}

/// Waits until the state is another than the one that was `reported`.
async fn changed(service: &Service, reported: Option<ServingStatus>) -> ServingStatus {
    loop {
        let now = now(service);
        if reported != Some(now) {
            return now;
        }
        // Either way it is time to check.
        let changed = service.health().changed();
        let _came = tokio::time::timeout(LOOK_INTERVAL, changed).await;
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
