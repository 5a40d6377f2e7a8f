//! `StoreState`: whether reservations go through, as was last seen.

use std::time::Duration;

/// Whether reservations go through, as was last seen. It is found out without a caller: a store
/// that nobody needs is asked at every `probe_interval` of the [`Options`](crate::Options).
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
    /// It was not asked yet. Exits: `Up`, `Down`.
    #[default]
    Unasked,
    /// A reservation or a probe went well last. Exits: `Down`.
    Up {
        /// The server that answered, without a password; `None` until a probe has told it.
        location: Option<String>,
    },
    /// A reservation or a probe failed, and none went well since. Exits: `Up`.
    Down {
        /// When the first of these failures was, on the clock of the generators.
        since: Duration,
        /// What the store said last.
        message: String,
    },
}

impl StoreState {
    /// Whether a reservation or a probe went well last.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self, Self::Up { .. })
    }
}
