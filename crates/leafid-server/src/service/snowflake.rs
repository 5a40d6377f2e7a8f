//! `SnowflakeParts`: the parts of a snowflake id of Leaf's layout.

use leafid::Layout;

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
    /// The worker id that made it, 0 to 1023.
    pub worker_id: u32,
    /// Its number within the millisecond, 0 to 4095.
    pub sequence: u64,
}

impl SnowflakeParts {
    /// Decodes an id. As in Leaf, negative numbers can be decoded too: their time is before the
    /// epoch.
    #[must_use]
    pub const fn of(id: i64) -> Self {
        let parts = Layout::LEAF.decompose((id & i64::MAX).cast_unsigned());
        let below_epoch_ms = if id < 0 {
            1 << Layout::LEAF.time_bits()
        } else {
            0
        };
        Self {
            timestamp_ms: parts.unix_ms - below_epoch_ms,
            worker_id: parts.worker.get(),
            sequence: parts.sequence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_ids_come_apart_as_in_leaf() {
        let check = |id: i64| {
            let parts = SnowflakeParts::of(id);
            assert_eq!(parts.timestamp_ms, (id >> 22) + 1_288_834_974_657, "{id}");
            assert_eq!(i64::from(parts.worker_id), (id >> 12) & 0x3ff, "{id}");
            assert_eq!(parts.sequence.cast_signed(), id & 0xfff, "{id}");
        };
        for id in [i64::MIN, -1, -1_169_786_042_799_259_000, 0, 1, i64::MAX] {
            check(id);
        }
    }
}
