//! `RegistryParts`: what a registry works with besides its options: the store, the journal, the clocks
//! of this machine and of others, and who is told of events.

use std::fmt;
use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::event::Observer;
use crate::store::{BoxFuture, Journal, LeaseRecord, LeaseStore};

/// What a registry works with, besides its options.
///
/// # Example
///
/// ```
/// use leafid::{RegistryOptions, RegistryParts, WorkerRegistry};
///
/// let (registry, driver) = WorkerRegistry::open_with(RegistryParts::default(), RegistryOptions::default());
/// # drop((registry, driver));
/// ```
pub struct RegistryParts {
    /// Where worker ids are leased; `None` with a worker id that was chosen by hand.
    pub store: Option<Arc<dyn LeaseStore>>,
    /// What this server writes down for itself.
    pub journal: Arc<dyn Journal>,
    /// The clocks of other servers.
    pub peers: Arc<dyn PeerClocks>,
    /// The machine's clocks.
    pub clock: Arc<dyn Clock>,
    /// Who is told of events.
    pub observer: Arc<dyn Observer>,
}

impl Default for RegistryParts {
    fn default() -> Self {
        Self {
            store: None,
            journal: Arc::new(crate::store::MemoryJournal::new()),
            peers: Arc::new(()),
            clock: Arc::new(SystemClock::new()),
            observer: Arc::new(()),
        }
    }
}

/// What the clocks of running peers show; a second source beside the registry's own clock.
///
/// # Example
///
/// ```
/// use leafid::PeerClocks;
/// use leafid::store::{BoxFuture, LeaseRecord};
///
/// struct Alone;
///
/// impl PeerClocks for Alone {
///     fn mean_ms<'a>(&'a self, _peers: &'a [LeaseRecord]) -> BoxFuture<'a, Option<u64>> {
///         Box::pin(async { None })
///     }
/// }
/// ```
pub trait PeerClocks: Send + Sync + 'static {
    /// The mean of what the clocks of these peers show now, in milliseconds since
    /// 1970-01-01T00:00:00Z; `None` when none answers. Must end in bounded time.
    fn mean_ms<'a>(&'a self, peers: &'a [LeaseRecord]) -> BoxFuture<'a, Option<u64>>;
}

/// There are no peers.
impl PeerClocks for () {
    fn mean_ms<'a>(&'a self, _peers: &'a [LeaseRecord]) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async { None })
    }
}

impl fmt::Debug for RegistryParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryParts").finish_non_exhaustive()
    }
}
