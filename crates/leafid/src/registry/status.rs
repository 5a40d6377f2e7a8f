//! `RegistryStatus`: the state of a process's worker id and clock.

use crate::lease::Lease;
use crate::worker_id::WorkerId;

/// The state of a process's worker id and clock.
///
/// # Example
///
/// ```
/// use leafid::store::MemoryJournal;
/// use leafid::{RegistryOptions, WorkerRegistry};
///
/// let (registry, _driver) = WorkerRegistry::open(None, MemoryJournal::new(), RegistryOptions::default());
/// let status = registry.status();
/// assert!(!status.is_ready());
/// assert_eq!(status.stage.to_string(), "starting");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryStatus {
    /// The stage of the registry.
    pub stage: RegistryStage,
    /// The lease.
    pub lease: Option<Lease>,
    /// How long ids can be issued without the registry, in milliseconds.
    pub left_ms: u64,
    /// How far the time in the next id is ahead of the clock, in milliseconds.
    pub borrowed_ms: u64,
    /// How far the wall clock is ahead of the time in ids, in milliseconds.
    pub clock_offset_ms: i64,
    /// How often the wall clock was found more than a second away.
    pub clock_steps: u64,
    /// How many worker ids were claimed.
    pub claims: u64,
    /// How many calls to the registry failed.
    pub failures: u64,
    /// Whether nothing is issued because this server's own journal cannot be written: other servers
    /// can issue meanwhile.
    pub journal_fails: bool,
    /// Whether the last call to the registry succeeded; `None` before the first.
    pub store_answers: Option<bool>,
    /// The last instant of the layout, in milliseconds since 1970-01-01T00:00:00Z.
    pub end_ms: i64,
}

/// The stage of a registry.
///
/// # Example
///
/// See [`RegistryStatus`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryStage {
    /// No worker id was claimed yet. Exits: `Refused`, `Holding`, `Stopped`.
    Starting,
    /// No worker id is available; claiming is retried. Exits: `Holding`, `Stopped`.
    Refused {
        /// The reason, and what to do.
        reason: String,
    },
    /// Ids are issued. Exits: `Refused`, `Stopped`.
    Holding {
        /// The lease.
        worker: WorkerId,
    },
    /// The worker id was given back. No exit.
    Stopped,
}

impl RegistryStatus {
    /// Whether ids can be issued now.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.stage.is_holding() && self.left_ms > 0
    }
}

impl RegistryStage {
    pub(super) const fn is_holding(&self) -> bool {
        matches!(self, Self::Holding { .. })
    }
}

impl std::fmt::Display for RegistryStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::Refused { reason } => write!(f, "refused: {reason}"),
            Self::Holding { worker } => write!(f, "holds worker id {worker}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}
