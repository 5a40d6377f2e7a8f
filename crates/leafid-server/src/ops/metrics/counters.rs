//! `Counters`: the counters of other parts of the server, for a scrape.

use std::sync::Arc;

use super::call_counts::CountedCalls;
use crate::net::connection_counts::ConnectionCounts;
use crate::net::tls::Tls;
use crate::net::unread::Unread;
use crate::ops::event_log::EventCounts;
use crate::ops::instrumented_store::StoreCalls;

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
}
