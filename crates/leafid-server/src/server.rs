//! `Server`: wires the parts together, and runs until the shutdown.

mod instruments;
mod running;
mod startup;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::{MemoryStore, SegmentStore};
use leafid::{Generators, Options, RegistryDriver, WorkerRegistry};
use leafid_stores::AuditStore;
use tokio::sync::Notify;

use crate::config::{Addresses, Config, Limits};
use crate::error::ServeError;
use crate::frontends::grpc::{GrpcCounts, GrpcFrontEnd};
use crate::frontends::http::{Console, Hosts, HttpCounts, HttpFrontEnd, RequestContext};
use crate::frontends::resp::{RespCounts, RespFrontEnd};
use crate::net::acceptor::Acceptor;
use crate::net::connection_counts::ConnectionCounts;
use crate::net::connection_limiter::ConnectionLimiter;
use crate::net::listeners::Listeners;
use crate::net::progress::Progress;
use crate::net::runtimes::CoreRuntimes;
use crate::net::shutdown::Shutdown;
use crate::net::unread::Unread;
use crate::ops::metrics::{CountedCalls, Counters, Metrics};
use crate::ops::monitor::{About, Monitor};
use crate::service::health::{Health, Kinds};
use crate::service::{Audit, AuditWriter, Service};
use crate::trace::Exporter;
use crate::worker_ids::{self, Peers, WorkerNodeRow, Workers};

use instruments::Instruments;
use running::Running;
use startup::Startup;

/// The stores of a server.
///
/// # Example
///
/// See [`Server`].
pub struct Stores {
    /// Where segments are reserved.
    pub segments: Arc<dyn SegmentStore>,
    /// The source of the worker id of snowflake ids; `None`: there are none.
    pub workers: Option<Workers>,
    /// The audit log; `None`: changes are only logged.
    pub audit: Option<Arc<dyn AuditStore>>,
}

/// A server, ready to run.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use leafid::store::MemoryStore;
/// use leafid_server::{Config, Limits, Listeners, Server, Stores};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let config = Config { allow_weak_store: true, ..Config::default() };
/// let listeners = Listeners::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?).await?;
/// let stores = Stores { segments: Arc::new(MemoryStore::new()), workers: None, audit: None };
/// let server = Server::new(&config, Limits::default(), stores, listeners);
/// println!("http://{}", server.http_addr());
/// server.run(async { /* the shutdown */ }).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    listeners: Listeners,
    service: Arc<Service>,
    front_ends: FrontEnds,
    connections: Arc<ConnectionCounts>,
    unread: Arc<Unread>,
    startup: Startup,
    audit_writer: AuditWriter,
    registry_driver: Option<RegistryDriver>,
    worker_node: Option<(WorkerNodeRow, WorkerRegistry)>,
    shutdown_delay: Duration,
    shutdown_grace: Duration,
    /// The number of threads that serve connections.
    threads: usize,
    progress: Progress,
    /// Sends traces; `None`: there are none.
    exporter: Option<Exporter>,
}

/// One listener for each protocol; disabled ones have none.
struct FrontEnds {
    http: Arc<HttpFrontEnd>,
    resp: Arc<RespFrontEnd>,
    grpc: Arc<GrpcFrontEnd>,
    /// What the console of HTTP shows.
    monitor: Arc<Monitor>,
}

/// What the front ends are made of.
struct Made<'a> {
    service: Arc<Service>,
    instruments: &'a Instruments,
    peers: Peers,
    about: About,
}

impl Server {
    /// Wires a server. Nothing is read or reserved yet.
    #[must_use]
    pub fn new(config: &Config, limits: Limits, stores: Stores, listeners: Listeners) -> Self {
        let http_addr = listeners.http_addr();
        let (instruments, exporter) = Instruments::new(config);
        let clock = &instruments.clock;
        let (generators, driver) = instruments.open_generators(config, stores.segments);
        let peers = Peers::new(listeners.tls.clone());
        let console_peers = peers.clone();
        let mut workers = stores.workers;
        let worker_node = workers
            .as_mut()
            .and_then(|workers| workers.worker_node.take());
        let opened = workers
            .map(|workers| instruments.open_registry(config, workers, peers.clone(), http_addr));
        let (registry, registry_driver) = opened.unzip();
        if let Some(registry) = &registry {
            instruments.set_snowflake(registry);
        }
        let worker_node = worker_node.zip(registry.clone());
        let kinds = Kinds {
            segment: config.segment,
            registry: registry.clone(),
            row_looks: worker_node.as_ref().and_then(|(row, _)| row.looks()),
        };
        let name = worker_ids::name(config, http_addr);
        let (audit, audit_writer) = Audit::new(name.clone(), Arc::clone(clock), stores.audit);
        let regressions = Arc::clone(&instruments.regressions);
        let health = Health::new(kinds, generators.clone(), Arc::clone(clock), regressions);
        let service = Arc::new(Service::new(
            (generators, instruments.formats.clone()),
            registry.map(|registry| (registry, peers)),
            health,
            Arc::clone(clock),
            audit,
            limits,
            config,
        ));
        let connections: Arc<ConnectionCounts> = Arc::default();
        let unread = Unread::new(&limits);
        let startup = Startup {
            service: Arc::clone(&service),
            driver,
            clock: Arc::clone(clock),
            allow_weak_store: config.allow_weak_store,
        };
        let about = About::new(name, listeners.addresses(), config);
        let made = Made {
            service: Arc::clone(&service),
            instruments: &instruments,
            peers: console_peers,
            about,
        };
        let front_ends = FrontEnds::new(config, made, &listeners, |calls| Counters {
            calls,
            connections: Arc::clone(&connections),
            unread: Arc::clone(&unread),
            events: Arc::clone(&instruments.events),
            store: Arc::clone(&instruments.store_calls),
            tls: listeners.tls.clone(),
            tracer: instruments.tracer.clone(),
        });
        Self {
            front_ends,
            connections,
            unread,
            listeners,
            startup,
            service,
            audit_writer,
            registry_driver,
            worker_node,
            shutdown_delay: config.shutdown_delay,
            shutdown_grace: config.shutdown_grace,
            threads: config.thread_count(),
            progress: Progress::default(),
            exporter,
        }
    }

    /// The addresses of the front ends, with the ports that were picked.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.listeners.addresses()
    }

    /// The address of HTTP.
    #[must_use]
    pub fn http_addr(&self) -> SocketAddr {
        self.listeners.http_addr()
    }

    /// The service behind the front ends.
    #[must_use]
    pub fn service(&self) -> Arc<Service> {
        Arc::clone(&self.service)
    }

    /// Whether the threads that serve connections make progress, while the server runs.
    ///
    /// # Example
    ///
    /// ```
    /// # async fn example(server: leafid_server::Server) -> Result<(), leafid_server::ServeError> {
    /// let progress = server.progress();
    /// server
    ///     .run(async move {
    ///         // Never, if a thread hangs.
    ///         progress.of_all_threads().await;
    ///     })
    ///     .await
    /// # }
    /// ```
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Serves until `shutdown` is ready, continues for `shutdown_delay` while it reports that it is
    /// not ready, then finishes the requests in flight, within `shutdown_grace`.
    ///
    /// # Errors
    ///
    /// [`ServeError::WeakStore`] and [`ServeError::UnfitStore`], as soon as the store was reached;
    /// [`ServeError::Threads`].
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let mut running = self.begin()?;
        let ended = tokio::select! {
            ended = &mut running.startup => ended.unwrap_or(Ok(())),
            () = shutdown => {
                running.leave().await;
                Ok(())
            }
        };
        running.finish().await;
        ended
    }

    /// Accepts connections, and spawns the drivers.
    ///
    /// Not within `run`: that is compiled in the crate of its caller, for the type of the shutdown,
    /// and all that serves connections would be compiled there with it.
    fn begin(self) -> Result<Running, ServeError> {
        let shutdown = Shutdown::new();
        let runtimes = CoreRuntimes::start(self.threads).map_err(ServeError::Threads)?;
        self.progress.watch(runtimes.handles());
        let runtimes = Arc::new(runtimes);
        let acceptor = Acceptor {
            runtimes: Arc::clone(&runtimes),
            limiter: ConnectionLimiter::new(self.service.limits()),
            counts: self.connections,
            unread: self.unread,
            shutdown: shutdown.clone(),
            tls: self.listeners.tls.clone(),
        };
        let (monitor, service) = (
            Arc::clone(&self.front_ends.monitor),
            Arc::clone(&self.service),
        );
        // It ends with the process.
        tokio::spawn(async move { monitor.sample(&service).await });
        let serving = serve(
            acceptor,
            self.front_ends,
            self.listeners,
            running::of_connections(self.shutdown_grace),
        );
        // Both end with the process at the latest.
        tokio::spawn(self.audit_writer.run());
        if let Some((row, registry)) = self.worker_node {
            tokio::spawn(row.watch(registry));
        }
        let traces = self.exporter.map(|exporter| {
            let last = Arc::new(Notify::new());
            (tokio::spawn(exporter.run(Arc::clone(&last))), last)
        });
        Ok(Running {
            traces,
            service: self.service,
            connections: tokio::spawn(serving),
            runtimes,
            startup: tokio::spawn(self.startup.run()),
            registry_driver: self.registry_driver.map(tokio::spawn),
            shutdown,
            shutdown_delay: self.shutdown_delay,
            shutdown_grace: self.shutdown_grace,
        })
    }
}

impl FrontEnds {
    fn new(
        config: &Config,
        made: Made<'_>,
        listeners: &Listeners,
        counters: impl FnOnce(Vec<Arc<dyn CountedCalls>>) -> Counters,
    ) -> Self {
        let clock = &made.instruments.clock;
        let (http, grpc, resp): (Arc<HttpCounts>, Arc<GrpcCounts>, Arc<RespCounts>) =
            Default::default();
        let counters = counters(vec![http.clone(), grpc.clone(), resp.clone()]);
        let hosts = Hosts::new(listeners.http_addr(), &config.allowed_hosts);
        let scheme = match listeners.tls {
            Some(_) => "https",
            None => "http",
        };
        let tracer = counters.tracer.clone();
        let counters = Arc::new(counters);
        let metrics = Arc::new(Metrics::new(Arc::clone(&counters), Arc::clone(clock)));
        let recent = Arc::clone(&made.instruments.recent);
        let monitor = Monitor::new(made.about, recent, counters, Arc::clone(clock));
        let monitor = Arc::new(monitor);
        let service = || Arc::clone(&made.service);
        Self {
            http: Arc::new(HttpFrontEnd::new(RequestContext {
                service: service(),
                metrics,
                counts: http,
                console: Arc::new(Console::new(
                    Arc::clone(&monitor),
                    made.peers,
                    Arc::clone(clock),
                )),
                hosts: Arc::new(hosts),
                scheme,
                tracer: tracer.clone(),
            })),
            resp: Arc::new(RespFrontEnd::new(service(), resp)),
            grpc: Arc::new(GrpcFrontEnd::new(service(), grpc, tracer)),
            monitor,
        }
    }
}

/// Serves the connections of all front ends until the shutdown, and for up to `grace` after it.
async fn serve(acceptor: Acceptor, front_ends: FrontEnds, listeners: Listeners, grace: Duration) {
    tokio::join!(
        acceptor.serve(front_ends.http, Some(listeners.http)),
        acceptor.serve(front_ends.resp, listeners.resp),
        acceptor.serve(front_ends.grpc, listeners.grpc),
    );
    acceptor.limiter.wait_until_idle(grace).await;
}

/// Does what is cheap only while the process has a single thread. Call it first, before any runtime
/// is created; the start is about 10 ms faster then.
///
/// The map of loaded tags registers with the kernel for cheap memory barriers, once per process.
/// With one thread that returns at once; with more the kernel waits for all processors.
///
/// # Example
///
/// ```
/// leafid_server::warm_up();
/// let runtime = tokio::runtime::Runtime::new()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn warm_up() {
    drop(Generators::open(MemoryStore::new(), Options::default()));
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("http", &self.http_addr())
            .finish_non_exhaustive()
    }
}
