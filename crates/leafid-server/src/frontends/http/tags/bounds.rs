//! Bounds on what a tag may be given.

/// Leaf's column is a `varchar(256)`.
pub(crate) const DESCRIPTION_LEN_MAX: usize = 256;
/// A month of ids in memory; more is a slip of the pen.
pub(crate) const COVER_SECONDS_MAX: u64 = 31 * 24 * 3600;
