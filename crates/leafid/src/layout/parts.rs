//! `Fields`: the numbers from which an id is composed. `Parts`: a decoded id.

use std::fmt;

use super::civil::Instant;
use crate::WorkerId;

/// The numbers from which an id is composed.
///
/// # Example
///
/// ```
/// use leafid::{Fields, Layout, WorkerId};
///
/// let fields = Fields { tick: 1, worker: WorkerId::new(3), sequence: 2, shard: 0 };
/// assert_eq!(Layout::SONYFLAKE_V1.compose(fields).get(), 16_908_291);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fields {
    /// Units of time since the epoch.
    pub tick: u64,
    /// The worker id, including the bits of the data centre.
    pub worker: WorkerId,
    /// The number of the id within the tick.
    pub sequence: u64,
    /// The shard; 0 if the layout has none.
    pub shard: u32,
}

/// A decoded id.
///
/// # Example
///
/// ```
/// use leafid::Layout;
///
/// let parts = Layout::TWITTER.decompose(1_541_815_603_606_036_480);
/// assert_eq!(parts.unix_ms, 1_656_432_460_105); // 2022-06-28T16:07:40.105Z
/// assert_eq!((parts.data_center, parts.worker_in_data_center), (Some(11), 26));
/// assert_eq!(parts.sequence, 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Parts {
    /// Units of time since the epoch.
    pub tick: u64,
    /// When the tick began, in milliseconds since 1970-01-01T00:00:00Z.
    pub unix_ms: i64,
    /// The worker id, including the bits of the data centre.
    pub worker: WorkerId,
    /// The upper bits of the worker id; `None` if the layout has no data centre.
    pub data_center: Option<u32>,
    /// The lower bits of the worker id; all of it if the layout has no data centre.
    pub worker_in_data_center: u32,
    /// The number of the id within the tick.
    pub sequence: u64,
    /// The shard; `None` if the layout has none.
    pub shard: Option<u32>,
}

impl Parts {
    /// When the tick began, as text: RFC 3339, in UTC.
    ///
    /// # Example
    ///
    /// ```
    /// let parts = leafid::Layout::LEAF.decompose(1_169_786_042_799_259_000);
    /// assert_eq!(parts.time().to_string(), "2019-09-06T01:35:00.834Z");
    /// ```
    #[must_use]
    pub fn time(self) -> impl fmt::Display {
        Instant {
            unix_ms: self.unix_ms,
        }
    }

    /// The numbers from which [`Layout::compose`](crate::Layout::compose) makes the id again.
    #[must_use]
    pub const fn fields(self) -> Fields {
        Fields {
            tick: self.tick,
            worker: self.worker,
            sequence: self.sequence,
            shard: match self.shard {
                Some(shard) => shard,
                None => 0,
            },
        }
    }
}
