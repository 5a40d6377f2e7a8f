//! `Bucket`: how many ids a second may go out under one quota, and when the next may.
//!
//! A leaky bucket as a meter (the "generic cell rate algorithm", ITU-T I.371): one atomic word
//! holds the time at which everything given out so far is paid for. Ids may go out while that time
//! is near; what goes out moves it on. A call for many ids goes out whole and is paid for
//! afterwards, so that a quota below the size of a batch slows batches down and does not forbid
//! them. Over any time the rate is kept, save for what one moment allows in advance.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How far ahead of its time a bucket may run: so much of a second's ids may go out at once.
const BURST: Duration = Duration::from_millis(100);

/// When to ask again under a quota of 0.
const CLOSED_RETRY: Duration = Duration::from_secs(1);

const NONE: u64 = u64::MAX;

/// What went out under one quota.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Ids a second; [`NONE`] for as many as there are.
    per_second: AtomicU64,
    /// When what went out is paid for, in nanoseconds of the server's clock.
    paid_at: AtomicU64,
}

impl Bucket {
    pub(super) fn new(per_second: Option<u64>) -> Self {
        Self {
            per_second: AtomicU64::new(per_second.unwrap_or(NONE)),
            paid_at: AtomicU64::new(0),
        }
    }

    /// Ids a second; `None` for as many as there are.
    pub(super) fn per_second(&self) -> Option<u64> {
        // Relaxed, here and below: a quota orders nothing else.
        let per_second = self.per_second.load(Ordering::Relaxed);
        (per_second != NONE).then_some(per_second)
    }

    /// Puts another quota in force; what went out before is forgotten.
    pub(super) fn set(&self, per_second: Option<u64>) {
        self.per_second
            .store(per_second.unwrap_or(NONE), Ordering::Relaxed);
        self.paid_at.store(0, Ordering::Relaxed);
    }

    /// Whether ids may go out now; else, how long until they may.
    pub(super) fn check(&self, now: Duration) -> Result<(), Duration> {
        match self.per_second() {
            None => Ok(()),
            Some(0) => Err(CLOSED_RETRY),
            Some(_) => {
                let paid_at = Duration::from_nanos(self.paid_at.load(Ordering::Relaxed));
                let wait = paid_at.saturating_sub(now.saturating_add(BURST));
                if wait.is_zero() { Ok(()) } else { Err(wait) }
            }
        }
    }

    /// Takes note that ids went out.
    pub(super) fn charge(&self, count: u64, now: Duration) {
        let Some(per_second) = self.per_second().filter(|per_second| *per_second > 0) else {
            return;
        };
        let cost = u128::from(count) * 1_000_000_000 / u128::from(per_second);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let pay = |paid_at: u64| Some(paid_at.max(now).saturating_add(cost));
        let _paid = self
            .paid_at
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// How many ids go out in ten seconds, `batch` at a time, asked for every millisecond.
    fn in_ten_seconds(per_second: u64, batch: u64) -> u64 {
        let bucket = Bucket::new(Some(per_second));
        let start = 5_000_000;
        let mut given = 0;
        for now in start..start + 10_000 {
            while bucket.check(ms(now)).is_ok() {
                bucket.charge(batch, ms(now));
                given += batch;
            }
        }
        given
    }

    /// Guards that the rate is kept over time, for single ids and for batches above the quota.
    #[test]
    fn the_rate_is_kept() {
        let check = |per_second: u64, batch: u64| {
            let (given, wanted) = (in_ten_seconds(per_second, batch), 10 * per_second);
            let slack = per_second / 10 + 2 * batch;
            assert!(
                (wanted - wanted / 100..=wanted + slack).contains(&given),
                "{per_second} a second, {batch} at a time: {given}"
            );
        };
        check(1, 1);
        check(100, 1);
        check(1000, 7);
        check(1000, 2500);
    }

    #[test]
    fn a_quota_of_zero_closes_and_none_opens() {
        let bucket = Bucket::new(Some(0));
        assert_eq!(bucket.check(ms(1)), Err(CLOSED_RETRY));
        bucket.set(None);
        bucket.charge(u64::MAX, ms(1));
        assert_eq!(bucket.check(ms(1)), Ok(()));
        bucket.set(Some(10));
        bucket.charge(20, ms(1000));
        assert_eq!(bucket.check(ms(1000)), Err(ms(1900)));
        assert_eq!(bucket.check(ms(2900)), Ok(()));
    }
}
