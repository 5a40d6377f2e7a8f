//! `LateReads`: which of the reads that are late are still waited for.

use std::time::Duration;

use futures_util::future::{AbortHandle, AbortRegistration};

/// How many late reads are waited for at once. Seven ages that double lead from one interval of 2.5
/// s to more than any read may take.
const LEN_MAX: usize = 8;

/// The late reads of a row that are waited for beside the next ones, at most 8.
///
/// A server that is only slow answers each of them in the end; one that lost a packet, or a
/// connection, never answers some. Which of them will be answered cannot be known, so those that are
/// kept have ages that grow by a factor: of a new read for each interval, one is always about to
/// become as old as the slowest answer. If answers take `T`, and each that is kept is answered, a
/// change is seen after at most about `2 * T`. The oldest is kept in any case: its connection may be
/// the only one that is established.
///
/// Use it from one task. Each read runs inside a [`futures_util::future::Abortable`].
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use futures_util::future::Abortable;
/// use leafid::{LateReads, blocking};
///
/// let mut late = LateReads::default();
/// let (began, now) = (Duration::from_secs(10), Duration::from_secs(13));
/// let read = Abortable::new(async { "the row" }, late.begin(began, now));
/// assert_eq!(blocking::block_on(read), Ok("the row"));
/// late.end(began);
/// assert!(late.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct LateReads {
    /// When each began, ascending, and what ends it.
    reads: Vec<(Duration, AbortHandle)>,
}

impl LateReads {
    /// Waits for a read that is late now, and gives up on another one if there are too many. `began`
    /// is when it was sent, on the same clock as `now`, and later than that of all others.
    ///
    /// # Example
    ///
    /// See [`LateReads`].
    pub fn begin(&mut self, began: Duration, now: Duration) -> AbortRegistration {
        let (handle, registration) = AbortHandle::new_pair();
        self.reads.push((began, handle));
        if self.reads.len() > LEN_MAX {
            let ages = self
                .reads
                .iter()
                .map(|(began, _)| now.saturating_sub(*began));
            let (_, dropped) = self.reads.remove(redundant(&ages.collect::<Vec<_>>()));
            dropped.abort();
        }
        registration
    }

    /// The read that began then has ended, or was given up.
    ///
    /// # Example
    ///
    /// See [`LateReads`].
    pub fn end(&mut self, began: Duration) {
        self.reads.retain(|(at, _)| *at != began);
    }

    /// Whether no read is late.
    ///
    /// # Example
    ///
    /// See [`LateReads`].
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }
}

/// Of three or more ages, descending, the one between two that are closest by their ratio.
fn redundant(ages: &[Duration]) -> usize {
    let ratio = |three: &[Duration]| three[0].as_secs_f64() / three[2].as_secs_f64().max(1e-9);
    let ratios = ages.windows(3).map(ratio);
    let closest = ratios
        .enumerate()
        .min_by(|one, other| one.1.total_cmp(&other.1));
    closest.map_or(0, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u64 = 2500;
    const READ_MAX: u64 = 75_000;

    /// The times in milliseconds between the beginnings of reads that are still waited for at this
    /// age, if none is answered before, and each is given up after `READ_MAX`.
    fn gaps(age_ms: u64) -> Vec<u64> {
        let mut late = LateReads::default();
        let mut begun: Vec<u64> = Vec::new();
        let mut reached: Vec<u64> = Vec::new();
        for now in (1..1200).map(|step| step * INTERVAL) {
            let at = |ms| Duration::from_millis(ms);
            begun.retain(|began| {
                let is_over = now - began > READ_MAX;
                if is_over {
                    late.end(at(*began));
                }
                !is_over
            });
            drop(late.begin(at(now - INTERVAL), at(now)));
            begun.push(now - INTERVAL);
            begun.retain(|began| late.reads.iter().any(|(kept, _)| *kept == at(*began)));
            let is_of_age = |began: &&u64| (age_ms..age_ms + INTERVAL).contains(&(now - **began));
            reached.extend(begun.iter().filter(is_of_age));
            assert!(begun.len() <= LEN_MAX, "{begun:?}");
        }
        reached.windows(2).map(|two| two[1] - two[0]).collect()
    }

    /// Guards that of the reads of a slow registry one always becomes as old as its answers take,
    /// even if those before it are never answered.
    #[test]
    fn some_read_becomes_as_old_as_any_answer() {
        for age_ms in (INTERVAL..READ_MAX - INTERVAL).step_by(1000) {
            let gaps = gaps(age_ms);
            let widest = gaps.iter().max().unwrap();
            let expected_ms = age_ms.max(2 * INTERVAL);
            assert!(gaps.len() > 20, "{age_ms} ms: {} reads", gaps.len());
            assert!(*widest <= expected_ms, "{age_ms} ms: {widest} ms apart");
        }
    }

    #[test]
    fn the_oldest_and_the_newest_are_kept() {
        let seconds = |ages: &[u64]| {
            let ages: Vec<_> = ages.iter().copied().map(Duration::from_secs).collect();
            redundant(&ages)
        };
        assert_eq!(seconds(&[3, 2, 1]), 1);
        assert_eq!(seconds(&[100, 99, 98, 1]), 1);
        assert_eq!(seconds(&[100, 50, 49, 48, 1]), 2);
        assert_eq!(seconds(&[2, 1, 0]), 1);
    }
}
