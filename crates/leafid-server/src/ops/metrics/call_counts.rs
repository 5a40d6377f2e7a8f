//! `CallCounts`: calls by two labels, such as route and status, in a fixed table of counters for
//! each thread.

use std::sync::atomic::{AtomicU64, Ordering};

use super::latency::Latency;
use crate::net::connection_counts::Protocol;
use crate::sharded::Sharded;

/// Call counts by row and column.
#[derive(Debug, Default)]
pub(crate) struct CallCounts<const ROWS: usize, const COLUMNS: usize> {
    tables: Sharded<Table<ROWS, COLUMNS>>,
}

/// The counts of one thread.
#[derive(Debug)]
struct Table<const ROWS: usize, const COLUMNS: usize>([[AtomicU64; COLUMNS]; ROWS]);

impl<const ROWS: usize, const COLUMNS: usize> Default for Table<ROWS, COLUMNS> {
    fn default() -> Self {
        Self([const { [const { AtomicU64::new(0) }; COLUMNS] }; ROWS])
    }
}

impl<const ROWS: usize, const COLUMNS: usize> CallCounts<ROWS, COLUMNS> {
    #[inline]
    pub(crate) fn add(&self, row: usize, column: usize, count: u64) {
        // Relaxed: a counter orders nothing.
        self.tables.here().0[row][column].fetch_add(count, Ordering::Relaxed);
    }

    /// The row, column and value of each counter above zero.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let cells = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
        cells.filter_map(|(row, column)| {
            let counts = self.tables.iter().map(|table| &table.0[row][column]);
            let sum: u64 = counts.map(|count| count.load(Ordering::Relaxed)).sum();
            (sum > 0).then_some((row, column, sum))
        })
    }
}

/// The calls of one front end, for a scrape.
pub(crate) trait CountedCalls: Send + Sync {
    fn metric(&self) -> CallMetric;

    fn protocol(&self) -> Protocol;

    /// How long they took.
    fn latency(&self) -> &Latency;

    /// Calls `each` with the values of the two labels and the count, for each counter above zero.
    fn for_each(&self, each: &mut dyn FnMut([&str; 2], u64));
}

/// A metric of calls.
pub(crate) struct CallMetric {
    /// Its name, without prefix and suffix.
    pub(crate) name: &'static str,
    /// What it counts.
    pub(crate) help: &'static str,
    /// The names of its two labels.
    pub(crate) labels: [&'static str; 2],
}
