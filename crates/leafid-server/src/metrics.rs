//! `Metrics`: what `/metrics` tells. Requests step plain atomic counters; everything else is put
//! together when somebody asks.
//!
//! Names follow the conventions of Prometheus: seconds, `_total` on counters. The number of
//! series is bounded: tags beyond `metrics_tags_max` are summed up under the tag `(other)`.

mod connections;
mod grpc;
mod http;
mod resp;
mod scrape;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leafid::{Clock, Tag};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use self::connections::ConnectionCounts;
use crate::alarms::EventCounts;
use crate::service::Service;
use crate::tls::Tls;
use crate::watch::Watch;

pub(crate) use self::connections::{Connected, DoorName};
pub(crate) use self::grpc::GrpcCounts;
#[cfg(test)]
pub(crate) use self::grpc::name as grpc_name;
pub(crate) use self::http::HttpCounts;
pub(crate) use self::resp::RespCounts;

/// All that is counted.
pub(crate) struct Metrics {
    pub(crate) http: HttpCounts,
    pub(crate) grpc: GrpcCounts,
    pub(crate) resp: Arc<RespCounts>,
    pub(crate) connections: ConnectionCounts,
    events: Arc<EventCounts>,
    watch: Arc<Watch>,
    /// `None`: connections are plain.
    pub(crate) tls: Option<Arc<Tls>>,
    clock: Arc<dyn Clock>,
    started: Duration,
    /// Tags with series of their own. Once in, a tag stays in, so that its counters do not jump.
    tags: Mutex<BTreeSet<Tag>>,
}

impl Metrics {
    pub(crate) fn new(
        events: Arc<EventCounts>,
        watch: Arc<Watch>,
        clock: Arc<dyn Clock>,
        tls: Option<Arc<Tls>>,
    ) -> Self {
        Self {
            http: HttpCounts::default(),
            grpc: GrpcCounts::default(),
            resp: Arc::default(),
            connections: ConnectionCounts::default(),
            events,
            watch,
            tls,
            started: clock.now(),
            clock,
            tags: Mutex::default(),
        }
    }

    /// Of nothing, for tests of what counts.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        let clock = Arc::new(leafid::SystemClock::new());
        Self::new(Arc::default(), Arc::new(Watch::new()), clock, None)
    }

    /// The text of a scrape.
    pub(crate) fn text(self: &Arc<Self>, service: &Arc<Service>) -> String {
        let mut registry = Registry::with_prefix("leafid");
        registry.register_collector(Box::new(scrape::Scrape {
            metrics: Arc::clone(self),
            service: Arc::clone(service),
        }));
        let mut out = String::new();
        // Writing to a string does not fail.
        let _written = text::encode(&mut out, &registry);
        out
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
