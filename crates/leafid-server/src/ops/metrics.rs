//! `Metrics`: the answer of `/metrics`. Requests increment plain atomic counters; everything else
//! is computed for each scrape.
//!
//! Names follow the conventions of Prometheus: seconds, `_total` on counters. The number of series
//! is bounded: tags beyond `metrics_tags_max` are summed up under the tag `(other)`.

mod call_counts;
mod counters;
mod families;
mod format;
mod latency;
mod process;
mod scrape;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use leafid::{Clock, Tag};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use crate::service::Service;

pub(crate) use self::call_counts::{CallCounts, CallMetric, CountedCalls};
pub(crate) use self::counters::Counters;
pub(crate) use self::format::Format;
pub(crate) use self::latency::Latency;

/// The maximum age of a scrape that is shared with another client.
const SHARED_MAX: Duration = Duration::from_secs(1);

/// All counters.
pub(crate) struct Metrics {
    counters: Arc<Counters>,
    clock: Arc<dyn Clock>,
    started: Duration,
    /// Tags with series of their own. A tag keeps its series, so that its counters do not jump.
    tags: Arc<Mutex<BTreeSet<Tag>>>,
    latest: Mutex<[Latest; 2]>,
}

/// The last scrape of each format, while a client still reads it.
#[derive(Default)]
struct Latest {
    at: Duration,
    text: Weak<String>,
}

impl Metrics {
    pub(crate) fn new(counters: Arc<Counters>, clock: Arc<dyn Clock>) -> Self {
        Self {
            counters,
            started: clock.now(),
            clock,
            tags: Arc::default(),
            latest: Mutex::default(),
        }
    }

    /// For a server without connections and front ends.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        let clock = Arc::new(leafid::SystemClock::new());
        Self::new(Arc::new(Counters::for_tests()), clock)
    }

    /// The text of a scrape. Clients that ask while another is still reading get the same text, so
    /// that clients which never read cannot make the server hold many copies.
    pub(crate) fn text(&self, service: &Arc<Service>, format: Format) -> Bytes {
        let now = self.clock.now();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = &mut latest[format as usize];
        let shared = latest.text.upgrade();
        let shared = shared.filter(|_| now.saturating_sub(latest.at) < SHARED_MAX);
        let text = shared.unwrap_or_else(|| {
            let text = Arc::new(format.write(self.render(service)));
            (latest.at, latest.text) = (now, Arc::downgrade(&text));
            text
        });
        Bytes::from_owner(Shared(text))
    }

    fn render(&self, service: &Arc<Service>) -> String {
        let uptime = self.clock.now().saturating_sub(self.started);
        let mut registry = Registry::with_prefix("leafid");
        registry.register_collector(Box::new(scrape::Scrape {
            counters: Arc::clone(&self.counters),
            uptime,
            tags: Arc::clone(&self.tags),
            service: Arc::clone(service),
        }));
        // Their names are the same in every program.
        let mut of_process = Registry::default();
        of_process.register_collector(Box::new(process::Process { uptime }));
        let mut out = String::new();
        // Writing to a string does not fail.
        let _written = text::encode_registry(&mut out, &of_process)
            .and_then(|()| text::encode(&mut out, &registry));
        out
    }
}

/// A client's share of a scrape, while the client still reads it.
struct Shared(Arc<String>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
