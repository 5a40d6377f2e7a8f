//! `Monitor`: what the console shows of this server as a whole. Computed when somebody looks, and
//! at most once a second; only the history is sampled all the time, every ten seconds.

mod history;
mod rates;
mod tag_totals;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leafid::store::StoreState;
use leafid::{Clock, Tag};

use crate::api::console::{
    CertificateFacts, History, Overview, PerProtocol, ServerFacts, ShortestCover, StoreFacts,
    TagPlace,
};
use crate::config::{Addresses, Config};
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::Counters;
use crate::ops::recent::Recent;
use crate::service::Service;
use crate::wall_clock;

use history::Samples;
use rates::{Rates, Reading};
use tag_totals::TagTotals;

pub(crate) use tag_totals::Totals;

/// How many events the overview has.
const EVENTS_SHOWN: usize = 100;
/// Rates are measured over no less than this.
const RATE_SPAN_MIN: Duration = Duration::from_millis(900);

const SECONDS_A_DAY: f64 = 86_400.0;

/// What the console shows of this server as a whole.
pub(crate) struct Monitor {
    pub(crate) about: About,
    pub(crate) recent: Arc<Recent>,
    counters: Arc<Counters>,
    clock: Arc<dyn Clock>,
    started: Duration,
    totals: TagTotals,
    live: Mutex<Live>,
    samples: Mutex<Samples>,
}

/// What does not change while the server runs.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) name: String,
    http: SocketAddr,
    resp: Option<SocketAddr>,
    grpc: Option<SocketAddr>,
    store: Option<TagPlace>,
    pub(crate) allows_weak_store: bool,
    /// The front ends that other machines reach without authentication.
    pub(crate) exposed: Vec<&'static str>,
    /// Whether other machines reach HTTP without encryption.
    pub(crate) is_plain: bool,
}

/// The last readings of the counters, for the rates.
#[derive(Debug, Default)]
struct Live {
    last: Option<Reading>,
    rates: Rates,
}

impl About {
    pub(crate) fn new(name: String, listens: Addresses, config: &Config) -> Self {
        let store = config.store_url().ok().filter(|_| config.segment);
        let Addresses { http, resp, grpc } = listens;
        let is_loopback = http.ip().to_canonical().is_loopback();
        Self {
            name,
            http,
            resp,
            grpc,
            store: store.map(|url| {
                let location = url.to_string();
                let (kind, _) = location.split_once(':').unwrap_or_default();
                TagPlace {
                    store: kind.to_owned(),
                    table: url.table().map(str::to_owned),
                    location,
                }
            }),
            allows_weak_store: config.allow_weak_store,
            exposed: config.exposed().into_iter().map(|(key, _)| key).collect(),
            is_plain: !is_loopback && (!config.tls.is_on() || config.tls.plain),
        }
    }
}

impl Monitor {
    pub(crate) fn new(
        about: About,
        recent: Arc<Recent>,
        counters: Arc<Counters>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            about,
            recent,
            counters,
            started: clock.now(),
            totals: TagTotals::default(),
            live: Mutex::default(),
            samples: Mutex::default(),
            clock,
        }
    }

    /// The server at a glance; of tags that `shows` does not let through, nothing is named.
    pub(crate) async fn overview(
        &self,
        service: &Arc<Service>,
        shows: impl Fn(&Tag) -> bool,
    ) -> Overview {
        let now = self.clock.now();
        let totals = self.totals.read(service, &*self.clock).await;
        let rates = self.rates(service, &totals);
        let open = |protocol| self.counters.connections.open(protocol);
        let shown = |tag: Option<&Tag>| tag.is_none_or(&shows);
        Overview {
            unix_ms: wall_clock::now().as_millisecond().to_string(),
            server: self.facts(service, now),
            ids_per_second: rates.ids,
            requests_per_second: rates.requests,
            errors_per_second: rates.errors,
            connections: PerProtocol {
                http: open(Protocol::Http),
                resp: open(Protocol::Resp),
                grpc: open(Protocol::Grpc),
            },
            tags_loaded: service.loaded_len() as u64,
            cover: ShortestCover {
                seconds: totals.cover.as_ref().map(|(cover, _)| cover.as_secs_f64()),
                tag: totals
                    .cover
                    .as_ref()
                    .filter(|(_, tag)| shows(tag))
                    .map(|(_, tag)| tag.as_str().to_owned()),
                age_seconds: now.saturating_sub(totals.at).as_secs_f64(),
            },
            store: self.store(service, now),
            worker: service
                .worker_status()
                .map(|status| crate::api::OwnWorker::new(&status, service.layout())),
            certificate: self.certificate(),
            events: self.recent.events(EVENTS_SHOWN, shown),
        }
    }

    /// The sums over all tags, for the findings.
    pub(crate) async fn totals(&self, service: &Arc<Service>) -> Arc<Totals> {
        self.totals.read(service, &*self.clock).await
    }

    /// Where rows of tags live.
    pub(crate) fn place(&self) -> Option<TagPlace> {
        self.about.store.clone()
    }

    fn facts(&self, service: &Service, now: Duration) -> ServerFacts {
        let readiness = service.health().readiness();
        let lines = readiness.to_string();
        let against = lines.lines().filter_map(|line| line.strip_prefix("[-]"));
        ServerFacts {
            name: self.about.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: now.saturating_sub(self.started).as_secs_f64(),
            ready: readiness.is_ready(),
            phase: service.health().phase().name().to_owned(),
            reasons: against.map(str::to_owned).collect(),
            http: self.about.http.to_string(),
            resp: self.about.resp.map(|at| at.to_string()),
            grpc: self.about.grpc.map(|at| at.to_string()),
        }
    }

    fn store(&self, service: &Service, now: Duration) -> Option<StoreFacts> {
        let place = self.about.store.as_ref()?;
        let (state, since, error) = match service.health().store() {
            StoreState::Unasked => ("unknown", None, None),
            StoreState::Up { .. } => ("up", None, None),
            StoreState::Down { since, message } => ("down", Some(since), Some(message)),
        };
        Some(StoreFacts {
            kind: place.store.clone(),
            location: place.location.clone(),
            state: state.to_owned(),
            down_seconds: since.map(|since| now.saturating_sub(since).as_secs_f64()),
            error,
        })
    }

    fn certificate(&self) -> Option<CertificateFacts> {
        let ends = self.counters.tls.as_ref()?.expires()?;
        let left = ends.duration_since(wall_clock::now());
        Some(CertificateFacts {
            not_after: wall_clock::time(ends.as_millisecond()),
            days_left: left.as_secs_f64() / SECONDS_A_DAY,
        })
    }

    /// The rates since the last reading, which is a second old or more.
    fn rates(&self, service: &Service, totals: &Totals) -> Rates {
        let now = self.clock.now();
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = |last: &Reading| now.saturating_sub(last.at) >= RATE_SPAN_MIN;
        if live.last.as_ref().is_none_or(is_due) {
            let reading = Reading::now(now, service, &self.counters, totals);
            // What was read long ago tells a mean of long ago.
            let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
            let both = live.last.iter().chain(samples.last());
            let last = both.max_by_key(|reading| reading.at);
            live.rates = last.map_or_else(Rates::default, |last| reading.since(last));
            drop(samples);
            live.last = Some(reading);
        }
        live.rates
    }

    /// The last half hour.
    pub(crate) fn history(&self) -> History {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.history()
    }

    fn keep(&self, reading: Reading, totals: &Totals) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push(reading, totals);
    }

    /// Samples the history for good.
    pub(crate) async fn sample(&self, service: &Arc<Service>) {
        loop {
            let totals = self.totals.read_rarely(service, &*self.clock).await;
            let reading = Reading::now(self.clock.now(), service, &self.counters, &totals);
            self.keep(reading, &totals);
            tokio::time::sleep(history::INTERVAL).await;
        }
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}
