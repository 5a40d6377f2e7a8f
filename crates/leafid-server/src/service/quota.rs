//! `Bucket`: the rate limiter of one quota: how many ids per second may be issued, and when the
//! next one may.
//!
//! A leaky bucket as a meter (the "generic cell rate algorithm", GCRA, ITU-T I.371): one atomic
//! word holds the time until which the issued ids have used up the rate. Ids may be issued while
//! that time is near; issuing them moves it on. A call for many ids is admitted as a whole and
//! charged afterwards, so that a quota below the size of a batch slows batches down and does not
//! forbid them. Over any period the rate is kept, except for the burst that one moment allows.
//!
//! A bucket has one rate for life: another quota is another bucket. So a call that is charged late,
//! at the former rate, cannot burden the new one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How far a bucket may run ahead: the burst, as a part of a second's ids.
const BURST: Duration = Duration::from_millis(100);

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// When to try again under a quota of 0.
const CLOSED_RETRY: Duration = Duration::from_secs(1);

/// The usage of one quota.
#[derive(Debug)]
pub(super) struct Bucket {
    /// The number of ids allowed in a period.
    rate: u64,
    period: Duration,
    /// How far ahead it may run.
    burst: Duration,
    /// Until when the issued ids use up the rate, in nanoseconds of the server's clock.
    paid_at: AtomicU64,
}

impl Bucket {
    /// A bucket from which nothing was issued yet.
    pub(super) fn new(per_second: u64) -> Self {
        Self {
            rate: per_second,
            period: SECOND,
            burst: BURST,
            paid_at: AtomicU64::new(0),
        }
    }

    /// A limit per minute; after an idle minute all of it is available at once.
    pub(super) fn per_minute(rate: u64) -> Self {
        Self {
            rate,
            period: MINUTE,
            burst: MINUTE,
            paid_at: AtomicU64::new(0),
        }
    }

    /// A limit in ids per second, for a quota.
    pub(super) const fn per_second(&self) -> u64 {
        self.rate
    }

    /// Whether ids may be issued now; otherwise, how long until they may.
    pub(super) fn check(&self, now: Duration) -> Result<(), Duration> {
        if self.rate == 0 {
            return Err(CLOSED_RETRY);
        }
        // Relaxed, here and below: a quota orders nothing else.
        let paid_at = Duration::from_nanos(self.paid_at.load(Ordering::Relaxed));
        let wait = paid_at.saturating_sub(now.saturating_add(self.burst));
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Charges issued ids.
    pub(super) fn charge(&self, count: u64, now: Duration) {
        if self.rate == 0 {
            return;
        }
        // Rounded up, so that rounding never allows more than the quota.
        let cost = (u128::from(count) * self.period.as_nanos()).div_ceil(u128::from(self.rate));
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

    /// The ids issued in ten seconds, `batch` at a time, requested every millisecond.
    fn in_ten_seconds(per_second: u64, batch: u64) -> u64 {
        let bucket = Bucket::new(per_second);
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
    fn a_minute_may_come_at_once() {
        let bucket = Bucket::per_minute(60);
        let mut given = 0;
        while bucket.check(ms(1)).is_ok() && given < 100 {
            bucket.charge(1, ms(1));
            given += 1;
        }
        // The burst allows one more, as with every bucket.
        assert_eq!(given, 61);
        assert_eq!(bucket.check(ms(1)), Err(ms(1000)));
        assert_eq!(bucket.check(ms(1001)), Ok(()));
    }

    #[test]
    fn a_quota_of_zero_closes() {
        let bucket = Bucket::new(0);
        assert_eq!(bucket.check(ms(1)), Err(CLOSED_RETRY));
        bucket.charge(1, ms(1));
        assert_eq!(bucket.check(ms(1)), Err(CLOSED_RETRY));
    }

    #[test]
    fn what_went_out_is_paid_for_before_more_does() {
        let bucket = Bucket::new(10);
        bucket.charge(20, ms(1000));
        assert_eq!(bucket.check(ms(1000)), Err(ms(1900)));
        assert_eq!(bucket.check(ms(2899)), Err(ms(1)));
        assert_eq!(bucket.check(ms(2900)), Ok(()));
    }

    /// Guards against overflow: a debt does not wrap around.
    #[test]
    fn the_largest_numbers_close_for_long() {
        let bucket = Bucket::new(1);
        for _ in 0..3 {
            bucket.charge(u64::MAX, Duration::MAX);
            assert!(bucket.check(ms(1)).is_err());
        }
        let fast = Bucket::new(u64::MAX);
        fast.charge(1, ms(1));
        assert_eq!(fast.check(ms(1)), Ok(()));
    }

    /// Guards the rate while threads take at once: the excess between their check and their charge
    /// is a debt.
    #[test]
    fn threads_together_keep_the_rate() {
        let bucket = Bucket::new(1000);
        let given = AtomicU64::new(0);
        let now = AtomicU64::new(5_000_000);
        let end = 5_002_000;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let seen = now.load(Ordering::Relaxed);
                        if bucket.check(ms(seen)).is_ok() {
                            bucket.charge(1, ms(seen));
                            given.fetch_add(1, Ordering::Relaxed);
                        }
                        if seen >= end {
                            return;
                        }
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..2000 {
                    std::thread::yield_now();
                    now.fetch_add(1, Ordering::Relaxed);
                }
            });
        });
        let given = given.into_inner();
        assert!(given > 0 && given <= 2000 + 100 + 4 * 4, "{given}");
    }
}
