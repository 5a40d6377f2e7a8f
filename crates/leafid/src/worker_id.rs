//! `WorkerId`: the number of the running process that made an id.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// A number that only one running process has at a time; part of each snowflake id it makes.
///
/// Its maximum depends on the layout: 0 to 1023 in Leaf's.
///
/// # Example
///
/// ```
/// use leafid::WorkerId;
///
/// let worker: WorkerId = "39".parse()?;
/// assert_eq!(worker, WorkerId::new(39));
/// assert_eq!(worker.to_string(), "39");
/// # Ok::<(), std::num::ParseIntError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(u32);

impl WorkerId {
    /// The worker id with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The worker id as a number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl From<u32> for WorkerId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<WorkerId> for u32 {
    fn from(worker: WorkerId) -> Self {
        worker.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for WorkerId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}
