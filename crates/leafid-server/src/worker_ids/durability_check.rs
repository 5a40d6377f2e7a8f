//! `DurabilityChecked`: a registry whose durability is checked before each claim and each
//! extension, so that neither is made in a registry that could lose it. All other calls pass
//! through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leafid::WorkerId;
use leafid::store::{
    LeaseRecord, LeaseStore, LeaseSwap, StoreError, StoreReport, StoreResult, Transport,
};
use prometheus_client::metrics::counter::Counter;

/// A registry whose durability is checked.
pub(crate) struct DurabilityChecked {
    leases: Arc<dyn LeaseStore>,
    /// Whether to use a registry that could lose a claim.
    allow_weak: bool,
    /// Whether its weaknesses have been logged: they are checked again at each try.
    is_logged: AtomicBool,
    /// How often a weak registry was refused.
    refused: Counter,
}

impl DurabilityChecked {
    pub(crate) fn new(leases: Arc<dyn LeaseStore>, allow_weak: bool, refused: Counter) -> Self {
        Self {
            leases,
            allow_weak,
            is_logged: AtomicBool::new(false),
            refused,
        }
    }

    fn check(&self, report: &StoreReport) -> Result<(), StoreError> {
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            self.log(report);
        }
        if report.weaknesses.is_empty() || self.allow_weak {
            return Ok(());
        }
        self.refused.inc();
        let each = report.weaknesses.iter().map(ToString::to_string);
        Err(StoreError::Unsupported {
            message: format!(
                "the registry {} could give a worker id twice: {}; to use it all the same, set \
                 allow-weak-store = true",
                report.location,
                each.collect::<Vec<_>>().join("; ")
            ),
        })
    }
}

impl DurabilityChecked {
    fn log(&self, report: &StoreReport) {
        tracing::info!(
            product = report.product,
            location = report.location,
            connection = report.transport.as_ref().map(tracing::field::display),
            "registry of worker ids reached"
        );
        if let Some((transport, advice)) = unencrypted(report) {
            tracing::warn!("the connection to the registry of worker ids is {transport}: {advice}");
        }
        let allowed = report.weaknesses.iter().filter(|_| self.allow_weak);
        for weakness in allowed {
            tracing::warn!("weak registry of worker ids allowed: {weakness}");
        }
    }
}

impl LeaseStore for DurabilityChecked {
    fn bind<'a>(&'a self, layout: &'a str) -> StoreResult<'a, String> {
        Box::pin(async move {
            // The first call creates the tables that the second one checks.
            let bound = self.leases.bind(layout).await?;
            self.check(&self.leases.inspect().await?)?;
            Ok(bound)
        })
    }

    fn identity(&self) -> StoreResult<'_, String> {
        self.leases.identity()
    }

    fn location(&self) -> String {
        self.leases.location()
    }

    fn leases(&self) -> StoreResult<'_, Vec<LeaseRecord>> {
        self.leases.leases()
    }

    fn lease(&self, worker: WorkerId) -> StoreResult<'_, Option<LeaseRecord>> {
        self.leases.lease(worker)
    }

    fn swap<'a>(&'a self, swap: &'a LeaseSwap) -> StoreResult<'a, bool> {
        Box::pin(async move {
            // Settings can be changed at run time.
            self.check(&self.leases.inspect().await?)?;
            self.leases.swap(swap).await
        })
    }

    fn report<'a>(&'a self, record: &'a LeaseRecord, now_ms: u64) -> StoreResult<'a, ()> {
        self.leases.report(record, now_ms)
    }

    fn clock_ms(&self) -> StoreResult<'_, Option<u64>> {
        self.leases.clock_ms()
    }

    fn inspect(&self) -> StoreResult<'_, StoreReport> {
        self.leases.inspect()
    }
}

/// How the connection is exposed to others on the network, and what to change; `None` if it is not.
pub(crate) fn unencrypted(report: &StoreReport) -> Option<(&Transport, &str)> {
    let transport = report.transport.as_ref()?;
    Some((transport, transport.advice.as_deref()?))
}
