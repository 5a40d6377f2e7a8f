//! Why a layout is invalid or must not issue, why fields do not fit it, and the warning before its
//! end.

use std::fmt;

use super::civil::{DAY_MS, Instant};
use super::{Epoch, Layout};
use crate::worker_id::WorkerId;

/// Why a layout is invalid, or must not issue ids now.
///
/// # Example
///
/// ```
/// use leafid::Layout;
///
/// let error = Layout::BAIDU.check(1_767_225_600_000).unwrap_err();
/// assert!(error.to_string().starts_with("the layout baidu ended at 2024-11-20T13:24:15Z:"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The widths do not add up.
    #[error(
        "the widths add up to {sum} bits: change them so that time, worker, sequence and shard make \
         63 together, or 53 for ids that fit a JavaScript number"
    )]
    WidthSum {
        /// What they add up to.
        sum: u32,
    },
    /// There are no bits of time.
    #[error(
        "the layout has no bits of time: give time at least 1, and about 41 for 69 years of 1ms"
    )]
    NoTime,
    /// The worker id is wider than a [`WorkerId`](crate::WorkerId).
    #[error("the worker id has {worker_bits} bits: give it at most 32")]
    WideWorker {
        /// How many bits it has.
        worker_bits: u32,
    },
    /// The data centre has more bits than the worker id that it is part of.
    #[error(
        "the data centre has {data_center_bits} bits and the worker id {worker_bits}: the data \
         centre is the upper part of the worker id, so give the worker id at least as many"
    )]
    WideDataCenter {
        /// How many bits the data centre has.
        data_center_bits: u32,
        /// How many bits the worker id has.
        worker_bits: u32,
    },
    /// The shard is too wide.
    #[error("the shard has {shard_bits} bits: give it at most 16")]
    WideShard {
        /// How many bits it has.
        shard_bits: u32,
    },
    /// The shard does not fit.
    #[error("shard {shard} does not fit the layout {layout}, whose largest is {}", layout.shard_max())]
    NoSuchShard {
        /// The shard.
        shard: u32,
        /// The layout.
        layout: Layout,
    },
    /// The layout has no shards.
    #[error(
        "the layout {layout} has no shards: leave the shard out, or use a layout with some, as in \
         time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z"
    )]
    NoShards {
        /// The layout.
        layout: Layout,
    },
    /// The worker id does not fit.
    #[error("worker id {worker} does not fit the layout, whose largest is {max}")]
    NoSuchWorker {
        /// The worker id.
        worker: WorkerId,
        /// The largest.
        max: u32,
    },
    /// The layout has 64 bits, and is for decoding only.
    #[error(
        "the layout {layout} has {} bits and is for decoding only: issue with a layout of 63, such \
         as leaf", layout.total_bits()
    )]
    DecodeOnly {
        /// The layout.
        layout: Layout,
    },
    /// The epoch is not past, by one tick at least.
    #[error(
        "the epoch {epoch} is not past, it is {} now: choose an earlier one, or set this machine's \
         clock", Instant { unix_ms: *now_unix_ms }
    )]
    EpochNotPast {
        /// The epoch.
        epoch: Epoch,
        /// The time of the check, in milliseconds since 1970-01-01T00:00:00Z.
        now_unix_ms: i64,
    },
    /// The layout's time has run out.
    #[error(
        "the layout {layout} ended at {}: its {} bits of time are exhausted; issue with a layout \
         that has more of them, or, if no id made with this one is still in use, with an epoch of \
         your own, such as {}",
        last_tick(*layout), layout.time_bits(), renewed(*layout, *now_unix_ms)
    )]
    Ended {
        /// The layout.
        layout: Layout,
        /// The time of the check, in milliseconds since 1970-01-01T00:00:00Z.
        now_unix_ms: i64,
    },
}

/// The last tick of a layout, in the precision that its ids have.
fn last_tick(layout: Layout) -> Instant {
    let unix_ms = layout.unix_ms_of(layout.ticks_max());
    Instant { unix_ms }
}

/// The same layout with an epoch at the start of this year, as a suggestion.
fn renewed(layout: Layout, now_unix_ms: i64) -> Layout {
    let year = Instant {
        unix_ms: now_unix_ms,
    }
    .year();
    let epoch = Instant::start_of_year(year);
    layout.with_epoch(Epoch::from_unix_ms(epoch.unix_ms))
}

/// A layout that lasts less than three years. Its text names the last tick and the days left.
///
/// # Example
///
/// ```
/// use leafid::Layout;
///
/// let warning = Layout::LEAF.check(3_450_000_000_000)?.expect("it is 2079");
/// assert_eq!(warning.end_unix_ms(), Layout::LEAF.end_unix_ms());
/// assert!(warning.to_string().starts_with("the layout leaf ends at 2080-07-10T17:30:30.208Z"));
/// # Ok::<(), leafid::LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndWarning {
    pub(super) layout: Layout,
    pub(super) now_unix_ms: i64,
}

impl EndWarning {
    /// The last usable instant, in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn end_unix_ms(self) -> i64 {
        self.layout.end_unix_ms()
    }

    /// Whole days left, from the time of the check.
    #[must_use]
    pub const fn days_left(self) -> i64 {
        self.end_unix_ms().saturating_sub(self.now_unix_ms) / DAY_MS
    }
}

impl fmt::Display for EndWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, .. } = *self;
        write!(
            f,
            "the layout {layout} ends at {}, in {} days: it issues no id after that; move to a \
             layout with more bits of time before",
            last_tick(layout),
            self.days_left()
        )
    }
}

/// Why fields do not make an id of a layout.
///
/// # Example
///
/// ```
/// use leafid::{ComposeError, Fields, Layout, WorkerId};
///
/// let fields = Fields { tick: 1, worker: WorkerId::new(1024), sequence: 0, shard: 0 };
/// let error = Layout::LEAF.try_compose(fields).unwrap_err();
/// assert_eq!(error.to_string(), "the worker id is 1024: this layout has room for 0 to 1023");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The tick is beyond the bits of time.
    #[error("the tick is {tick}: this layout has room for 0 to {max}")]
    Tick {
        /// The tick.
        tick: u64,
        /// The largest one.
        max: u64,
    },
    /// The worker id is beyond its bits.
    #[error("the worker id is {worker}: this layout has room for 0 to {max}")]
    Worker {
        /// The worker id.
        worker: u32,
        /// The largest one.
        max: u32,
    },
    /// The sequence is beyond its bits.
    #[error("the sequence is {sequence}: this layout has room for 0 to {max}")]
    Sequence {
        /// The sequence.
        sequence: u64,
        /// The largest one.
        max: u64,
    },
    /// The shard is beyond its bits.
    #[error("the shard is {shard}: this layout has room for 0 to {max}")]
    Shard {
        /// The shard.
        shard: u32,
        /// The largest one.
        max: u32,
    },
    /// All fields are 0, or the id has 64 bits.
    #[error("these fields make {number}, which is not an id: an id lies between 1 and 2^63 - 1")]
    NoId {
        /// The number they make.
        number: u64,
    },
}

/// A number that has more bits than a layout, and so is not an id of it.
///
/// # Example
///
/// ```
/// let error = leafid::Layout::JS53.try_decompose(u64::MAX).unwrap_err();
/// assert!(error.to_string().contains("an id of the layout js53 is at most 9007199254740991"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{id} is too large: an id of the layout {layout} is at most {}; name the layout that it was \
     made with", layout.number_max()
)]
#[non_exhaustive]
pub struct DecomposeError {
    /// The number.
    pub id: u64,
    /// The layout.
    pub layout: Layout,
}
