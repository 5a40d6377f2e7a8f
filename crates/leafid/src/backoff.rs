//! Back-off: how long to wait before a call that failed is made again.

use std::time::Duration;

/// The pause after so many failures in a row, at least one: `min`, doubled with each further one, up
/// to `max`. A part of it is taken off at random, up to `spread` (0 to 1) of it, so that those who
/// failed together do not return together. `random` is from 0 to 1: the smaller, the shorter.
pub(crate) fn backoff(
    min: Duration,
    max: Duration,
    failures: u32,
    spread: f64,
    random: f64,
) -> Duration {
    let doubled = min.saturating_mul(1 << failures.saturating_sub(1).min(20));
    doubled.min(max).mul_f64(1.0 - spread * (1.0 - random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_maximum_and_is_spread() {
        let check = |failures, spread, random, expected| {
            let (min, max) = (Duration::from_millis(100), Duration::from_secs(5));
            let pause = backoff(min, max, failures, spread, random);
            assert_eq!(pause, Duration::from_millis(expected), "{failures}");
        };
        check(0, 0.5, 1.0, 100);
        check(1, 0.5, 1.0, 100);
        check(2, 0.5, 1.0, 200);
        check(3, 0.5, 0.0, 200);
        check(3, 1.0, 0.0, 0);
        check(3, 1.0, 0.5, 200);
        check(7, 0.5, 1.0, 5000);
        check(u32::MAX, 0.5, 0.5, 3750);
    }
}
