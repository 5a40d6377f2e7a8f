//! `Instruments`: what the stores and drivers report to, and the generators and the registry
//! opened with it.

use std::net::SocketAddr;
use std::sync::Arc;

use leafid::format::FormatCompiler;
use leafid::store::SegmentStore;
use leafid::{
    Clock, Driver, Generators, Observer, Options, RegistryDriver, SystemClock, WorkerRegistry,
};
use leafid_formats::{Families, Formats};

use crate::config::Config;
use crate::ops::event_log::{EventCounts, EventLog};
use crate::ops::instrumented_store::{InstrumentedStore, StoreCalls};
use crate::ops::recent::Recent;
use crate::service::regressions::Regressions;
use crate::trace::{Exporter, TracedServer, Tracer};
use crate::worker_ids::{self, DurabilityChecked, Peers, Workers};

/// What traces requests, if `otlp-endpoint` is set.
fn traces(config: &Config, clock: &Arc<dyn Clock>) -> Option<(Arc<Tracer>, Exporter)> {
    let traces = &config.traces;
    let scheme = config.store.first().and_then(|url| url.split(':').next());
    let server = TracedServer {
        endpoint: traces.endpoint.clone()?,
        sample: traces.sample,
        service: traces.service.clone(),
        // As the semantic conventions call them.
        store: match scheme {
            Some("mysql") => "mysql",
            Some("mariadb") => "mariadb",
            Some("postgres" | "postgresql") => "postgresql",
            _ => "sqlite",
        },
    };
    Tracer::open(server, Arc::clone(clock))
}

/// The event log, to which stores and drivers report.
pub(super) struct Instruments {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) formats: Formats,
    families: Families,
    pub(super) events: Arc<EventCounts>,
    pub(super) regressions: Arc<Regressions>,
    pub(super) recent: Arc<Recent>,
    event_log: Arc<dyn Observer>,
    pub(super) store_calls: Arc<StoreCalls>,
    pub(super) tracer: Option<Arc<Tracer>>,
}

impl Instruments {
    /// And what sends the traces.
    pub(super) fn new(config: &Config) -> (Self, Option<Exporter>) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let events: Arc<EventCounts> = Arc::default();
        let regressions = Arc::new(Regressions::new(Arc::clone(&clock)));
        let recent: Arc<Recent> = Arc::default();
        let event_log = EventLog::new(
            Arc::clone(&events),
            Arc::clone(&regressions),
            Arc::clone(&recent),
            Arc::clone(&clock),
        );
        let families = Families::new(Arc::clone(&clock));
        let (tracer, exporter) = traces(config, &clock).unzip();
        let instruments = Self {
            tracer,
            clock,
            formats: Formats::new().with_families(families.clone()),
            families,
            events,
            regressions,
            recent,
            event_log: Arc::new(event_log),
            store_calls: Arc::new(StoreCalls::new()),
        };
        (instruments, exporter)
    }

    /// TSID and CosId take their bits for a server from its lease, with the embedded store too:
    /// random ones could repeat after a restart whose clock is behind.
    pub(super) fn set_snowflake(&self, registry: &WorkerRegistry) {
        self.families.set_snowflake(registry.snowflake());
    }

    pub(super) fn open_generators(
        &self,
        config: &Config,
        store: Arc<dyn SegmentStore>,
    ) -> (Generators, Driver) {
        let calls = Arc::clone(&self.store_calls);
        let store =
            InstrumentedStore::new(store, calls, Arc::clone(&self.clock), self.tracer.clone());
        Generators::open_with(
            Arc::new(store),
            Arc::clone(&self.clock),
            Arc::clone(&self.event_log),
            options(config, self.formats.clone().alone(config.is_embedded())),
        )
    }

    pub(super) fn open_registry(
        &self,
        config: &Config,
        workers: Workers,
        peers: Peers,
        http_addr: SocketAddr,
    ) -> (WorkerRegistry, RegistryDriver) {
        let options = worker_ids::options(config, &workers, http_addr);
        let builder = WorkerRegistry::builder()
            .journal(workers.journal)
            .peers(Arc::new(peers))
            .clock(Arc::clone(&self.clock))
            .observer(Arc::clone(&self.event_log))
            .options(options);
        let builder = match workers.leases {
            None => builder,
            Some(leases) => {
                let allow_weak = config.allow_weak_store;
                let refused = self.events.weak_stores.clone();
                builder.store(DurabilityChecked::new(leases, allow_weak, refused))
            }
        };
        builder.build()
    }
}

fn options(config: &Config, formats: Formats) -> Options {
    Options::default()
        .with_formats(Some(FormatCompiler::new(formats)))
        .with_policy(config.policy)
        .with_wait_max(config.wait_max)
        .with_refresh_interval(config.refresh_interval)
        .with_probe_interval(config.store_probe_interval)
        .with_tags_max(config.tags_max)
        .with_regression_margin(config.regression_margin)
        // With more, requests for new tags would compete with tags in use for the store's
        // connections.
        .with_calls_max(usize::try_from(config.store_connections).unwrap_or(usize::MAX))
}
