//! `Ascending`: times that only go up, each issued once. What keeps the ids of a family in order.

use std::cell::LazyCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A time and, below it, a counter in one word: the state of a family whose ids ascend strictly
/// within the process, over threads, and whatever the clock does.
///
/// One compare-and-swap claims a range of ids. The first is either at the clock's time, if that is
/// later than the last id's, or directly after the last id. So ids ascend when the clock stands
/// still or goes back, and a counter that overflows moves the time on by one tick, once.
#[derive(Debug)]
pub(super) struct Ascending {
    last: AtomicU64,
    counter_bits: u32,
    end: u64,
}

impl Ascending {
    /// A state of which nothing was issued, with `time_bits` above `counter_bits`: 64 at most.
    pub(super) const fn new(time_bits: u32, counter_bits: u32) -> Self {
        Self {
            last: AtomicU64::new(0),
            counter_bits,
            end: u64::MAX >> (u64::BITS - time_bits - counter_bits),
        }
    }

    /// Claims `count` numbers in a row and returns the first; `None` when they would be beyond the
    /// end. A new tick begins its counter at what `start` returns, which is called for no other.
    pub(super) fn claim(&self, tick: u64, start: impl FnOnce() -> u64, count: u64) -> Option<u64> {
        if tick > self.end >> self.counter_bits {
            return None;
        }
        // Once: another thread may have begun the tick meanwhile.
        let start = LazyCell::new(start);
        // The word is all that threads share, and no other memory is published through it.
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let first = match tick > last >> self.counter_bits {
                true => tick << self.counter_bits | *start,
                false => last.checked_add(1)?,
            };
            let claimed = first.checked_add(count.max(1) - 1)?;
            if claimed > self.end {
                return None;
            }
            let swapped = self.last.compare_exchange_weak(
                last,
                claimed,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swapped {
                Ok(_) => return Some(first),
                Err(other) => last = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_whatever_the_clock_does() {
        let state = Ascending::new(44, 20);
        let at = |tick: u64, counter: u64| Some(tick << 20 | counter);
        assert_eq!(state.claim(1000, || 7, 1), at(1000, 7));
        assert_eq!(state.claim(1000, || 900, 1), at(1000, 8));
        assert_eq!(
            state.claim(10, || 900, 3),
            at(1000, 9),
            "the clock went back"
        );
        assert_eq!(state.claim(1001, || 5, 1), at(1001, 5));
        assert_eq!(state.claim(1001, || 0, (1 << 20) - 6), at(1001, 6));
        assert_eq!(
            state.claim(1001, || 0, 1),
            at(1002, 0),
            "the counter overflowed"
        );
        assert_eq!(state.claim(1001, || 0, 1), at(1002, 1), "once");
        assert_eq!(state.claim(1002, || 0, 1), at(1002, 2));
    }

    #[test]
    fn beyond_the_end_nothing_is_claimed() {
        let state = Ascending::new(4, 2);
        assert_eq!(state.claim(16, || 0, 1), None);
        assert_eq!(state.claim(15, || 2, 3), None);
        assert_eq!(state.claim(15, || 2, 2), Some(62));
        assert_eq!(state.claim(15, || 2, 1), None);
        let full = Ascending::new(60, 4);
        assert_eq!(full.claim((1 << 60) - 1, || 15, 1), Some(u64::MAX));
        assert_eq!(full.claim((1 << 60) - 1, || 15, 1), None);
    }

    /// Threads draw from one state until each has seen another's number between two of its own.
    #[test]
    fn threads_never_share_a_number() {
        let state = Ascending::new(44, 20);
        let all: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let draw = || {
                let numbers = (0..50_000).map(|draw| state.claim(draw / 100, || 3, 1).unwrap());
                numbers.collect::<Vec<u64>>()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(all.iter().all(|numbers| numbers.is_sorted_by(|a, b| a < b)));
        let mut numbers = all.concat();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 200_000);
    }
}
