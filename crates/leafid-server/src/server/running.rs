//! `Running`: a server that accepts connections, and its shutdown step by step.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::error::ServeError;
use crate::net::runtimes::CoreRuntimes;
use crate::net::shutdown::{Shutdown, within};
use crate::service::Service;
use crate::service::health::Phase;

/// How long a stop waits for the last traces.
const TRACES_MAX: Duration = Duration::from_secs(1);
/// The most of the grace period that is kept for what follows the last connection.
const REST_MAX: Duration = Duration::from_secs(2);

/// A server that accepts connections.
pub(super) struct Running {
    /// What sends traces, and what tells it to send the last ones.
    pub(super) traces: Option<(JoinHandle<()>, Arc<Notify>)>,
    pub(super) service: Arc<Service>,
    /// Completes once no connection is served any longer.
    pub(super) connections: JoinHandle<()>,
    /// A call of an admin opens store connections on the runtime that serves it, so they last no
    /// longer than the runtimes, and giving the worker id back needs them.
    pub(super) runtimes: Arc<CoreRuntimes>,
    pub(super) startup: JoinHandle<Result<(), ServeError>>,
    pub(super) registry_driver: Option<JoinHandle<()>>,
    /// Asks connections to finish.
    pub(super) shutdown: Shutdown,
    pub(super) shutdown_delay: Duration,
    pub(super) shutdown_grace: Duration,
}

impl Running {
    /// Reports that it is not ready, and continues to serve until load balancers have had time to
    /// notice.
    pub(super) async fn leave(&self) {
        if self.shutdown_delay.is_zero() {
            return;
        }
        self.service.health().enter(Phase::Leaving);
        let delay = self.shutdown_delay;
        tracing::info!(
            ?delay,
            "shutting down: not ready; requests are served meanwhile"
        );
        self.shutdown.leave();
        tokio::time::sleep(delay).await;
    }

    /// Stops accepting, finishes what is in flight, and gives the worker id back: all of it within
    /// `shutdown_grace`.
    pub(super) async fn finish(self) {
        let deadline = Instant::now() + self.shutdown_grace;
        self.service.health().enter(Phase::Draining);
        tracing::info!("shutting down: requests in flight are finished, new ones refused");
        self.shutdown.ask();
        // A task ends by itself or not at all: a panic has ended the process.
        let _ended = self.connections.await;
        self.service.stop();
        let left = deadline.saturating_duration_since(Instant::now());
        let service = &self.service;
        let audit = async {
            if !within(left, service.end_audit()).await {
                tracing::warn!(target: "audit", "the last changes may be in the log only");
            }
        };
        let registry = async {
            if let Some(driver) = self.registry_driver {
                give_back(service, driver, left).await;
            }
        };
        let traces = async {
            if let Some((exporter, last)) = self.traces {
                last.notify_one();
                within(left.min(TRACES_MAX), async { drop(exporter.await) }).await;
            }
        };
        tokio::join!(audit, registry, traces);
        if !self.startup.is_finished() {
            self.startup.abort();
        }
        // From here on the store is not needed.
        drop(self.runtimes);
    }
}

/// How long connections may take of the whole grace period: the rest is for the audit log and for
/// giving the worker id back.
pub(super) fn of_connections(grace: Duration) -> Duration {
    grace.saturating_sub((grace / 4).min(REST_MAX))
}

/// Waits until the worker id is given back, so that another server need not wait for the end of its
/// lease.
async fn give_back(service: &Service, mut driver: JoinHandle<()>, left: Duration) {
    if within(left, async { drop((&mut driver).await) }).await {
        return;
    }
    // Before the driver ends, which would be given as the reason.
    let closed = service.closed_registry().await;
    driver.abort();
    if let Some(closed) = closed {
        tracing::warn!("the grace period is over before the worker id was given back: {closed}");
    }
}
