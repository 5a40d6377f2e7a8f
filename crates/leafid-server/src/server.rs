//! `Server`: the parts put together, run until a shutdown from outside.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::{LeaseStore, MemoryStore, SegmentStore};
use leafid::{
    Clock, Generators, Observer, Options, RegistryDriver, RegistryParts, SystemClock,
    WorkerRegistry,
};
use leafid_stores::AuditStore;
use tokio::task::JoinHandle;

use crate::alarms::{Alarms, EventCounts};
use crate::config::{Addresses, Config, Limits};
use crate::error::ServeError;
use crate::grpc::GrpcDoor;
use crate::health::{Health, Kinds, Phase};
use crate::http::{Door, Hosts};
use crate::lanes::Lanes;
use crate::listen::{Hall, Places};
use crate::listeners::Listeners;
use crate::metrics::Metrics;
use crate::regressions::Regressions;
use crate::resp::RespDoor;
use crate::service::{Audit, Scribe, Service};
use crate::shutdown::{Shutdown, within};
use crate::supply::Supply;
use crate::watch::{Watch, Watched};
use crate::workers::{self, Judged, Peers, Workers};

/// Where ids come from.
///
/// # Example
///
/// See [`Server`].
pub struct Stores {
    /// Where segments are reserved.
    pub segments: Arc<dyn SegmentStore>,
    /// What the worker id of snowflake ids comes from; `None`: there are none.
    pub workers: Option<Workers>,
    /// Where changes are recorded; `None`: in the log only.
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
    metrics: Arc<Metrics>,
    supply: Supply,
    scribe: Scribe,
    registry_driver: Option<RegistryDriver>,
    shutdown_delay: Duration,
    /// The names under which HTTP may be called.
    hosts: Hosts,
    shutdown_grace: Duration,
    /// How many serve connections.
    threads: usize,
}

impl Server {
    /// Puts a server together. Nothing is read or reserved yet.
    #[must_use]
    pub fn new(config: &Config, limits: Limits, stores: Stores, listeners: Listeners) -> Self {
        let Stores {
            segments,
            workers,
            audit,
        } = stores;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let watch = Arc::new(Watch::new());
        let watched = Watched::new(segments, Arc::clone(&watch), Arc::clone(&clock));
        let events = Arc::new(EventCounts::default());
        let regressions = Arc::new(Regressions::new(Arc::clone(&clock)));
        let alarms = Alarms::new(
            Arc::clone(&events),
            Arc::clone(&regressions),
            Arc::clone(&clock),
        );
        let alarms: Arc<dyn Observer> = Arc::new(alarms);
        let (generators, driver) = Generators::open_with(
            Arc::new(watched),
            Arc::clone(&clock),
            Arc::clone(&alarms),
            options(config),
        );
        let peers = Peers::new(listeners.tls.clone());
        let opened = workers.map(|workers| {
            let options = workers::options(config, &workers, listeners.http_addr());
            let judged = |leases| {
                let judged = Judged::new(leases, config.allow_weak_store, Arc::clone(&events));
                Arc::new(judged) as Arc<dyn LeaseStore>
            };
            let parts = RegistryParts {
                store: workers.leases.map(judged),
                journal: workers.journal,
                peers: Arc::new(peers.clone()),
                clock: Arc::clone(&clock),
                observer: alarms,
            };
            WorkerRegistry::open_with(parts, options)
        });
        let (registry, registry_driver) = opened.unzip();
        let kinds = Kinds {
            segment: config.segment,
            registry: registry.clone(),
        };
        let name = workers::name(config, listeners.http_addr());
        let (audit, scribe) = Audit::new(name, Arc::clone(&clock), audit);
        let health = Health::new(kinds, generators.clone(), Arc::clone(&clock), regressions);
        let service = Arc::new(Service::new(
            generators,
            registry.map(|registry| (registry, peers)),
            health,
            Arc::clone(&clock),
            audit,
            limits,
            config,
        ));
        let hosts = Hosts::new(listeners.http_addr(), &config.allowed_hosts);
        Self {
            hosts,
            metrics: Arc::new(Metrics::new(
                events,
                watch,
                Arc::clone(&clock),
                listeners.tls.clone(),
                &limits,
            )),
            listeners,
            supply: Supply {
                service: Arc::clone(&service),
                driver,
                clock,
                allow_weak_store: config.allow_weak_store,
            },
            service,
            scribe,
            registry_driver,
            shutdown_delay: config.shutdown_delay,
            shutdown_grace: config.shutdown_grace,
            threads: config.thread_count(),
        }
    }

    /// Where the doors listen, with the ports that were taken.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.listeners.addresses()
    }

    /// Where HTTP listens.
    #[must_use]
    pub fn http_addr(&self) -> SocketAddr {
        self.listeners.http_addr()
    }

    /// The service behind the front ends.
    #[must_use]
    pub fn service(&self) -> Arc<Service> {
        Arc::clone(&self.service)
    }

    /// Serves until `shutdown` is ready, goes on for `shutdown_delay` without being ready, then
    /// finishes what is in flight, within `shutdown_grace`.
    ///
    /// # Errors
    ///
    /// [`ServeError::WeakStore`] and [`ServeError::UnfitStore`], as soon as the store was reached;
    /// [`ServeError::Threads`].
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let mut running = self.begin()?;
        let ended = tokio::select! {
            ended = &mut running.supply => ended.unwrap_or(Ok(())),
            () = shutdown => {
                running.leave().await;
                Ok(())
            }
        };
        running.finish().await;
        ended
    }

    /// Opens the doors and places the drivers.
    ///
    /// Not within `run`: that is compiled in the crate of its caller, for the type of the shutdown,
    /// and all that serves connections would be compiled there with it.
    fn begin(self) -> Result<Running, ServeError> {
        let Self {
            listeners,
            service,
            metrics,
            supply,
            scribe,
            registry_driver,
            shutdown_delay,
            hosts,
            shutdown_grace,
            threads,
        } = self;
        let asked = Shutdown::new();
        let lanes = Arc::new(Lanes::start(threads).map_err(ServeError::Threads)?);
        let hall = Hall {
            lanes: Arc::clone(&lanes),
            places: Places::new(service.limits()),
            metrics: Arc::clone(&metrics),
            shutdown: asked.clone(),
            tls: listeners.tls,
        };
        let resp = RespDoor::new(Arc::clone(&service), Arc::clone(&metrics.resp));
        let grpc = GrpcDoor::new(Arc::clone(&service), Arc::clone(&metrics));
        let http = Arc::new(Door::new(Arc::clone(&service), metrics, hosts));
        let doors = tokio::spawn(async move {
            tokio::join!(
                hall.listen(http, listeners.http.socket),
                hall.listen_if(Arc::new(resp), listeners.resp),
                hall.listen_if(Arc::new(grpc), listeners.grpc),
            );
            hall.places.wait_until_empty(shutdown_grace).await;
        });
        // Ends with the process at the latest.
        tokio::spawn(scribe.run());
        Ok(Running {
            service,
            doors,
            lanes,
            supply: tokio::spawn(supply.run()),
            registry_driver: registry_driver.map(tokio::spawn),
            asked,
            shutdown_delay,
            shutdown_grace,
        })
    }
}

/// A server whose doors are open.
struct Running {
    service: Arc<Service>,
    /// Ends once nobody is served any more.
    doors: JoinHandle<()>,
    /// A call of an operator opens the store's connections on the lane that serves it, so they live
    /// no longer than the lanes, and giving the worker id back needs them.
    lanes: Arc<Lanes>,
    supply: JoinHandle<Result<(), ServeError>>,
    registry_driver: Option<JoinHandle<()>>,
    /// The shutdown, for the doors.
    asked: Shutdown,
    shutdown_delay: Duration,
    shutdown_grace: Duration,
}

impl Running {
    /// Is no longer ready, and serves on until those who look at that have had the time to notice.
    async fn leave(&self) {
        if self.shutdown_delay.is_zero() {
            return;
        }
        self.service.health().enter(Phase::Leaving);
        let delay = self.shutdown_delay;
        tracing::info!(
            ?delay,
            "shutting down: not ready; requests are served meanwhile"
        );
        self.asked.leave();
        tokio::time::sleep(delay).await;
    }

    /// Closes the doors, finishes what is in flight, and gives the worker id back.
    async fn finish(self) {
        self.service.health().enter(Phase::Draining);
        tracing::info!("shutting down: requests in flight are finished, new ones refused");
        self.asked.ask();
        // A task ends by itself or not at all: a panic has ended the process.
        let _ended = self.doors.await;
        if !within(self.shutdown_grace, self.service.end_audit()).await {
            tracing::warn!(target: "audit", "the last changes may be in the log only");
        }
        self.service.stop();
        if let Some(driver) = self.registry_driver {
            give_back(driver, self.shutdown_grace).await;
        }
        if !self.supply.is_finished() {
            self.supply.abort();
        }
        // From here on nobody needs the store.
        drop(self.lanes);
    }
}

/// Waits until the worker id was given back, so that another server need not wait for the end of
/// its reservation.
async fn give_back(mut driver: JoinHandle<()>, grace: Duration) {
    if within(grace, async { drop((&mut driver).await) }).await {
        return;
    }
    driver.abort();
    tracing::warn!(
        "the worker id could not be given back within the grace period; it stays reserved for \
         this server"
    );
}

/// Does what is cheap only while the process has a single thread. Call it first of all, before
/// any runtime is made; the start is some 10 ms shorter then.
///
/// The map of loaded tags asks the kernel for cheap memory barriers, once for the process. With
/// one thread that is done at once; with more the kernel waits for all processors.
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

fn options(config: &Config) -> Options {
    Options {
        policy: config.policy,
        wait_max: config.wait_max,
        refresh_interval: config.refresh_interval,
        probe_interval: config.store_probe_interval,
        tags_max: config.tags_max,
        regression_margin: config.regression_margin,
        // With more, tags in use would wait for new ones at the connections.
        calls_max: usize::try_from(config.store_connections).unwrap_or(usize::MAX),
        ..Options::default()
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("http", &self.http_addr())
            .finish_non_exhaustive()
    }
}
