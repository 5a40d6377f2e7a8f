//! `StoreOptions`: the limits of a store: connections and time-outs.

use std::time::Duration;

use leafid::store::StoreError;
#[cfg(feature = "_sql")]
use leafid::store::{StoreReport, WeakStore};

use crate::remedies::Remedies;

/// The most statements that any system needs for one row, one after the other: PostgreSQL begins a
/// transaction, sets its time-outs, reads and commits.
const LOOK_STEPS: u32 = 4;

/// The pause before another connection is made in the background after one failed.
pub(crate) const RENEW_PAUSE: Duration = Duration::from_secs(5);

/// How long a new connection is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Usual,
    /// For the read of one row of a registry: as long as its answer is.
    Long,
}

/// What is called for a row that a list leaves out: see [`StoreOptions::on_bad_row`].
///
/// # Example
///
/// ```
/// use leafid_stores::{OnBadRow, StoreOptions};
///
/// let on_bad_row = OnBadRow(|error| eprintln!("left out of the list: {error}"));
/// let options = StoreOptions::default().with_on_bad_row(on_bad_row);
/// assert!(options.on_bad_row.is_some());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OnBadRow(pub fn(&StoreError));

impl PartialEq for OnBadRow {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for OnBadRow {}

/// Bounds of a store.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use leafid_stores::StoreOptions;
///
/// let options = StoreOptions::default().with_statement_timeout(Duration::from_secs(2));
/// assert_eq!(options.connections_max, 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The maximum number of connections at once, at least 1; SQLite always has one. More allow
    /// more tags to be refilled at the same time, and cost the database a connection each. Redis
    /// and etcd use one for each call, however many those are. A registry of worker ids in a database
    /// may use 6 at least, and others for the reads of a row: up to 10 if it is slow, as many as are
    /// waited for at once. One more is open while an old one is replaced. Default 8.
    pub connections_max: usize,
    /// How long connecting to one server may take. Of several servers each gets at most an equal
    /// part of `statement_timeout`, so that the last one is reached in time. Default 10 s: enough
    /// for a server that takes a second for each of the eight round trips of connecting. For the read
    /// of one row of a registry it is [`look_timeout`](Self::look_timeout), of which each server gets
    /// its part.
    pub connect_timeout: Duration,
    /// How long a call may take in total: waiting for a connection, connecting, and every
    /// statement. Only the read of one row of a registry has more:
    /// [`look_timeout`](Self::look_timeout), and this time besides if it has to make a connection
    /// first. Shorter detects a hanging database sooner; longer
    /// tolerates a slow one. Default 15 s.
    pub statement_timeout: Duration,
    /// The maximum age of a connection, so that a first server which came back is used again, and a
    /// new table is noticed. A new one is made beside the old one, which serves until then; in
    /// SQLite, in its place. For databases; Redis, etcd and ZooKeeper have their own ways. Default
    /// 120 s.
    pub connection_age_max: Duration,
    /// Whether to use a database although one of its settings can lose what it acknowledged, so
    /// that ids repeat. Otherwise each connection to MySQL and PostgreSQL is refused if its server
    /// has such a setting; the error names it, see
    /// [`weak_store`](leafid::store::StoreError::weak_store). Default `false`.
    pub allow_weak: bool,
    /// How errors name the steps that mend a store. Default: as functions of this crate.
    pub remedies: Remedies,
    /// Called once for each row of `gear_key` that the list of tags leaves out because it cannot be
    /// used, with what is wrong with it: others write that table, and one row must not hide the
    /// rest. The tag itself is refused with the same error. Other lists fail. Default: nothing is
    /// called.
    pub on_bad_row: Option<OnBadRow>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            connections_max: 8,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(15),
            connection_age_max: Duration::from_secs(120),
            allow_weak: false,
            remedies: Remedies::default(),
            on_bad_row: None,
        }
    }
}

impl StoreOptions {
    /// Sets [`connections_max`](Self::connections_max).
    #[must_use]
    pub const fn with_connections_max(mut self, connections_max: usize) -> Self {
        self.connections_max = connections_max;
        self
    }

    /// Sets [`connect_timeout`](Self::connect_timeout).
    #[must_use]
    pub const fn with_connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Sets [`statement_timeout`](Self::statement_timeout).
    #[must_use]
    pub const fn with_statement_timeout(mut self, statement_timeout: Duration) -> Self {
        self.statement_timeout = statement_timeout;
        self
    }

    /// How long the read of one row of a registry may take once it has a connection: four times
    /// [`statement_timeout`](Self::statement_timeout), because some systems answer it in four steps.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use leafid_stores::StoreOptions;
    ///
    /// let options = StoreOptions::default().with_statement_timeout(Duration::from_secs(2));
    /// assert_eq!(options.look_timeout(), Duration::from_secs(8));
    /// ```
    #[must_use]
    pub const fn look_timeout(&self) -> Duration {
        self.statement_timeout.saturating_mul(LOOK_STEPS)
    }

    /// Sets [`connection_age_max`](Self::connection_age_max).
    #[must_use]
    pub const fn with_connection_age_max(mut self, connection_age_max: Duration) -> Self {
        self.connection_age_max = connection_age_max;
        self
    }

    /// Sets [`allow_weak`](Self::allow_weak).
    #[must_use]
    pub const fn with_allow_weak(mut self, allow_weak: bool) -> Self {
        self.allow_weak = allow_weak;
        self
    }

    /// Sets [`remedies`](Self::remedies).
    #[must_use]
    pub const fn with_remedies(mut self, remedies: Remedies) -> Self {
        self.remedies = remedies;
        self
    }

    /// Sets [`on_bad_row`](Self::on_bad_row).
    #[must_use]
    pub const fn with_on_bad_row(mut self, on_bad_row: OnBadRow) -> Self {
        self.on_bad_row = Some(on_bad_row);
        self
    }

    /// Refuses a store that could lose what it acknowledges, unless that is allowed.
    #[cfg(feature = "_sql")]
    pub(crate) fn check_durability(&self, report: StoreReport) -> Result<(), StoreError> {
        if report.weaknesses.is_empty() || self.allow_weak {
            return Ok(());
        }
        Err(WeakStore::refused(report))
    }

    /// The same with the time-outs of a new connection with this patience.
    #[cfg(any(feature = "_url", feature = "zookeeper"))]
    pub(crate) const fn with_patience(&self, patience: Patience) -> Self {
        let max = self.look_timeout();
        match patience {
            Patience::Usual => *self,
            Patience::Long => self.with_connect_timeout(max).with_statement_timeout(max),
        }
    }

    /// How long connecting to one of `len` servers may take.
    #[cfg(any(feature = "_url", feature = "zookeeper"))]
    pub(crate) fn connect_timeout_of(&self, len: usize) -> Duration {
        let len = u32::try_from(len).unwrap_or(u32::MAX).max(1);
        self.connect_timeout
            .min(self.statement_timeout * 4 / 5 / len)
    }
}
