//! `SnowflakeParts`: what a snowflake id of Leaf's layout says.

/// The parts of a snowflake id: 41 bits of milliseconds, 10 bits of worker id, 12 bits of
/// sequence. Source: `decodeSnowflakeId` of Meituan-Dianping/Leaf.
///
/// # Example
///
/// ```
/// use leafid_server::SnowflakeParts;
///
/// let parts = SnowflakeParts::of(1_169_786_042_799_259_000);
/// assert_eq!((parts.timestamp_ms, parts.worker_id, parts.sequence), (1_567_733_700_834, 39, 3448));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnowflakeParts {
    /// When it was made, in milliseconds since 1970-01-01T00:00:00Z.
    pub timestamp_ms: i64,
    /// Who made it, 0 to 1023.
    pub worker_id: i64,
    /// Which of its millisecond, 0 to 4095.
    pub sequence: i64,
}

/// Zero of the timestamp: 2010-11-04T01:42:54.657Z, in milliseconds.
const EPOCH_MS: i64 = 1_288_834_974_657;

impl SnowflakeParts {
    /// Takes an id apart.
    #[must_use]
    pub const fn of(id: i64) -> Self {
        Self {
            timestamp_ms: (id >> 22) + EPOCH_MS,
            worker_id: (id >> 12) & 0x3ff,
            sequence: id & 0xfff,
        }
    }
}
