//! The bounds of numbers in requests, as they are by default.

/// The most ids in one answer.
pub const COUNT_MAX: u64 = 10_000;
/// The longest range.
pub const RANGE_LEN_MAX: u64 = 10_000_000;
/// The largest shard of any layout.
pub const SHARD_MAX: u64 = 65_535;
/// The longest page of a list.
pub const PAGE_LEN_MAX: u64 = 1000;
/// The largest quota, in ids per second; a higher one would limit nothing.
pub const IDS_PER_SECOND_MAX: u64 = 1_000_000_000;
