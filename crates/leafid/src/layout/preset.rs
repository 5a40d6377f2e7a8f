//! The layouts that have names, ours and those of others, with their widths, epochs and ends.

use super::{Epoch, Layout, LayoutSpec, SequencePlace, TimeUnit};

/// The settings that the presets share with Leaf's, unless they say otherwise.
const LEAF: LayoutSpec = LayoutSpec {
    time_bits: 41,
    worker_bits: 10,
    data_center_bits: 0,
    sequence_bits: 12,
    shard_bits: 0,
    unit: TimeUnit::Ms1,
    epoch: Epoch::TWITTER,
    sequence_place: SequencePlace::Low,
};

/// Presets. Each states its number of workers, the rate of one worker, and its end.
impl Layout {
    /// `leaf`: 41 bits of milliseconds, 10 of worker id, 12 of sequence. 1024 workers, 4.096 million
    /// ids a second each, until 2080-07-10T17:30:30.208Z.
    pub const LEAF: Self = Self::of(LEAF);

    /// `twitter`: Leaf's bits, the worker id split into 5 bits of data centre and 5 of worker.
    pub const TWITTER: Self = Self::of(LayoutSpec {
        data_center_bits: 5,
        ..LEAF
    });

    /// `baidu`: the default of Baidu's uid-generator, 28 bits of seconds, 22 of worker id, 13 of
    /// sequence. It ended at 2024-11-20T13:24:15Z, so that it decodes only, unless given another
    /// epoch.
    pub const BAIDU: Self = Self::of(LayoutSpec {
        time_bits: 28,
        worker_bits: 22,
        sequence_bits: 13,
        unit: TimeUnit::S1,
        epoch: Epoch::BAIDU,
        ..LEAF
    });

    /// `sonyflake-v1`: 39 bits of 10 milliseconds, 8 of sequence above 16 of worker id. 65,536
    /// workers, 25,600 ids a second each, until 2188.
    pub const SONYFLAKE_V1: Self = Self::of(SONYFLAKE);

    /// `sonyflake-v2`: as `sonyflake-v1`, with an epoch of 2025-01-01T00:00:00Z, until 2199.
    pub const SONYFLAKE_V2: Self = Self::of(LayoutSpec {
        epoch: Epoch::SONYFLAKE_V2,
        ..SONYFLAKE
    });

    /// `js53`: ids that fit a JavaScript number, 41 bits of milliseconds, 3 of worker id, 9 of
    /// sequence, and CosId's epoch. 8 workers, 512,000 ids a second each, until 2089.
    pub const JS53: Self = Self::of(LayoutSpec {
        worker_bits: 3,
        sequence_bits: 9,
        epoch: Epoch::COSID,
        ..LEAF
    });

    /// `js53-seconds`: ids that fit a JavaScript number, 31 bits of seconds, 3 of worker id, 19 of
    /// sequence, and CosId's epoch. 8 workers, 524,288 ids a second each, until 2088.
    pub const JS53_SECONDS: Self = Self::of(LayoutSpec {
        time_bits: 31,
        worker_bits: 3,
        sequence_bits: 19,
        unit: TimeUnit::S1,
        epoch: Epoch::COSID,
        ..LEAF
    });

    /// `instagram`: 40 bits of milliseconds, 13 of shard (here the worker id), 10 of sequence. 8192
    /// workers, 1.024 million ids a second each, until 2046-06-27T17:00:49.496Z.
    ///
    /// Instagram names 41 bits of time, which makes 64 with the rest. The 41st is the sign of the
    /// signed column that its ids are in, so that positive ids have 40, and end earlier.
    pub const INSTAGRAM: Self = Self::of(LayoutSpec {
        time_bits: 40,
        worker_bits: 13,
        sequence_bits: 10,
        epoch: Epoch::INSTAGRAM,
        ..LEAF
    });

    /// `discord`: 42 bits of milliseconds, 5 of worker (here the data centre) and 5 of process, 12
    /// of sequence: 64 bits, for decoding only.
    pub const DISCORD: Self = Self::of(LayoutSpec {
        time_bits: 42,
        data_center_bits: 5,
        epoch: Epoch::DISCORD,
        ..LEAF
    });

    /// `wide`: for rates far above Leaf's. 40 bits of milliseconds, 6 of worker id, 17 of sequence:
    /// 64 workers, 131.072 million ids a second each (32 times Leaf's), until
    /// 2060-11-03T19:53:47.775Z.
    ///
    /// Rate, workers and years share 63 bits, whatever the unit. 17 bits of sequence are the fewest
    /// that let one thread have an id every 12 ns for good; 16 would stop it at 15.3 ns. 40 bits of
    /// time are the fewest that last over 30 years; 39 end after 17. That leaves 6 for the workers.
    pub const WIDE: Self = Self::of(LayoutSpec {
        time_bits: 40,
        worker_bits: 6,
        sequence_bits: 17,
        epoch: Epoch::WIDE,
        ..LEAF
    });

    /// Every preset with its name.
    pub const PRESETS: [(&'static str, Self); 10] = [
        ("leaf", Self::LEAF),
        ("twitter", Self::TWITTER),
        ("baidu", Self::BAIDU),
        ("sonyflake-v1", Self::SONYFLAKE_V1),
        ("sonyflake-v2", Self::SONYFLAKE_V2),
        ("js53", Self::JS53),
        ("js53-seconds", Self::JS53_SECONDS),
        ("instagram", Self::INSTAGRAM),
        ("discord", Self::DISCORD),
        ("wide", Self::WIDE),
    ];
}

const SONYFLAKE: LayoutSpec = LayoutSpec {
    time_bits: 39,
    worker_bits: 16,
    sequence_bits: 8,
    unit: TimeUnit::Ms10,
    epoch: Epoch::SONYFLAKE_V1,
    sequence_place: SequencePlace::AboveWorker,
    ..LEAF
};
