//! Getting a worker id: the checks before a server issues snowflake ids, and when it refuses to.

use std::sync::Arc;

use super::claim::{self, Claimant, ROUNDS_MAX};
use super::clock_check::{behind_own_report, check_at_start, too_far_ahead};
use super::driver::{DriverState, WorkerUntil};
use super::obstacle::{Obstacle, found_or_store_error, obstacle};
use super::two_phase_claim::TwoPhaseClaim;
use super::{ClockAhead, WorkerChoice};
use crate::event::Event;
use crate::lease::Lease;
use crate::store::{JournalRegistry, LeaseStore};

impl DriverState {
    /// Gets a worker id, however long it takes; `None` once stopped.
    pub(super) async fn start(&mut self) -> Option<Lease> {
        loop {
            if self.shared.is_stopped() {
                return None;
            }
            let obstacle = match self.try_start().await {
                Ok(lease) => {
                    self.last_refusal.clear();
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
            // No id carries a time yet, so any start is allowed.
            shared.core.timeline.accept_wall();
        }
        if let WorkerChoice::Exactly(worker) = shared.options.choice {
            let fits = shared.core.options.layout.check_worker(worker);
            fits.map_err(|error| Obstacle::Refused(error.to_string()))?;
        }
        match shared.core.check() {
            Err(error) => return Err(Obstacle::Refused(error.to_string())),
            Ok(Some(warning)) if shared.lock().claims == 0 => {
                shared.emit(&Event::EndNear { warning });
            }
            Ok(_) => {}
        }
        self.read_journal().await?;
        let claimed = match shared.store.as_deref() {
            Some(store) => self.claim(store).await,
            None => self.use_configured_worker(),
        };
        match claimed {
            Err(Obstacle::Failed(error)) => self.start_without_registry(error),
            claimed => claimed,
        }
    }

    async fn claim(&mut self, store: &dyn LeaseStore) -> Result<Lease, Obstacle> {
        let shared = Arc::clone(&self.shared);
        let layout = shared.core.options.layout.to_string();
        let bound = shared.bounded(store.bind(&layout)).await?;
        if bound != layout {
            return Err(Obstacle::Refused(format!(
                "the registry uses the layout {bound}, and this server {layout}: use the same \
                 one, or another worker-pool"
            )));
        }
        let identity = shared.bounded(store.identity()).await?;
        let rows = shared.bounded(store.leases()).await?;
        let location = store.location();
        self.switch_registry(JournalRegistry { identity, location }, &rows);
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

    /// This server has reported a time that its clock has not reached. If a second source confirms
    /// the clock, the report was wrong: its worker id is left unused until that time.
    pub(super) fn check_own_report(&mut self, is_confirmed: bool) -> Result<(), Obstacle> {
        let last = self.journal.as_ref().and_then(|journal| journal.lease);
        let Some((last, reason)) =
            last.and_then(|last| Some((last, behind_own_report(&self.shared, last.written_ms)?)))
        else {
            return Ok(());
        };
        let is_any = self.shared.options.choice == WorkerChoice::Any;
        let is_left_alone = |one: &WorkerUntil| one.worker == last.worker;
        if is_any && self.quarantined.iter().any(is_left_alone) {
            return Ok(());
        }
        if let WorkerChoice::Exactly(worker) = self.shared.options.choice {
            let until_ms = last.below_ms;
            self.shared.lock().ahead_until_ms = Some(until_ms);
            let ahead = ClockAhead { worker, until_ms };
            let reason = format!("{reason}; if the clock is right: {ahead}");
            return Err(Obstacle::Refused(reason));
        }
        if !is_confirmed {
            return Err(Obstacle::Refused(reason));
        }
        let (worker, until_ms) = (last.worker, last.until_ms);
        self.quarantined.push(WorkerUntil { worker, until_ms });
        self.shared.emit(&Event::Quarantined { worker, until_ms });
        Ok(())
    }

    pub(super) fn check_ahead(&self, start_ms: u64, now_ms: u64) -> Result<(), Obstacle> {
        match too_far_ahead(&self.shared, start_ms, now_ms) {
            Some(reason) => Err(Obstacle::Refused(reason)),
            None => Ok(()),
        }
    }

    /// Tries to claim the best worker id; `None` if another server was faster.
    async fn claim_once(
        &mut self,
        store: &dyn LeaseStore,
        round: u32,
    ) -> Result<Option<Lease>, Obstacle> {
        let Some(former) = self.journal.clone() else {
            return Ok(None);
        };
        let shared = Arc::clone(&self.shared);
        let now_ms = shared.core.timeline.now_ms();
        let avoided = self.avoided(now_ms);
        let claimant = Claimant {
            choice: shared.options.choice,
            preferred: shared.options.preferred,
            worker_max: shared.core.options.layout.worker_max(),
            address: &shared.options.address,
            journal: &former,
            nonce: self.nonce,
            avoided: &avoided,
            lost: &self.lost,
            now_ms,
            lease_ms: shared.lease_ms(),
        };
        let found = claim::find(store, &claimant, round, &mut self.rng);
        let claim = match shared.bounded(found_or_store_error(found)).await? {
            Ok(claim) => claim,
            Err(error) => return Err(obstacle(error)),
        };
        self.check_ahead(claim.lease.start_ms, now_ms)?;
        shared.set_leased(Some(claim.lease));
        let prepared = TwoPhaseClaim::prepare(self, former, claim.lease).await?;
        let claimed_at = shared.core.timeline.clock().now();
        if !shared.changing(store.swap(&claim.swap)).await? {
            prepared.roll_back(self).await?;
            shared.set_leased(None);
            return Ok(None);
        }
        let lease = prepared.commit(self, now_ms).await?;
        self.is_weak = false;
        self.claimed_at = Some(claimed_at);
        Ok(Some(lease))
    }
}
