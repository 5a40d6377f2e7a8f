//! `Running`: a server that accepts connections, and its shutdown step by step.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::error::ServeError;
use crate::net::runtimes::CoreRuntimes;
use crate::net::shutdown::{Shutdown, within};
use crate::service::Service;
use crate::service::health::Phase;

/// A server that accepts connections.
pub(super) struct Running {
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

    /// Stops accepting, finishes what is in flight, and gives the worker id back.
    pub(super) async fn finish(self) {
        self.service.health().enter(Phase::Draining);
        tracing::info!("shutting down: requests in flight are finished, new ones refused");
        self.shutdown.ask();
        // A task ends by itself or not at all: a panic has ended the process.
        let _ended = self.connections.await;
        if !within(self.shutdown_grace, self.service.end_audit()).await {
            tracing::warn!(target: "audit", "the last changes may be in the log only");
        }
        self.service.stop();
        if let Some(driver) = self.registry_driver {
            give_back(driver, self.shutdown_grace).await;
        }
        if !self.startup.is_finished() {
            self.startup.abort();
        }
        // From here on the store is not needed.
        drop(self.runtimes);
    }
}

/// Waits until the worker id is given back, so that another server need not wait for the end of its
/// lease.
async fn give_back(mut driver: JoinHandle<()>, grace: Duration) {
    if within(grace, async { drop((&mut driver).await) }).await {
        return;
    }
    driver.abort();
    tracing::warn!(
        "the worker id could not be given back within the grace period; it stays leased to \
         this server"
    );
}
