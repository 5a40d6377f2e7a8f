//! `WorkerNodeRow`: this server's row in `WORKER_NODE`, the table of Baidu's uid-generator, whose
//! number is the worker id.
//!
//! The table gives a number once, as long as it keeps its rows. Where it was emptied, or restored
//! from an older copy, it gives numbers again that are in use. So the row is looked at every half
//! `registry-check`: a server that does not find its own issues no more snowflake ids.
//!
//! A look that is not answered when the next one is due counts as failed, and is waited for beside
//! the next ones, as with any registry of worker ids: a database that is only slow gives the number
//! to another server, and tells us late.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{Abortable, OptionFuture};
use futures_util::stream::FuturesUnordered;
use leafid::store::StoreError;
use leafid::{Clock as _, LateReads, RegistryStatus, SystemClock, WorkerRegistry};
use leafid_stores::StoreUrl;
use leafid_stores::baidu::{AssignedRow, WorkerKind, WorkerNode, assign};
use tokio::time::MissedTickBehavior;

use crate::config::Config;

/// The row that a server inserted at its start.
pub struct WorkerNodeRow {
    url: StoreUrl,
    number: u64,
    row: AssignedRow,
    interval: Duration,
    /// Its number is not leased, because the database had no table for that.
    is_unleased: bool,
    looks: Arc<RowLooks>,
}

/// What the looks at the row have shown of the database, where no lease store shows it.
#[derive(Debug)]
pub(crate) struct RowLooks {
    answers: AtomicBool,
    failures: AtomicU64,
}

impl RowLooks {
    /// The inserted row was read.
    const fn new() -> Self {
        Self {
            answers: AtomicBool::new(true),
            failures: AtomicU64::new(0),
        }
    }

    /// Records a look; returns whether the one before had failed.
    fn note(&self, answers: bool) -> bool {
        if !answers {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        !self.answers.swap(answers, Ordering::Relaxed)
    }

    /// The status of a registry without a store, with what the looks have shown.
    pub(crate) fn shown_in(&self, mut status: RegistryStatus) -> RegistryStatus {
        status.store_answers = Some(self.answers.load(Ordering::Relaxed));
        status.failures += self.failures.load(Ordering::Relaxed);
        status
    }
}

/// What a look has shown.
#[derive(PartialEq, Eq)]
enum Look {
    Kept,
    Gone,
    /// Worker ids can be leased now, and ours is not.
    Unleased,
}

impl WorkerNodeRow {
    /// Inserts the row of a server that listens at `http` and is known to others by `name`.
    pub(super) async fn insert(
        url: StoreUrl,
        name: String,
        config: &Config,
        http: SocketAddr,
    ) -> Result<Self, StoreError> {
        let now = crate::wall_clock::now().as_millisecond();
        let node = WorkerNode {
            host: name,
            port: format!("{now}-{}", http.port()),
            kind: WorkerKind::Actual,
        };
        let options = config.store_options();
        let number = assign(&url, &node, &options).await?;
        // Each look makes the connection of the next one, so that no old one leads to a server that
        // has been replaced; a slow server is asked over the one that is there.
        let options = options.with_connection_age_max(Duration::ZERO);
        let row = Self {
            row: AssignedRow::new(&url, number, &node, &options)?,
            interval: config.workers.check_interval / 2,
            is_unleased: false,
            looks: Arc::new(RowLooks::new()),
            url,
            number,
        };
        // A user who may insert but not select would leave it unguarded.
        match row.row.is_there().await? {
            true => Ok(row),
            false => Err(StoreError::unavailable(
                "the row that was inserted into WORKER_NODE is not there",
                "another server answered, or it was deleted",
            )),
        }
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// What the looks at it show, if its number is not leased: else the lease store shows the same.
    pub(crate) fn looks(&self) -> Option<Arc<RowLooks>> {
        self.is_unleased.then(|| Arc::clone(&self.looks))
    }

    /// Says that its number is not leased. An error if it could be, or if nobody can tell.
    pub(super) async fn without_lease(mut self) -> Result<Self, StoreError> {
        self.is_unleased = true;
        match self.row.has_leases().await? {
            false => Ok(self),
            true => Err(StoreError::unavailable(
                "the table leafid_worker came while the server started",
                "start it again",
            )),
        }
    }

    /// Stops a registry once the row is gone, or once other servers may lease its number. A
    /// database that does not answer changes nothing.
    pub(crate) async fn watch(self, registry: WorkerRegistry) {
        let shown = self.until_lost().await;
        registry.stop();
        let reason = match shown {
            Look::Unleased => {
                "the database has the table leafid_worker now, in which this server's worker id is \
                 not leased, so another server may get it; restart this server"
            }
            _ => {
                "this server's row in WORKER_NODE is gone, so another server may get its worker \
                 id; restore the table's rows, or raise its AUTO_INCREMENT above every worker id \
                 in use, and restart this server"
            }
        };
        tracing::error!(
            worker = self.number,
            registry = %self.url,
            "snowflake ids stop: {reason}"
        );
    }

    async fn look(&self) -> Result<Look, StoreError> {
        if !self.row.is_there().await? {
            return Ok(Look::Gone);
        }
        match self.is_unleased && self.row.has_leases().await? {
            true => Ok(Look::Unleased),
            false => Ok(Look::Kept),
        }
    }

    /// Looks until the number is not this server's any more, and says why.
    async fn until_lost(&self) -> Look {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let clock = SystemClock::new();
        let mut began = Duration::ZERO;
        let mut look = None;
        let (mut late, mut late_reads) = (FuturesUnordered::new(), LateReads::default());
        loop {
            tokio::select! {
                biased;
                Some(answer) = OptionFuture::from(look.as_mut()) => {
                    look = None;
                    match answer {
                        Ok(shown) if shown != Look::Kept => return shown,
                        answer => self.note(answer.err()),
                    }
                }
                Some((began, answer)) = late.next() => {
                    late_reads.end(began);
                    if let Ok(Ok(shown)) = answer && shown != Look::Kept {
                        return shown;
                    }
                }
                _ = ticks.tick() => {
                    let now = clock.now();
                    let overdue_began = std::mem::replace(&mut began, now);
                    if let Some(overdue) = look.replace(Box::pin(self.look())) {
                        let error = StoreError::unavailable(
                            format!("no answer within {:?}", self.interval),
                            "the database does not answer",
                        );
                        self.note(Some(error));
                        let overdue = Abortable::new(overdue, late_reads.begin(overdue_began, now));
                        late.push(async move { (overdue_began, overdue.await) });
                    }
                }
            }
        }
    }

    /// Counts a failure, and logs the first of several in a row, and their end.
    fn note(&self, error: Option<StoreError>) {
        let failed_before = self.looks.note(error.is_none());
        match error {
            None if failed_before => tracing::info!(
                worker = self.number,
                registry = %self.url,
                "this server's row in WORKER_NODE can be read again"
            ),
            Some(error) if !failed_before => tracing::warn!(
                worker = self.number,
                registry = %self.url,
                %error,
                "cannot read this server's row in WORKER_NODE: if the table loses it meanwhile, \
                 that goes unnoticed, and ids can repeat"
            ),
            _ => {}
        }
    }
}

impl std::fmt::Debug for WorkerNodeRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerNodeRow")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
