//! `FamilyError`: why no id of a family was made.

use leafid::Family;

/// Why no id of a [`Family`] was made. Nothing was appended, and no id was lost or repeated.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use leafid::{Family, ManualClock};
/// use leafid_formats::{Families, FamilyError, FamilyFormat};
///
/// let clock = ManualClock::new();
/// clock.set_wall(Duration::from_secs(1_300_000_000)); // 2011
/// let families = Families::new(Arc::new(clock));
/// let ksuid = FamilyFormat::compile(Family::Ksuid, None)?;
/// let error = families.push_next(&ksuid, &mut String::new()).unwrap_err();
/// assert!(matches!(error, FamilyError::Clock { family: Family::Ksuid, .. }));
/// # Ok::<(), leafid::format::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FamilyError {
    /// The operating system gave no random bits. A later call may succeed.
    #[error("cannot read random bits from the operating system ({reason}): try again")]
    Entropy {
        /// What the operating system said.
        reason: String,
    },
    /// There is no worker id to make it with, or the clock is behind. A later call may succeed.
    #[error("no {family} without a worker id: {reason}")]
    Node {
        /// The family.
        family: Family,
        /// What the generator of snowflake ids said.
        reason: String,
    },
    /// The family has no bits for the time of the clock: it is before the family's epoch, or after
    /// its end.
    #[error(
        "{family} cannot express the time {unix_ms} ms since 1970-01-01T00:00:00Z: correct the clock"
    )]
    Clock {
        /// The family.
        family: Family,
        /// The time of the clock, in milliseconds since 1970-01-01T00:00:00Z.
        unix_ms: u64,
    },
}
