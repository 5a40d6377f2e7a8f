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
        Ok(Self {
            number: assign(&url, &node, &options).await?,
            interval: config.workers.check_interval / 2,
            url,
            options,
            node,
        })
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Stops a registry once the row is gone. A database that does not answer changes nothing.
    pub(crate) async fn watch(self, registry: WorkerRegistry) {
        loop {
            tokio::time::sleep(self.interval).await;
            let looked = is_assigned(&self.url, self.number, &self.node, &self.options);
            match looked.await {
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
                Err(error) => tracing::debug!(%error, "cannot look at the row in WORKER_NODE"),
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
