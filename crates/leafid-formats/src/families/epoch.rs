//! When the times of the families begin.

/// 2020-01-01T00:00:00Z, in milliseconds since 1970. Source: f4b6a3/tsid-creator.
pub(crate) const TSID_MS: u64 = 1_577_836_800_000;
/// 2014-05-13T16:53:20Z, in seconds since 1970. Source: segmentio/ksuid.
pub(crate) const KSUID_S: u64 = 1_400_000_000;
/// 1970-01-01 in 100 ns since 1582-10-15T00:00:00Z. Source: RFC 9562, section 5.1.
pub(crate) const GREGORIAN_TICKS: u64 = 0x01b2_1dd2_1381_4000;
