//! `Latency`: how long the requests of a front end took, in a histogram for each thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sharded::Sharded;

/// The upper bounds of the buckets: from an answer out of memory to one that waited for a store.
const BOUNDS: [Duration; 14] = [
    Duration::from_micros(10),
    Duration::from_micros(50),
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2_500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// How long the requests of a front end took, from their arrival to their answer. What the network
/// and a peer that reads slowly take is not in it.
#[derive(Debug, Default)]
pub(crate) struct Latency(Sharded<Buckets>);

/// The requests of one thread.
#[derive(Debug, Default)]
struct Buckets {
    /// How many took no longer than the bound with the same index; the last took longer than all.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

/// The requests of all threads, for a scrape.
pub(crate) struct LatencySum {
    pub(crate) seconds: f64,
    pub(crate) count: u64,
    /// The upper bound of each bucket in seconds, and what is in it alone.
    pub(crate) buckets: Vec<(f64, u64)>,
}

impl Latency {
    /// Records that `count` requests took this long, each of them.
    #[inline]
    pub(crate) fn record(&self, took: Duration, count: u64) {
        let at = BOUNDS.iter().position(|bound| took <= *bound);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let here = self.0.here();
        // Relaxed: counters order nothing.
        here.counts[at.unwrap_or(BOUNDS.len())].fetch_add(count, Ordering::Relaxed);
        here.nanos
            .fetch_add(nanos.saturating_mul(count), Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> LatencySum {
        let sum = |read: &dyn Fn(&Buckets) -> u64| self.0.iter().map(read).sum::<u64>();
        let count_of = |at: usize| sum(&|one| one.counts[at].load(Ordering::Relaxed));
        let bounds = BOUNDS.iter().map(Duration::as_secs_f64);
        let bounds = bounds.chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds
            .enumerate()
            .map(|(at, bound)| (bound, count_of(at)))
            .collect();
        LatencySum {
            seconds: Duration::from_nanos(sum(&|one| one.nanos.load(Ordering::Relaxed)))
                .as_secs_f64(),
            count: buckets.iter().map(|(_, count)| count).sum(),
            buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_in_the_bucket_of_their_time() {
        let latency = Latency::default();
        latency.record(Duration::from_micros(10), 128);
        latency.record(Duration::from_micros(11), 1);
        latency.record(Duration::from_secs(60), 2);
        let sum = latency.sum();
        assert_eq!(sum.count, 131);
        assert_eq!(sum.buckets[0], (0.000_01, 128));
        assert_eq!(sum.buckets[1], (0.000_05, 1));
        assert_eq!(sum.buckets[BOUNDS.len()], (f64::INFINITY, 2));
        assert!((sum.seconds - 120.001_291).abs() < 1e-9, "{}", sum.seconds);
    }
}
