//! `Bug`: mistakes that peers made with worker ids, to be put back on purpose. With any of them the
//! simulation must turn red; otherwise it would not notice the next one either.
//!
//! | bug | who had it | how it is put back |
//! | --- | --- | --- |
//! | [`FirstStartRace`](Bug::FirstStartRace) | Leaf (pull request 108) | the registry claims without comparing |
//! | [`BlindExtension`](Bug::BlindExtension) | Leaf, CosId | it extends without comparing |
//! | [`LostLeaseIgnored`](Bug::LostLeaseIgnored) | CosId, whose guard fails alone | a holder that
//! lost its lease gets the answer: extended |
//! | [`SequenceReset`](Bug::SequenceReset) | Twitter | a step back starts the generator again at the clock |
//! | [`FileTrusted`](Bug::FileTrusted) | Leaf's `workerID.properties`, CosId's state file | a server with a journal asks nobody, and knows no bound |
//! | [`TakenOverAtNow`](Bug::TakenOverAtNow) | all with a time-out | a silent holder's row is shown
//! as free |
//! | [`JournalAfterwards`](Bug::JournalAfterwards) | Leaf, which reports every 3 s | the journal answers before it is durable |
//! | [`WeakStartUnacknowledged`](Bug::WeakStartUnacknowledged) | ours, nearly | a claim is read from the journal as if it had been acknowledged |
//! | [`RowUnread`](Bug::RowUnread) | all, ours too | the own row is read at an extension only |
//! | [`RowTrusted`](Bug::RowTrusted) | ours, nearly | a read of the own row returns what was
//! acknowledged last |
//! | [`ForeignTrusted`](Bug::ForeignTrusted) | ours | a journal of another registry is read as one of this registry |
//! | [`CopyTakenForOurs`](Bug::CopyTakenForOurs) | ours | a server that lost a claim against a copy
//! of itself gets the answer: it succeeded |

use std::time::Duration;

use leafid::store::{
    JournalLease, JournalRecord, JournalRegistry, LeaseKey, LeaseRecord, LeaseSwap, StoreError,
};

use super::store::{Registry, name};

/// A mistake in how worker ids are leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Two first starts take the same worker id.
    FirstStartRace,
    /// A holder extends its row even if another server holds it now.
    BlindExtension,
    /// A holder whose row is another's continues.
    LostLeaseIgnored,
    /// A clock that goes back moves the generator with it.
    SequenceReset,
    /// A restart takes the worker id that its file names, and starts at the clock.
    FileTrusted,
    /// A worker id is taken over when its holder is silent, at the taker's clock.
    TakenOverAtNow,
    /// Ids go further before the journal records it.
    JournalAfterwards,
    /// A restart without the registry issues with a claim that may have failed.
    WeakStartUnacknowledged,
    /// No server checks whether the registry still knows what it acknowledged.
    RowUnread,
    /// The registry is believed to know what it acknowledged, whatever a read shows.
    RowTrusted,
    /// A restart without the registry issues with a lease of another one.
    ForeignTrusted,
    /// A row that a copy of this server claimed counts as its own.
    CopyTakenForOurs,
}

/// The shortest lease of a plan.
const LEASE_MIN_MS: u64 = 10_000;

/// After this long a holder counts as dead.
const SILENCE_MAX: Duration = Duration::from_secs(4);

impl Bug {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::FirstStartRace,
        Self::BlindExtension,
        Self::LostLeaseIgnored,
        Self::SequenceReset,
        Self::FileTrusted,
        Self::TakenOverAtNow,
        Self::JournalAfterwards,
        Self::WeakStartUnacknowledged,
        Self::RowUnread,
        Self::RowTrusted,
        Self::ForeignTrusted,
        Self::CopyTakenForOurs,
    ];

    pub(crate) async fn swap(
        self,
        registry: &Registry,
        swap: &LeaseSwap,
    ) -> Result<bool, StoreError> {
        let row = registry.row(swap.record.worker);
        let is_extension = swap
            .expected
            .is_some_and(|expected| expected.epoch == swap.record.epoch);
        let found = row.as_ref().map(LeaseRecord::key);
        let blindly = LeaseSwap {
            expected: found,
            ..swap.clone()
        };
        match self {
            Self::FirstStartRace if swap.expected.is_none() => registry.swap(&blindly).await,
            Self::BlindExtension if is_extension => registry.swap(&blindly).await,
            Self::LostLeaseIgnored if is_extension => registry.swap(swap).await.map(|_| true),
            Self::TakenOverAtNow if !is_extension && epoch(found) == epoch(swap.expected) => {
                registry.swap(&blindly).await
            }
            Self::CopyTakenForOurs => {
                let is_done = registry.swap(swap).await?;
                let is_copy = row.is_some_and(|row| name(&row) == name(&swap.record));
                Ok(is_done || is_copy && !is_extension)
            }
            _ => registry.swap(swap).await,
        }
    }

    /// Whether a holder reads its row again. One that extends without comparing does not: otherwise
    /// it would see that the row is another's, and stop before its next extension.
    pub(crate) fn looks(self) -> bool {
        !matches!(
            self,
            Self::BlindExtension | Self::LostLeaseIgnored | Self::RowUnread
        )
    }

    /// The rows as this registry returns them.
    pub(crate) fn show(self, registry: &Registry, mut rows: Vec<LeaseRecord>) -> Vec<LeaseRecord> {
        if self == Self::TakenOverAtNow {
            let is_silent = |row: &LeaseRecord| registry.silence(row.worker) > SILENCE_MAX;
            rows.iter_mut()
                .filter(|row| is_silent(row))
                .for_each(|row| row.until_ms = 0);
        }
        rows
    }

    /// The journal that a server gets at its start.
    pub(crate) fn spoil_journal(self, registry: &Registry, record: &mut JournalRecord) {
        match self {
            Self::SequenceReset | Self::FileTrusted => {
                (record.floor_ms, record.former_ms) = (0, 0);
                if let Some(lease) = &mut record.lease {
                    (lease.below_ms, lease.written_ms) = (0, 0);
                }
            }
            Self::WeakStartUnacknowledged => {
                if let Some(claim) = record.claim.take() {
                    record.lease = Some(JournalLease {
                        worker: claim.worker,
                        epoch: claim.epoch,
                        nonce: claim.nonce,
                        until_ms: claim.from_ms + LEASE_MIN_MS,
                        acknowledged: true,
                        below_ms: claim.from_ms,
                        written_ms: claim.from_ms,
                    });
                }
            }
            Self::ForeignTrusted => {
                record.registry = Some(JournalRegistry {
                    identity: registry.identity(),
                    location: registry.location(),
                });
            }
            _ => {}
        }
    }
}

fn epoch(key: Option<LeaseKey>) -> Option<u64> {
    key.map(|key| key.epoch)
}
