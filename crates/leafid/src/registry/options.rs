//! `RegistryOptions`: the settings of worker ids, with their trade-offs.

use std::time::Duration;

use crate::setters::setters;
use crate::snowflake::SnowflakeOptions;
use crate::worker_id::WorkerId;

/// Which worker id to claim.
///
/// # Example
///
/// ```
/// use leafid::{WorkerChoice, WorkerId};
///
/// assert_eq!(WorkerChoice::default(), WorkerChoice::Any);
/// assert_ne!(WorkerChoice::Exactly(WorkerId::new(3)), WorkerChoice::Any);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkerChoice {
    /// One that is free, if possible the previous one. Needs a registry.
    #[default]
    Any,
    /// This one, such as the ordinal of a Kubernetes StatefulSet. With a registry it is claimed
    /// there; without one, the operator must make sure that no other server has it.
    Exactly(WorkerId),
}

/// A shorter one would keep the registry busy with nothing else.
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The settings of worker ids.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid::RegistryOptions;
///
/// let options = RegistryOptions::default().with_lease(Duration::from_secs(600));
/// assert_eq!(options.clock_offset_max, Duration::from_secs(10));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RegistryOptions {
    /// How ids are made.
    pub snowflake: SnowflakeOptions,
    /// Which worker id to claim.
    pub choice: WorkerChoice,
    /// A worker id that this server probably had under other software. A server whose journal has
    /// no lease asks for it once, if it is free, unless a free one was held under `address`. It is
    /// never waited for. Default: none.
    pub preferred: Option<WorkerId>,
    /// Where this process serves HTTP, such as `10.0.0.5:8080`; for people and peers. A free worker
    /// id that was held under this address is preferred. Default: empty.
    pub address: String,
    /// The length of a lease. Longer survives a longer outage of the registry; a killed server
    /// keeps its worker id from others for this long. At least 10 s. Default: 1 h.
    pub lease: Duration,
    /// How often the clocks are compared and the journal is written. Default: 1 s.
    pub step_interval: Duration,
    /// How far ahead of the clock the journal allows ids, so that it need not be written for each.
    /// After a crash ids start that far ahead; a driver that stalls for longer stops them. Default:
    /// 3 s.
    pub journal_ahead: Duration,
    /// The maximum age of the last read of this server's own row in the registry: it is read again
    /// after half of this, and the registry counts as down if it has not answered for all of it. A
    /// registry that was emptied, or restored from an older copy, can go unnoticed for this long, or
    /// for twice as long as an answer takes, if that is longer and within `late_read_max`; ids can
    /// repeat meanwhile. At least 100 ms. Default: 5 s.
    pub check_interval: Duration,
    /// How long a read of this server's own row is waited for, beside those that follow it. Default:
    /// 75 s.
    pub late_read_max: Duration,
    /// How far this machine's clock may be off, from the registry's, from the mean of the peers'
    /// and behind its own last report, when a worker id is claimed. Default: 10 s.
    pub clock_offset_max: Duration,
    /// After this long a call to the registry counts as failed with its outcome unknown, whatever
    /// the registry itself promises. Default: 30 s.
    pub call_max: Duration,
    /// The back-off after a failure of the registry; it doubles with each failure in a row, less a
    /// random half. Default: 100 ms.
    pub retry_min: Duration,
    /// The longest back-off. Default: 5 s.
    pub retry_max: Duration,
    /// Seed of random choices in claims and retries. Default: random.
    pub seed: u64,
}

impl Default for RegistryOptions {
    fn default() -> Self {
        Self {
            snowflake: SnowflakeOptions::default(),
            choice: WorkerChoice::Any,
            preferred: None,
            address: String::new(),
            lease: Duration::from_secs(3600),
            step_interval: Duration::from_secs(1),
            journal_ahead: Duration::from_secs(3),
            check_interval: Duration::from_secs(5),
            late_read_max: Duration::from_secs(75),
            clock_offset_max: Duration::from_secs(10),
            call_max: Duration::from_secs(30),
            retry_min: Duration::from_millis(100),
            retry_max: Duration::from_secs(5),
            seed: fastrand::u64(..),
        }
    }
}

impl RegistryOptions {
    setters! {
        snowflake: SnowflakeOptions => with_snowflake,
        choice: WorkerChoice => with_choice,
        preferred: Option<WorkerId> => with_preferred,
        address: String => with_address,
        lease: Duration => with_lease,
        step_interval: Duration => with_step_interval,
        journal_ahead: Duration => with_journal_ahead,
        check_interval: Duration => with_check_interval,
        late_read_max: Duration => with_late_read_max,
        clock_offset_max: Duration => with_clock_offset_max,
        call_max: Duration => with_call_max,
        retry_min: Duration => with_retry_min,
        retry_max: Duration => with_retry_max,
        seed: u64 => with_seed,
    }
}

impl RegistryOptions {
    /// How long after one look at our own row the next one begins, and how long it may take: both
    /// together are `check_interval`.
    pub(super) fn row_read_interval(&self) -> Duration {
        self.check_interval.max(CHECK_INTERVAL_MIN) / 2
    }
}
