//! `WeakStore`: why a reachable store is refused.

use super::{StoreError, StoreReport};

/// A store that could lose what it acknowledges, so that ids repeat; it is refused. The source of a
/// [`StoreError::Unavailable`], because the next server of a list, or the same one with another
/// setting, can be used.
///
/// # Example
///
/// ```
/// use leafid::blocking::block_on;
/// use leafid::store::{MemoryStore, SegmentStore, WeakStore};
///
/// let error = WeakStore::refused(block_on(MemoryStore::new().inspect())?);
/// assert!(!error.is_retryable() && error.may_recover());
/// assert!(error.to_string().contains("store is memory"));
/// let report = error.weak_store().expect("it says which store");
/// assert_eq!(report.product, "memory");
/// # Ok::<(), leafid::store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a weak store is not used")]
#[non_exhaustive]
pub struct WeakStore {
    /// What the store is, and its weaknesses.
    pub report: StoreReport,
}

impl WeakStore {
    /// The error for a store that this report is of: it names the store, each setting, and what
    /// allows them.
    #[must_use]
    pub fn refused(report: StoreReport) -> StoreError {
        let each = report.weaknesses.iter().map(ToString::to_string);
        let message = format!(
            "{} could lose what it acknowledges, and then ids repeat: {}; it is refused unless \
            weak stores are allowed (StoreOptions::allow_weak)",
            report.location,
            each.collect::<Vec<_>>().join("; ")
        );
        StoreError::unavailable(message, Self { report })
    }
}

impl StoreError {
    /// The store that was refused for its settings; `None` for any other error.
    #[must_use]
    pub fn weak_store(&self) -> Option<&StoreReport> {
        let Self::Unavailable { source, .. } = self else {
            return None;
        };
        source.downcast_ref().map(|weak: &WeakStore| &weak.report)
    }
}
