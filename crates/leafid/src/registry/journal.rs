//! What a start takes from the journal: this server's name, how far ids went, and a right to issue,
//! which needs a lease of the configured registry. A copy of a journal, or one of another registry,
//! does not allow issuing.

use super::WorkerChoice;
use super::clock_check::behind_own_report;
use super::driver::DriverState;
use super::obstacle::Obstacle;
use std::sync::Arc;

use crate::event::Event;
use crate::layout::Layout;
use crate::lease::Lease;
use crate::store::{JournalLease, JournalRecord, JournalRegistry, LeaseRecord, StoreError};

/// The identity and location that stand for no registry.
const NO_REGISTRY: &str = "none";

impl DriverState {
    /// Reads the journal, once; a server without a name gets one.
    pub(super) async fn read_journal(&mut self) -> Result<(), Obstacle> {
        if self.journal.is_some() {
            return Ok(());
        }
        let layout = self.shared.core.options.layout;
        let mut journal = match self.shared.journal.read().await? {
            Some(record) => {
                self.check_layout(&record, layout)?;
                record
            }
            None => JournalRecord::new("", layout.to_string()),
        };
        if journal.holder.is_empty() {
            journal.holder = new_holder();
        }
        self.write_record(journal).await?;
        Ok(())
    }

    /// Ids of two layouts can be equal, whatever their times are. A layout may only follow another
    /// if all of its ids from now on are above all that this server made with the other. The
    /// journal keeps the former one's name until there is a lease for the new one.
    fn check_layout(&self, record: &JournalRecord, layout: Layout) -> Result<(), Obstacle> {
        let issued_ms = record.floor_ms.max(record.above_ms());
        if record.layout == layout.to_string() || issued_ms == 0 {
            return Ok(());
        }
        let now_ms = self.shared.core.timeline.now_ms();
        let former = record.layout.parse::<Layout>();
        let is_above =
            |former| number_at(layout, now_ms, 0) > number_at(former, issued_ms, u64::MAX);
        if former.is_ok_and(is_above) {
            return Ok(());
        }
        Err(Obstacle::Refused(format!(
            "this server has issued ids of the layout {}, and is now set to {layout}, whose ids \
             can be the same numbers: set the former layout; or, if the two are never used for \
             one purpose, name another data-dir, and another worker-pool",
            record.layout
        )))
    }

    /// From now on the journal is about this registry. What it says of another one gives no right
    /// here, nor does the lease of a journal that names none, unless its row is here.
    pub(super) fn switch_registry(&mut self, registry: JournalRegistry, rows: &[LeaseRecord]) {
        let Some(journal) = self.journal.take() else {
            return;
        };
        let is_here = match &journal.registry {
            Some(noted) => noted.identity == registry.identity,
            None => rows.iter().any(|row| journal.owned_from_ms(row).is_some()),
        };
        self.journal = Some(if is_here {
            JournalRecord {
                registry: Some(registry),
                ..journal
            }
        } else {
            journal.of_another(Some(registry))
        });
    }

    /// A fixed worker id, without a registry.
    pub(super) fn use_configured_worker(&mut self) -> Result<Lease, Obstacle> {
        let WorkerChoice::Exactly(worker) = self.shared.options.choice else {
            return Err(Obstacle::Refused(
                "there is neither a registry nor a worker id: set registry, or worker-id".into(),
            ));
        };
        self.check_own_report(false)?;
        let nowhere = JournalRegistry {
            identity: NO_REGISTRY.to_owned(),
            location: NO_REGISTRY.to_owned(),
        };
        self.switch_registry(nowhere, &[]);
        let now_ms = self.shared.core.timeline.now_ms();
        // Nothing else separates what this server issued with another number.
        let journal = self.journal.as_ref();
        let issued_ms = journal.map_or(0, |journal| journal.floor_ms.max(journal.above_ms()));
        let start_ms = issued_ms.max(now_ms);
        self.check_ahead(start_ms, now_ms)?;
        self.is_weak = false;
        Ok(Lease {
            worker,
            epoch: 0,
            start_ms,
            until_ms: LeaseRecord::FOREVER,
        })
    }

    /// Starts on the strength of the journal while the registry is down: only with a lease of the
    /// registry that is set, as far as that can be known without it, and never with one that has no
    /// end. The driver asks the registry for it as soon as it answers.
    pub(super) fn start_without_registry(
        &mut self,
        error: Arc<StoreError>,
    ) -> Result<Lease, Obstacle> {
        let choice = self.shared.options.choice;
        let now_ms = self.shared.core.timeline.now_ms();
        let location = self.shared.store.as_ref().map(|store| store.location());
        let is_set = |noted: &JournalRegistry| Some(&noted.location) == location.as_ref();
        let journal = self.journal.as_ref();
        let layout = self.shared.core.options.layout.to_string();
        let last = journal
            .filter(|journal| journal.registry.as_ref().is_some_and(is_set))
            .filter(|journal| journal.layout == layout)
            .and_then(|journal| journal.lease)
            .filter(|last| {
                last.acknowledged
                    && last.until_ms > last.below_ms.max(now_ms)
                    && last.until_ms < LeaseRecord::FOREVER
                    && (choice == WorkerChoice::Any || choice == WorkerChoice::Exactly(last.worker))
                    && !self.avoided(now_ms).contains(&last.worker)
            });
        let Some(last) = last else {
            return Err(Obstacle::Failed(error));
        };
        if let Some(reason) = behind_own_report(&self.shared, last.written_ms) {
            return Err(Obstacle::Refused(reason));
        }
        let start_ms = last.below_ms.max(now_ms);
        self.check_ahead(start_ms, now_ms)?;
        self.shared.emit(&Event::WeakStart {
            worker: last.worker,
            error: &error,
        });
        self.is_weak = true;
        Ok(Lease {
            worker: last.worker,
            epoch: last.epoch,
            start_ms,
            until_ms: last.until_ms,
        })
    }

    /// The lease of this row, if it is that of a claim of ours whose outcome was unknown, for the
    /// worker id that is held.
    pub(super) fn adopt(&mut self, row: &LeaseRecord) -> Option<Lease> {
        let journal = self.journal.as_mut()?;
        let claim = journal.claim.filter(|_| journal.is_of_claim(row))?;
        let last = journal.lease.filter(|last| last.worker == claim.worker)?;
        journal.claim = None;
        journal.lease = Some(JournalLease {
            epoch: claim.epoch,
            nonce: claim.nonce,
            until_ms: row.until_ms,
            ..last
        });
        self.is_weak = false;
        Some(Lease {
            worker: claim.worker,
            epoch: claim.epoch,
            start_ms: claim.from_ms,
            until_ms: row.until_ms,
        })
    }
}

/// The smallest number that a layout makes of a time, or with `u64::MAX` the largest.
fn number_at(layout: Layout, unix_ms: u64, low: u64) -> u64 {
    let unix_ms = i64::try_from(unix_ms).unwrap_or(i64::MAX);
    let tick = match layout.tick_of(unix_ms) {
        Some(tick) => tick,
        None if unix_ms > layout.end_unix_ms() => layout.ticks_max(),
        None => 0,
    };
    let low_bits = layout.worker_bits() + layout.sequence_bits() + layout.shard_bits();
    (tick << low_bits) | (low & !(u64::MAX << low_bits))
}

/// A name that no other server has: 128 random bits.
fn new_holder() -> String {
    format!("{:032x}", fastrand::u128(..))
}
