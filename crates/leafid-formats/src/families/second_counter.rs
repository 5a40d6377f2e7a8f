//! `SecondCounter`: the second and the 24-bit counter of `ObjectId` and XID, each pair issued once.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that goes up by one with each id and wraps at 2^24, and a second that moves on before
/// the counter comes round within it.
///
/// The word holds the second (32 bits), the counter (24) and the upper 8 bits of the counter with
/// which the second began. When the counter comes back to that block of 65,536, the next second is
/// used, even if the clock is not there yet.
#[derive(Debug, Default)]
pub(super) struct SecondCounter {
    last: AtomicU64,
}

/// What one id has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SecondAndCount {
    pub(super) second: u32,
    /// 24 bits.
    pub(super) counter: u32,
}

const COUNTER_MAX: u32 = (1 << 24) - 1;
const BLOCK_BITS: u32 = 16;

impl SecondCounter {
    /// Claims the next pair; `None` in second 0 and after the last one. `start` is the first
    /// counter, of which 24 bits are used.
    pub(super) fn claim(&self, second: u32, start: u32) -> Option<SecondAndCount> {
        if second == 0 {
            return None; // A word of 0 means that nothing was issued.
        }
        // The word is all that threads share, and no other memory is published through it.
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = match last {
                0 => State::beginning(second, start & COUNTER_MAX),
                word => State::of(word).next(second)?,
            };
            let word = next.word();
            let swapped =
                self.last
                    .compare_exchange_weak(last, word, Ordering::Relaxed, Ordering::Relaxed);
            match swapped {
                Ok(_) => return Some(next.at),
                Err(other) => last = other,
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct State {
    at: SecondAndCount,
    /// The block of counters in which the second began: 8 bits.
    first_block: u32,
}

impl State {
    fn beginning(second: u32, counter: u32) -> Self {
        Self {
            at: SecondAndCount { second, counter },
            first_block: counter >> BLOCK_BITS,
        }
    }

    fn next(self, clock_second: u32) -> Option<Self> {
        let counter = (self.at.counter + 1) & COUNTER_MAX;
        let is_block_start = counter.trailing_zeros() >= BLOCK_BITS;
        let is_round = is_block_start && counter >> BLOCK_BITS == self.first_block;
        let second = match is_round {
            true => clock_second.max(self.at.second.checked_add(1)?),
            false => clock_second.max(self.at.second),
        };
        Some(match second > self.at.second {
            true => Self::beginning(second, counter),
            false => Self {
                at: SecondAndCount { second, counter },
                ..self
            },
        })
    }

    fn word(self) -> u64 {
        u64::from(self.at.second) << 32 | u64::from(self.at.counter << 8 | self.first_block)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
    fn of(word: u64) -> Self {
        let low = word as u32;
        Self {
            at: SecondAndCount {
                second: (word >> 32) as u32,
                counter: low >> 8,
            },
            first_block: low & 0xff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u32, counter: u32) -> Option<SecondAndCount> {
        Some(SecondAndCount { second, counter })
    }

    #[test]
    fn the_counter_goes_on_over_seconds_and_wraps() {
        let pairs = SecondCounter::default();
        assert_eq!(pairs.claim(100, 0xaaff_fffe), at(100, 0xff_fffe));
        assert_eq!(pairs.claim(100, 5), at(100, 0xff_ffff));
        assert_eq!(pairs.claim(101, 5), at(101, 0));
        assert_eq!(pairs.claim(50, 5), at(101, 1), "the clock went back");
        assert_eq!(pairs.claim(102, 5), at(102, 2));
    }

    #[test]
    fn no_pair_repeats_when_the_counter_comes_round_within_a_second() {
        for start in [0, 0x12_3456] {
            let pairs = SecondCounter::default();
            let mut seen = vec![0_u64; 1 << 18];
            let mut second = 7;
            for distinct in 0..(1 << 24) + 5 {
                let pair = pairs.claim(7, start).unwrap();
                if pair.second != second {
                    assert!(second == 7 && pair.second == 8);
                    assert!(distinct > COUNTER_MAX - (1 << BLOCK_BITS));
                    second = 8;
                    seen.fill(0);
                }
                let (word, bit) = (pair.counter as usize / 64, 1 << (pair.counter % 64));
                assert_eq!(seen[word] & bit, 0, "{pair:?}");
                seen[word] |= bit;
            }
            assert_eq!(second, 8);
        }
    }

    #[test]
    fn after_the_last_second_nothing_is_claimed() {
        let last = State {
            at: at(u32::MAX, 0x01_ffff).unwrap(),
            first_block: 2,
        };
        assert!(last.next(0).is_none());
        let pairs = SecondCounter::default();
        assert_eq!(pairs.claim(0, 0), None);
    }
}
