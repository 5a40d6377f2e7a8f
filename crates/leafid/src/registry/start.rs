//! Getting a worker id: what has to hold before anything is issued.

use std::sync::Arc;
use std::time::Duration;

use super::claim::{self, ClaimError, Claimant, ROUNDS_MAX};
use super::clock_check::{behind_own_report, check_at_start, too_far_ahead};
use super::driver::Run;
use super::{RegistryStage, WorkerChoice};
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{JournalLease, JournalRecord, LeaseRecord, LeaseStore, StoreError};

/// What is in the way of a worker id.
pub(super) enum Obstacle {
    /// Something that somebody has to change; the text says what.
    Refused(String),
    /// The registry or the journal failed.
    Failed(StoreError),
    /// All worker ids are held.
    Exhausted(Vec<LeaseRecord>),
}

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        if error.is_retryable() {
            Self::Failed(error)
        } else {
            Self::Refused(error.to_string())
        }
    }
}

/// How many holders the text of a refusal names.
const HOLDERS_SHOWN: usize = 20;

impl Run {
    /// Gets a worker id, however long it takes; `None` once stopped.
    pub(super) async fn start(&mut self) -> Option<Lease> {
        loop {
            if self.shared.is_stopped() {
                return None;
            }
            let obstacle = match self.try_start().await {
                Ok(lease) => {
                    self.refused.clear();
                    self.is_clock_accepted = false;
                    return Some(lease);
                }
                Err(obstacle) => obstacle,
            };
            let retry_after = self.retry_after();
            self.refuse(&obstacle, retry_after);
            self.pause(retry_after).await;
        }
    }

    async fn try_start(&mut self) -> Result<Lease, Obstacle> {
        let shared = Arc::clone(&self.shared);
        if shared.takes_accepted_clock() {
            self.is_clock_accepted = true;
            shared.core.timeline.accept_wall();
        }
        if shared.lock().claims == 0 {
            // No id carries this time yet: it may be anything.
            shared.core.timeline.accept_wall();
        }
        if let WorkerChoice::Exactly(worker) = shared.options.choice {
            let fits = shared.core.options.layout.check_worker(worker);
            fits.map_err(|error| Obstacle::Refused(error.to_string()))?;
        }
        match shared.core.check() {
            Err(error) => return Err(Obstacle::Refused(error.to_string())),
            Ok(Some(warning)) if shared.lock().claims == 0 => {
                shared.tell(&Event::EndNear { warning });
            }
            Ok(_) => {}
        }
        self.read_journal().await?;
        let claimed = match shared.store.as_deref() {
            Some(store) => self.claim(store).await,
            None => self.take_given(),
        };
        match claimed {
            Err(Obstacle::Failed(error)) => self.go_on_without(error),
            claimed => claimed,
        }
    }

    /// Reads the journal, once; a server without one gets its name.
    async fn read_journal(&mut self) -> Result<(), Obstacle> {
        if self.journal.is_some() {
            return Ok(());
        }
        let layout = self.shared.core.options.layout.to_string();
        let journal = match self.shared.journal.read().await? {
            Some(record) if record.layout == layout => record,
            Some(record) => self.change_layout(record, layout)?,
            None => JournalRecord {
                holder: new_holder(),
                layout,
                lease: None,
            },
        };
        self.shared.journal.write(&journal).await?;
        self.journal = Some(journal);
        Ok(())
    }

    /// Ids of two layouts can be equal, so the old one's time must be over.
    fn change_layout(
        &self,
        record: JournalRecord,
        layout: String,
    ) -> Result<JournalRecord, Obstacle> {
        let now_ms = self.shared.core.timeline.now_ms();
        if record.lease.is_some_and(|lease| lease.below_ms > now_ms) {
            return Err(Obstacle::Refused(format!(
                "this server has just issued ids of the layout {}, and is now set to {layout}: \
                 wait some seconds, or go back",
                record.layout
            )));
        }
        // Where its ids end stays known, for the case that the layout is changed back.
        let ended = |lease| JournalLease {
            acknowledged: false,
            ..lease
        };
        Ok(JournalRecord {
            layout,
            lease: record.lease.map(ended),
            ..record
        })
    }

    async fn claim(&mut self, store: &dyn LeaseStore) -> Result<Lease, Obstacle> {
        let shared = Arc::clone(&self.shared);
        let layout = shared.core.options.layout.to_string();
        let bound = shared.bounded(store.bind(&layout)).await?;
        if bound != layout {
            return Err(Obstacle::Refused(format!(
                "the registry is used with the layout {bound}, and this server is set to {layout}: \
                 use the same, or another worker-pool"
            )));
        }
        let rows = shared.bounded(store.leases()).await?;
        let is_confirmed = check_at_start(&shared, &rows)
            .await
            .map_err(Obstacle::Refused)?;
        self.check_own_report(is_confirmed || self.is_clock_accepted)?;
        for round in 0..ROUNDS_MAX {
            if let Some(lease) = self.claim_once(store, round).await? {
                return Ok(lease);
            }
        }
        Err(Obstacle::Refused(
            "other servers were faster at claiming a worker id".into(),
        ))
    }

    /// This server has reported a time that its clock has not reached. If somebody confirms the
    /// clock, then it was wrong when it reported: its worker id is left alone until that time.
    fn check_own_report(&mut self, is_confirmed: bool) -> Result<(), Obstacle> {
        let last = self.journal.as_ref().and_then(|journal| journal.lease);
        let Some((last, reason)) =
            last.and_then(|last| Some((last, behind_own_report(&self.shared, last.written_ms)?)))
        else {
            return Ok(());
        };
        let is_any = self.shared.options.choice == WorkerChoice::Any;
        if is_any && self.quarantined.contains(&last.worker) {
            return Ok(());
        }
        if !is_any || !is_confirmed {
            return Err(Obstacle::Refused(reason));
        }
        self.quarantined.push(last.worker);
        let until_ms = last.until_ms;
        self.shared.tell(&Event::Quarantined {
            worker: last.worker,
            until_ms,
        });
        Ok(())
    }

    fn check_ahead(&self, start_ms: u64, now_ms: u64) -> Result<(), Obstacle> {
        match too_far_ahead(&self.shared, start_ms, now_ms) {
            Some(reason) => Err(Obstacle::Refused(reason)),
            None => Ok(()),
        }
    }

    async fn claim_once(
        &mut self,
        store: &dyn LeaseStore,
        round: u32,
    ) -> Result<Option<Lease>, Obstacle> {
        let shared = Arc::clone(&self.shared);
        let holder = self.holder();
        let claimant = Claimant {
            choice: shared.options.choice,
            preferred: shared.options.preferred,
            worker_max: shared.core.options.layout.worker_max(),
            holder: &holder,
            address: &shared.options.address,
            last: self.journal.as_ref().and_then(|journal| journal.lease),
            avoided: &self.quarantined,
            now_ms: shared.core.timeline.now_ms(),
            lease_ms: shared.lease_ms(),
        };
        let found = claim::find(store, &claimant, round, &mut self.rng);
        let claim = match shared.bounded(found_or_store_error(found)).await? {
            Ok(claim) => claim,
            Err(error) => return Err(obstacle(error)),
        };
        self.check_ahead(claim.lease.start_ms, claimant.now_ms)?;
        // Before the registry hears of it: if the outcome stays unknown, our row is known as ours.
        let mut noted = JournalLease {
            worker: claim.lease.worker,
            epoch: claim.lease.epoch,
            until_ms: claim.own_until_ms.unwrap_or(claim.lease.until_ms),
            acknowledged: claim.own_until_ms.is_some(),
            below_ms: claim.lease.start_ms,
            written_ms: claimant.now_ms,
        };
        self.write_journal(noted).await?;
        if !shared.bounded(store.swap(&claim.swap)).await? {
            return Ok(None);
        }
        noted = JournalLease {
            until_ms: claim.lease.until_ms,
            acknowledged: true,
            ..noted
        };
        self.write_journal(noted).await?;
        Ok(Some(claim.lease))
    }

    /// A worker id that was chosen by hand, without a registry.
    fn take_given(&mut self) -> Result<Lease, Obstacle> {
        let WorkerChoice::Exactly(worker) = self.shared.options.choice else {
            return Err(Obstacle::Refused(
                "there is neither a registry nor a worker id: set registry, or worker-id".into(),
            ));
        };
        self.check_own_report(false)?;
        let now_ms = self.shared.core.timeline.now_ms();
        let last = self.journal.as_ref().and_then(|journal| journal.lease);
        let below_ms = last
            .filter(|last| last.worker == worker)
            .map_or(0, |last| last.below_ms);
        let start_ms = below_ms.max(now_ms);
        self.check_ahead(start_ms, now_ms)?;
        Ok(Lease {
            worker,
            epoch: 0,
            start_ms,
            until_ms: LeaseRecord::FOREVER,
        })
    }

    /// Starts on the strength of the journal while the registry is down.
    fn go_on_without(&mut self, error: StoreError) -> Result<Lease, Obstacle> {
        let choice = self.shared.options.choice;
        let now_ms = self.shared.core.timeline.now_ms();
        let last = self
            .journal
            .as_ref()
            .and_then(|journal| journal.lease)
            .filter(|last| {
                last.acknowledged
                    && last.until_ms > last.below_ms.max(now_ms)
                    && (choice == WorkerChoice::Any || choice == WorkerChoice::Exactly(last.worker))
                    && !self.quarantined.contains(&last.worker)
            });
        let Some(last) = last else {
            return Err(Obstacle::Failed(error));
        };
        if let Some(reason) = behind_own_report(&self.shared, last.written_ms) {
            return Err(Obstacle::Refused(reason));
        }
        let start_ms = last.below_ms.max(now_ms);
        self.check_ahead(start_ms, now_ms)?;
        self.shared.tell(&Event::WeakStart {
            worker: last.worker,
            error: &error,
        });
        Ok(Lease {
            worker: last.worker,
            epoch: last.epoch,
            start_ms,
            until_ms: last.until_ms,
        })
    }

    fn refuse(&mut self, obstacle: &Obstacle, retry_after: Duration) {
        let reason = match obstacle {
            Obstacle::Refused(reason) => reason.clone(),
            Obstacle::Failed(error) => error.to_string(),
            Obstacle::Exhausted(rows) => exhausted(rows),
        };
        let shared = &self.shared;
        shared.core.close(reason.as_str(), false);
        shared.lock().stage = RegistryStage::Refused {
            reason: reason.clone(),
        };
        if self.refused == reason {
            return;
        }
        match obstacle {
            Obstacle::Refused(_) => shared.tell(&Event::WorkerRefused { reason: &reason }),
            Obstacle::Failed(error) => shared.tell(&Event::RegistryFailed { error, retry_after }),
            Obstacle::Exhausted(rows) => shared.tell(&Event::WorkersExhausted { holders: rows }),
        }
        self.refused = reason;
    }
}

/// A registry that fails is not the same as one that holds nothing for us.
async fn found_or_store_error(
    found: impl Future<Output = Result<claim::Claim, ClaimError>>,
) -> Result<Result<claim::Claim, ClaimError>, StoreError> {
    match found.await {
        Err(ClaimError::Store(error)) => Err(error),
        found => Ok(found),
    }
}

fn obstacle(error: ClaimError) -> Obstacle {
    match error {
        ClaimError::Exhausted(rows) => Obstacle::Exhausted(rows),
        ClaimError::Store(error) => error.into(),
        ClaimError::Held(row) => Obstacle::Refused(format!(
            "worker id {} is held by {} until {}",
            row.worker,
            holder_shown(&row),
            crate::layout::Instant {
                unix_ms: row.until_ms.cast_signed()
            }
        )),
    }
}

/// What to tell when no worker id is left.
fn exhausted(rows: &[LeaseRecord]) -> String {
    let shown: Vec<String> = rows
        .iter()
        .take(HOLDERS_SHOWN)
        .map(|row| format!("{} {}", row.worker, holder_shown(row)))
        .collect();
    let more = match rows.len().saturating_sub(HOLDERS_SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(
        "all {} worker ids are held ({}{more}): stop servers, or release those of dead ones",
        rows.len(),
        shown.join(", ")
    )
}

fn holder_shown(row: &LeaseRecord) -> &str {
    if row.address.is_empty() {
        &row.holder
    } else {
        &row.address
    }
}

/// A name that no other server has: 128 random bits.
fn new_holder() -> String {
    format!("{:032x}", fastrand::u128(..))
}
