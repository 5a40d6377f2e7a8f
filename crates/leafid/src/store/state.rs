//! `StoreState`: whether reservations succeed, as far as is known.

use std::time::Duration;

/// Whether reservations succeed, as far as is known. The driver finds out without a caller: an idle
/// store is probed at every `probe_interval` of the [`Options`](crate::Options).
///
/// # Example
///
/// ```
/// use leafid::store::{MemoryStore, StoreState};
/// use leafid::{Generators, Options};
///
/// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
/// assert_eq!(generators.store_state(), StoreState::Unasked);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StoreState {
    /// No call was made yet. Exits: `Up`, `Down`.
    #[default]
    Unasked,
    /// The last reservation or probe succeeded. Exits: `Down`.
    Up {
        /// The server that answered, without a password; `None` before the first probe.
        location: Option<String>,
    },
    /// A reservation or a probe failed, and none has succeeded since. Exits: `Up`.
    Down {
        /// When the first of these failures was, on the clock of the generators.
        since: Duration,
        /// The store's last error.
        message: String,
    },
}

impl StoreState {
    /// Whether the last reservation or probe succeeded.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self, Self::Up { .. })
    }
}
