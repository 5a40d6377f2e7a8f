//! `Counters`: the counters of other parts of the server, for a scrape.

use std::sync::Arc;

use super::call_counts::CountedCalls;
use crate::net::connection_counts::ConnectionCounts;
use crate::net::tls::Tls;
use crate::net::unread::Unread;
use crate::ops::event_log::EventCounts;
use crate::ops::instrumented_store::StoreCalls;
use crate::trace::Tracer;

/// The sources of the counters.
pub(crate) struct Counters {
    /// The counters of the front ends.
    pub(crate) calls: Vec<Arc<dyn CountedCalls>>,
    pub(crate) connections: Arc<ConnectionCounts>,
    pub(crate) unread: Arc<Unread>,
    pub(crate) events: Arc<EventCounts>,
    pub(crate) store: Arc<StoreCalls>,
    /// `None`: connections are plain.
    pub(crate) tls: Option<Arc<Tls>>,
    /// `None`: nothing is traced.
    pub(crate) tracer: Option<Arc<Tracer>>,
}

impl Counters {
    /// Of a server without connections and front ends.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self {
            calls: Vec::new(),
            connections: Arc::default(),
            unread: Unread::new(&crate::config::Limits::default()),
            events: Arc::default(),
            store: Arc::new(StoreCalls::new()),
            tls: None,
            tracer: None,
        }
    }
}
