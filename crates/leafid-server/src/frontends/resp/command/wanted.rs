//! `Wanted`: ids that memory did not hold, and that a command waits for.

use crate::frontends::resp::reply::Form;

/// Ids that memory did not hold, and that a command waits for.
#[derive(Debug)]
pub(in crate::frontends::resp) enum Wanted {
    /// One id for each of several commands in a row.
    Ids { tag: String, count: u64, form: Form },
    /// Several ids in one answer.
    Several { tag: String, count: u64 },
    /// A range of adjacent ids.
    Run {
        tag: String,
        length: u64,
        ends: Ends,
    },
}

/// The form of the answer to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends::resp) enum Ends {
    /// Its last id, as a number: INCRBY.
    Last,
    /// Its first and last id, as strings: ID.RANGE.
    Both,
}

impl Wanted {
    /// The number of commands it answers.
    pub(in crate::frontends::resp) const fn commands(&self) -> u64 {
        match self {
            Self::Ids { count, .. } => *count,
            Self::Several { .. } | Self::Run { .. } => 1,
        }
    }
}
