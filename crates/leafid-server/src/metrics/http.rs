//! `HttpCounts`: requests by route and status, in a fixed table of atomic counters.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;

use crate::http::Route;

/// The statuses with a column of their own; any other counts as the last.
const STATUSES: [u16; 16] = [
    200, 201, 204, 400, 404, 405, 408, 409, 413, 414, 415, 500, 501, 503, 431, 0,
];

/// Requests by route and status.
#[derive(Debug)]
pub(crate) struct HttpCounts {
    counts: [[AtomicU64; STATUSES.len()]; Route::ALL.len()],
}

impl HttpCounts {
    pub(crate) const fn new() -> Self {
        Self {
            counts: [const { [const { AtomicU64::new(0) }; STATUSES.len()] }; Route::ALL.len()],
        }
    }

    pub(crate) fn count(&self, route: Route, status: StatusCode) {
        let status = status.as_u16();
        let column = STATUSES.iter().position(|other| *other == status);
        let column = column.unwrap_or(STATUSES.len() - 1);
        // Relaxed: a counter orders nothing.
        self.counts[route as usize][column].fetch_add(1, Ordering::Relaxed);
    }

    /// Route, status (0 for any other) and count, of those that were counted.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Route, u16, u64)> {
        Route::ALL.into_iter().flat_map(|route| {
            let row = STATUSES.into_iter().zip(&self.counts[route as usize]);
            row.map(move |(status, count)| (route, status, count.load(Ordering::Relaxed)))
                .filter(|(_, _, count)| *count > 0)
        })
    }
}
