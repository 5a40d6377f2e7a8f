//! `HttpCounts`: requests by route and status.

use hyper::StatusCode;

use super::Route;
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::{CallCounts, CallMetric, CountedCalls, Latency};

/// The statuses that are counted by themselves; any other counts as the last.
const STATUSES: [u16; 19] = [
    200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 429, 500, 501, 503, 431, 0,
];

/// Requests by route and status, and how long they took.
#[derive(Debug, Default)]
pub(crate) struct HttpCounts {
    calls: CallCounts<{ Route::ALL.len() }, { STATUSES.len() }>,
    pub(super) latency: Latency,
}

impl HttpCounts {
    #[inline]
    pub(crate) fn count(&self, route: Route, status: StatusCode) {
        let status = status.as_u16();
        let column = STATUSES.iter().position(|other| *other == status);
        self.calls
            .add(route as usize, column.unwrap_or(STATUSES.len() - 1), 1);
    }
}

impl CountedCalls for HttpCounts {
    fn metric(&self) -> CallMetric {
        CallMetric {
            name: "http_requests",
            help: "requests by route and status",
            labels: ["route", "status"],
        }
    }

    fn protocol(&self) -> Protocol {
        Protocol::Http
    }

    fn latency(&self) -> &Latency {
        &self.latency
    }

    fn for_each(&self, each: &mut dyn FnMut([&str; 2], u64)) {
        for (route, status, count) in self.calls.counted() {
            let path = Route::ALL[route].path();
            match STATUSES[status] {
                0 => each([path, "other"], count),
                status => each([path, &status.to_string()], count),
            }
        }
    }
}
