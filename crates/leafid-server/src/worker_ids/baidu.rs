//! `WorkerNodeRow`: this server's row in `WORKER_NODE`, the table of Baidu's uid-generator, whose
//! number is the worker id.
//!
//! The table gives a number once, as long as it keeps its rows. Where it was emptied, or restored
//! from an older copy, it gives numbers again that are in use. So the row is looked at every half
//! `registry-check`: a server that does not find its own issues no more snowflake ids.

use std::net::SocketAddr;
use std::time::Duration;

use leafid::WorkerRegistry;
use leafid::store::StoreError;
use leafid_stores::baidu::{WorkerKind, WorkerNode, assign, is_assigned};
use leafid_stores::{StoreOptions, StoreUrl};
use tokio::time::MissedTickBehavior;

use crate::config::Config;

/// The row that a server inserted at its start.
pub struct WorkerNodeRow {
    url: StoreUrl,
    options: StoreOptions,
    number: u64,
    node: WorkerNode,
    interval: Duration,
}

impl WorkerNodeRow {
    /// Inserts the row of a server that listens at `http` and is known to others by `name`.
    pub(super) async fn insert(
        url: StoreUrl,
        name: String,
        config: &Config,
        http: SocketAddr,
    ) -> Result<Self, StoreError> {
        let now = crate::wall_clock::now().as_millisecond();
        let node = WorkerNode {
            host: name,
            port: format!("{now}-{}", http.port()),
            kind: WorkerKind::Actual,
        };
        let options = config.store_options();
        let row = Self {
            number: assign(&url, &node, &options).await?,
            interval: config.workers.check_interval / 2,
            url,
            options,
            node,
        };
        // A user who may insert but not select would leave it unguarded.
        match row.is_there().await? {
            true => Ok(row),
            false => Err(StoreError::unavailable(
                "the row that was inserted into WORKER_NODE is not there",
                "another server answered, or it was deleted",
            )),
        }
    }

    async fn is_there(&self) -> Result<bool, StoreError> {
        is_assigned(&self.url, self.number, &self.node, &self.options).await
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Stops a registry once the row is gone. A database that does not answer changes nothing.
    ///
    /// A look that hangs ends when the next one is due, so that a table which lost the row during
    /// it is noticed within two intervals of answering again.
    pub(crate) async fn watch(self, registry: WorkerRegistry) {
        let mut looks = tokio::time::interval(self.interval);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut fails = false;
        loop {
            looks.tick().await;
            let looked = tokio::time::timeout(self.interval, self.is_there()).await;
            let looked = looked.unwrap_or_else(|elapsed| {
                Err(StoreError::unavailable(
                    "the database does not answer",
                    elapsed,
                ))
            });
            let failed_before = std::mem::replace(&mut fails, looked.is_err());
            match looked {
                Ok(true) if failed_before => tracing::info!(
                    worker = self.number,
                    registry = %self.url,
                    "this server's row in WORKER_NODE can be read again"
                ),
                Ok(true) => {}
                Ok(false) => {
                    registry.stop();
                    tracing::error!(
                        worker = self.number,
                        registry = %self.url,
                        "snowflake ids stop: this server's row in WORKER_NODE is gone, so another \
                         server may get its worker id; restore the table's rows, or raise its \
                         AUTO_INCREMENT above every worker id in use, and restart this server"
                    );
                    return;
                }
                Err(_) if failed_before => {}
                Err(error) => tracing::warn!(
                    worker = self.number,
                    registry = %self.url,
                    %error,
                    "cannot read this server's row in WORKER_NODE: if the table loses it \
                     meanwhile, that goes unnoticed, and ids can repeat"
                ),
            }
        }
    }
}

impl std::fmt::Debug for WorkerNodeRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerNodeRow")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
