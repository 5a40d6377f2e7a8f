//! `HttpCounts`: requests by route and status, in a fixed table of counters for each thread.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;

use crate::http::Route;
use crate::sharded::Sharded;

/// The statuses with a column of their own; any other counts as the last.
const STATUSES: [u16; 19] = [
    200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 429, 500, 501, 503, 431, 0,
];

/// Requests by route and status.
#[derive(Debug, Default)]
pub(crate) struct HttpCounts {
    tables: Sharded<Table>,
}

struct Table([[AtomicU64; STATUSES.len()]; Route::ALL.len()]);

impl Default for Table {
    fn default() -> Self {
        Self([const { [const { AtomicU64::new(0) }; STATUSES.len()] }; Route::ALL.len()])
    }
}

impl HttpCounts {
    #[inline]
    pub(crate) fn count(&self, route: Route, status: StatusCode) {
        let status = status.as_u16();
        let column = STATUSES.iter().position(|other| *other == status);
        let column = column.unwrap_or(STATUSES.len() - 1);
        // Relaxed: a counter orders nothing.
        self.tables.here().0[route as usize][column].fetch_add(1, Ordering::Relaxed);
    }

    /// Route, status (0 for any other) and count, of those that were counted.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Route, u16, u64)> {
        Route::ALL.into_iter().flat_map(move |route| {
            let columns = STATUSES.into_iter().enumerate();
            columns.filter_map(move |(column, status)| {
                let counts = self
                    .tables
                    .iter()
                    .map(|table| &table.0[route as usize][column]);
                let sum: u64 = counts.map(|count| count.load(Ordering::Relaxed)).sum();
                (sum > 0).then_some((route, status, sum))
            })
        })
    }
}
