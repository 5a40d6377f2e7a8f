//! `Numbers`: the parts of an id in the order in which they are counted: worker id above, then the
//! tick, then the sequence. `word.rs` says what that is for.

use crate::id::Id;
use crate::layout::{Fields, Layout};
use crate::worker_id::WorkerId;

/// Puts numbers of one layout together, and makes ids of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    layout: Layout,
    sequence_bits: u32,
    /// Of tick and sequence together.
    counted_bits: u32,
    tick_mask: u64,
    sequence_mask: u64,
}

impl Numbers {
    pub(super) const fn new(layout: Layout) -> Self {
        let sequence_bits = layout.sequence_bits();
        Self {
            layout,
            sequence_bits,
            counted_bits: sequence_bits + layout.time_bits(),
            tick_mask: layout.ticks_max(),
            sequence_mask: layout.sequence_max(),
        }
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

    #[inline]
    pub(super) fn id(&self, number: u64) -> Id {
        self.layout.compose(Fields {
            tick: self.tick(number),
            worker: self.worker(number),
            sequence: self.sequence(number),
        })
    }
}
