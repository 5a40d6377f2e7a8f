//! `Numbers`: the parts of an id in the order in which they are counted: worker id above, then the
//! tick, then the sequence. `state.rs` says what that is for.
//!
//! A shard is no part of a number: it is put below the other parts when the id is made. Numbers are
//! distinct, so ids are, whatever shards callers ask for; and since it is at the bottom, ids ascend
//! as their numbers do, also between shards. So one sequence serves all shards. A sequence for each
//! would need a word and a lease bound for each, and ids of a server would ascend per shard only.

use crate::id::Id;
use crate::layout::{Fields, Layout, SequencePlace};
use crate::worker_id::WorkerId;

/// Composes numbers of one layout, and makes ids from them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    layout: Layout,
    sequence_bits: u32,
    /// Of tick and sequence together.
    counted_bits: u32,
    counted_mask: u64,
    tick_mask: u64,
    sequence_mask: u64,
    /// The part of a number that is where an id has it: the sequence, if that is at the bottom.
    low_mask: u64,
    worker_bits: u32,
    worker_shift: u32,
    shard_bits: u32,
    /// The shard of the ids.
    shard: u64,
}

impl Numbers {
    /// A shard that the layout has not counts as shard 0: `Core::check` refuses it before any id.
    pub(super) fn new(layout: Layout, shard: u32) -> Self {
        let sequence_bits = layout.sequence_bits();
        let counted_bits = sequence_bits + layout.time_bits();
        let (low_mask, worker_shift) = match layout.sequence_place() {
            SequencePlace::Low => (layout.sequence_max(), sequence_bits),
            SequencePlace::AboveWorker => (0, 0),
        };
        Self {
            layout,
            sequence_bits,
            counted_bits,
            counted_mask: (1 << counted_bits) - 1,
            tick_mask: layout.ticks_max(),
            sequence_mask: layout.sequence_max(),
            low_mask,
            worker_bits: layout.worker_bits(),
            worker_shift,
            shard_bits: layout.shard_bits(),
            shard: layout.check_shard(shard).map_or(0, |()| shard.into()),
        }
    }

    /// The same numbers with ids of another shard, which the layout has.
    pub(super) fn in_shard(self, shard: u32) -> Self {
        debug_assert!(self.layout.check_shard(shard).is_ok());
        let shard = u64::from(shard) & u64::from(self.layout.shard_max());
        Self { shard, ..self }
    }

    pub(super) const fn layout(&self) -> Layout {
        self.layout
    }

    /// The first number of a tick.
    #[inline]
    pub(super) fn first(&self, worker: WorkerId, tick: u64) -> u64 {
        u64::from(worker.get()) << self.counted_bits | tick << self.sequence_bits
    }

    #[inline]
    pub(super) fn same_worker(&self, a: u64, b: u64) -> bool {
        (a ^ b) >> self.counted_bits == 0
    }

    /// Whether a number has the worker id of `bound` and is below it.
    #[inline]
    pub(super) fn is_below(&self, number: u64, bound: u64) -> bool {
        // One comparison: a number below the worker id's first wraps around to a large one.
        let counted = bound & self.counted_mask;
        number.wrapping_sub(bound - counted) < counted
    }

    /// The last number of the same tick.
    #[inline]
    pub(super) fn last_of_tick(&self, number: u64) -> u64 {
        number | self.sequence_mask
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a worker id has at most 32 bits"
    )]
    pub(super) fn worker(&self, number: u64) -> WorkerId {
        WorkerId::new((number >> self.counted_bits) as u32)
    }

    #[inline]
    pub(super) fn tick(&self, number: u64) -> u64 {
        number >> self.sequence_bits & self.tick_mask
    }

    #[inline]
    pub(super) fn sequence(&self, number: u64) -> u64 {
        number & self.sequence_mask
    }

    /// How far the ids of a number and of the next one are apart, within a tick.
    #[inline]
    pub(super) fn stride(&self) -> u64 {
        let stride_bits = if self.low_mask == 0 {
            self.worker_bits
        } else {
            0
        };
        1 << (stride_bits + self.shard_bits)
    }

    /// The id of a number. The same as [`Layout::compose`] of its parts, without decoding it:
    /// this is a part of the few nanoseconds that an id costs.
    #[inline]
    pub(super) fn id(&self, number: u64) -> Id {
        let high = (number & (self.counted_mask ^ self.low_mask)) << self.worker_bits;
        let worker = number >> self.counted_bits << self.worker_shift;
        let counted = high | worker | number & self.low_mask;
        let id = Id::from_checked(counted << self.shard_bits | self.shard);
        debug_assert!(id == self.composed(number));
        id
    }

    fn composed(&self, number: u64) -> Id {
        self.layout.compose(Fields {
            tick: self.tick(number),
            worker: self.worker(number),
            sequence: self.sequence(number),
            shard: u32::try_from(self.shard).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that the fast conversion and bound check agree with the slow ones, in every layout
    /// that issues.
    #[test]
    fn the_short_ways_say_the_same() {
        let presets = Layout::PRESETS.into_iter().map(|(_, layout)| layout);
        let sharded = [
            "time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z",
            "time39x10ms/sequence4/worker12/shard8@2020-01-01T00:00:00Z",
        ];
        let layouts = presets.chain(sharded.map(|text| text.parse().unwrap()));
        for layout in layouts.filter(|layout| layout.total_bits() < u64::BITS) {
            let numbers = Numbers::new(layout, layout.shard_max());
            let mut rng = fastrand::Rng::with_seed(7);
            let mut number = |worker: u32| {
                let tick = rng.u64(1..=layout.ticks_max());
                numbers.first(WorkerId::new(worker), tick) | rng.u64(..=layout.sequence_max())
            };
            for _ in 0..1000 {
                let workers = [0, 1, layout.worker_max() - 1, layout.worker_max()];
                for (worker, other) in workers.into_iter().flat_map(|a| workers.map(|b| (a, b))) {
                    let (a, b) = (number(worker), number(other));
                    assert_eq!(numbers.id(a), numbers.composed(a), "{layout} {a}");
                    let is_below = a < b && numbers.same_worker(a, b);
                    assert_eq!(numbers.is_below(a, b), is_below, "{layout} {a} {b}");
                }
                let a = number(1);
                assert!(!numbers.is_below(a, 0) && !numbers.is_below(a, a));
                assert!(numbers.is_below(a, a + 1) && !numbers.is_below(1 << 63 | a, a + 1));
            }
        }
    }
}
