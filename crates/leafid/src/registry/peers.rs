//! `PeerClocks`: the clocks of other servers, as a second source besides the registry's.

use crate::store::{BoxFuture, LeaseRecord};

/// The clocks of running peers; a second source besides the registry's own clock.
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
    /// The mean of these peers' clocks now, in milliseconds since 1970-01-01T00:00:00Z; `None` if
    /// none answers. Must end in bounded time.
    fn mean_ms<'a>(&'a self, peers: &'a [LeaseRecord]) -> BoxFuture<'a, Option<u64>>;
}

/// There are no peers.
impl PeerClocks for () {
    fn mean_ms<'a>(&'a self, _peers: &'a [LeaseRecord]) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async { None })
    }
}
