//! `Wanted`: ids that memory did not hold.

use crate::frontends::resp::reply::Form;

/// Ids that memory did not hold, and that are waited for.
#[derive(Debug)]
pub(in crate::frontends::resp) enum Wanted {
    /// One id each for so many commands in a row.
    Ids { tag: String, count: u64, form: Form },
    /// Several ids in one answer.
    Several { tag: String, count: u64 },
    /// A run of adjacent ids.
    Run {
        tag: String,
        length: u64,
        ends: Ends,
    },
}

/// How a run is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends::resp) enum Ends {
    /// By its last id, as a number: INCRBY.
    Last,
    /// By its first and its last, as strings: ID.RANGE.
    Both,
}

impl Wanted {
    /// How many commands it answers.
    pub(in crate::frontends::resp) const fn commands(&self) -> u64 {
        match self {
            Self::Ids { count, .. } => *count,
            Self::Several { .. } | Self::Run { .. } => 1,
        }
    }
}
