//! `Samples`: the last half hour, in a ring.

use std::collections::VecDeque;
use std::time::Duration;

use super::rates::Reading;
use super::tag_totals::Totals;
use crate::api::console::{History, HistoryPoint};
use crate::wall_clock;

/// The time between two samples.
pub(super) const INTERVAL: Duration = Duration::from_secs(10);
/// Half an hour of them.
const SAMPLES_MAX: usize = 180;

/// The last half hour, the oldest sample first.
#[derive(Debug, Default)]
pub(super) struct Samples {
    points: VecDeque<HistoryPoint>,
    last: Option<Reading>,
}

impl Samples {
    pub(super) fn push(&mut self, reading: Reading, totals: &Totals) {
        if let Some(last) = &self.last {
            let rates = reading.since(last);
            if self.points.len() == SAMPLES_MAX {
                self.points.pop_front();
            }
            let requests = rates.requests;
            self.points.push_back(HistoryPoint {
                unix_ms: wall_clock::now().as_millisecond().to_string(),
                ids_per_second: rates.ids,
                requests_per_second: requests.http + requests.resp + requests.grpc,
                errors_per_second: rates.errors,
                cover_seconds: totals.cover.as_ref().map(|(cover, _)| cover.as_secs_f64()),
            });
        }
        self.last = Some(reading);
    }

    /// The last reading.
    pub(super) fn last(&self) -> Option<&Reading> {
        self.last.as_ref()
    }

    pub(super) fn history(&self) -> History {
        History {
            interval_seconds: INTERVAL.as_secs(),
            points: self.points.iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_hour_is_kept() {
        let mut samples = Samples::default();
        for _ in 0..1000 {
            samples.push(Reading::default(), &Totals::default());
        }
        assert_eq!(samples.history().points.len(), SAMPLES_MAX);
    }
}
