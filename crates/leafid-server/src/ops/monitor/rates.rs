//! `Reading`: the counters at one time; two of them give [`Rates`].

use std::time::Duration;

use super::tag_totals::Totals;
use crate::api::console::PerProtocol;
use crate::net::connection_counts::Protocol;
use crate::ops::metrics::{CountedCalls, Counters};
use crate::service::Service;

/// The counters at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    pub(super) at: Duration,
    /// Ids of segment tags, which may be counted a little earlier than the rest.
    segments_at: Duration,
    segment_ids: u64,
    snowflake_ids: u64,
    requests: PerProtocol<u64>,
    errors: u64,
    /// The rate of segment ids when the last two readings share one count.
    segment_rate: f64,
}

/// What happens in a second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    pub(super) ids: f64,
    pub(super) requests: PerProtocol<f64>,
    pub(super) errors: f64,
}

impl Reading {
    pub(super) fn now(now: Duration, service: &Service, all: &Counters, totals: &Totals) -> Self {
        let mut reading = Self {
            at: now,
            segments_at: totals.at,
            segment_ids: totals.issued,
            segment_rate: totals.rate,
            snowflake_ids: service.snowflakes_issued(),
            ..Self::default()
        };
        for calls in &all.calls {
            let protocol = calls.protocol();
            *count_of(&mut reading.requests, protocol) += calls.latency().sum().count;
            reading.errors += errors(&**calls, protocol);
        }
        reading
    }

    /// What happened in a second, on average, since an earlier reading.
    pub(super) fn since(&self, before: &Self) -> Rates {
        let took = self.at.saturating_sub(before.at);
        let per_second = |now: u64, before: u64| rate(now.saturating_sub(before), took);
        let segments_took = self.segments_at.saturating_sub(before.segments_at);
        let segments = match segments_took.is_zero() {
            // Many tags are counted more rarely than this is asked.
            true => self.segment_rate,
            // Tags that left memory take their count with them.
            false => rate(
                self.segment_ids.saturating_sub(before.segment_ids),
                segments_took,
            ),
        };
        let (now, was) = (&self.requests, &before.requests);
        Rates {
            ids: segments + per_second(self.snowflake_ids, before.snowflake_ids),
            requests: PerProtocol {
                http: per_second(now.http, was.http),
                resp: per_second(now.resp, was.resp),
                grpc: per_second(now.grpc, was.grpc),
            },
            errors: per_second(self.errors, before.errors),
        }
    }
}

fn count_of(counts: &mut PerProtocol<u64>, protocol: Protocol) -> &mut u64 {
    match protocol {
        Protocol::Http => &mut counts.http,
        Protocol::Resp => &mut counts.resp,
        Protocol::Grpc => &mut counts.grpc,
    }
}

/// Answers that say that the server failed: statuses from 500 over HTTP, the like of gRPC, and each
/// error over RESP, which does not tell them apart.
fn errors(calls: &dyn CountedCalls, protocol: Protocol) -> u64 {
    const OF_GRPC: [&str; 5] = [
        "UNAVAILABLE",
        "INTERNAL",
        "UNKNOWN",
        "DATA_LOSS",
        "DEADLINE_EXCEEDED",
    ];
    let mut sum = 0;
    calls.for_each(&mut |[_, outcome], count| {
        let is_error = match protocol {
            Protocol::Http => outcome.starts_with('5'),
            Protocol::Resp => outcome == "error",
            Protocol::Grpc => OF_GRPC.contains(&outcome),
        };
        if is_error {
            sum += count;
        }
    });
    sum
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
fn rate(count: u64, took: Duration) -> f64 {
    if took.is_zero() {
        return 0.0;
    }
    count as f64 / took.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, ids: u64) -> Reading {
        let at = Duration::from_secs(seconds);
        Reading {
            at,
            segments_at: at,
            segment_ids: ids,
            snowflake_ids: 2 * ids,
            errors: ids / 10,
            ..Reading::default()
        }
    }

    #[test]
    fn rates_are_differences_by_time() {
        let rates = at(12, 3000).since(&at(10, 1000));
        assert!((rates.ids - 3000.0).abs() < 1e-9, "{rates:?}");
        assert!((rates.errors - 100.0).abs() < 1e-9, "{rates:?}");
    }

    /// Guards that tags which left memory, and two readings at once, show no nonsense.
    #[test]
    fn no_rate_is_negative_or_infinite() {
        assert!(at(12, 10).since(&at(10, 1000)).ids.abs() < 1e-9);
        let same = at(10, 1000).since(&at(10, 900));
        assert!(same.ids.is_finite() && same.errors.is_finite());
    }
}
