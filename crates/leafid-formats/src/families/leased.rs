//! `Leased`: TSID and CosId with a leased worker id in place of random bits, so that many servers
//! make no two alike.
//!
//! Each is a snowflake id in another form: its time, worker id and sequence. No two snowflake ids of
//! a registry have all three alike, so nor have these; and whatever keeps snowflake ids apart, the
//! lease, its end and the journal, keeps these apart too. A tag of snowflake ids beside them draws
//! from the same sequence, and takes none of theirs.

use leafid::{Family, Id, Layout, Snowflake, SnowflakeError, TimeUnit, WorkerId};

use super::cosid::{self, CosId};
use super::digits::Digits;
use super::format::FamilyFormat;
use super::issue::{TSID_COUNTER_BITS, emit_tsid};
use super::{FamilyError, epoch};
use crate::decode::{Decoded, PartValue};

/// The bits of the node of a TSID.
const TSID_NODE_BITS: u32 = 10;
/// The bits of the time of a TSID.
const TSID_TIME_BITS: u32 = 42;

/// Whether ids of a family can have the worker ids and sequences of a layout.
pub(super) fn fits(family: Family, layout: Layout) -> bool {
    let (worker_bits, sequence_bits) = match family {
        Family::Tsid => (TSID_NODE_BITS, TSID_COUNTER_BITS),
        Family::CosId => (cosid::MACHINE_BITS, cosid::SEQUENCE_BITS),
        _ => return false,
    };
    // With longer ticks all ids of a tick would have its first millisecond: unique, but misleading.
    layout.unit() == TimeUnit::Ms1
        && layout.worker_bits() <= worker_bits
        && layout.sequence_bits() <= sequence_bits
}

impl Decoded {
    /// The worker id in an id of a family, where a registry leases worker ids for ids of `layout`;
    /// `None` if ids of the family have random bits there.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Family, Layout, WorkerId};
    /// use leafid_formats::decode;
    ///
    /// let tsid = decode(Family::Tsid, "0123456789ABC")?;
    /// assert_eq!(tsid.leased_worker(Family::Tsid, Layout::LEAF), Some(WorkerId::new(74)));
    /// assert_eq!(tsid.leased_worker(Family::Tsid, Layout::WIDE), None);
    /// # Ok::<(), leafid_formats::DecodeError>(())
    /// ```
    #[must_use]
    pub fn leased_worker(&self, family: Family, layout: Layout) -> Option<WorkerId> {
        let name = match family {
            Family::Tsid => "node",
            _ => "machine",
        };
        let part = self.part(name).filter(|_| fits(family, layout));
        match part? {
            PartValue::Number(number) => u32::try_from(*number).ok().map(WorkerId::new),
            _ => None,
        }
    }
}

/// Makes `count` ids and hands their texts, in order, to `emit`.
pub(super) fn issue(
    snowflake: &Snowflake,
    format: &FamilyFormat,
    count: usize,
    mut emit: impl FnMut(&str),
) -> Result<(), FamilyError> {
    let family = format.family();
    let layout = snowflake.layout();
    for _ in 0..count {
        let id = snowflake.try_next().map_err(|error| FamilyError::Node {
            family,
            reason: reason(&error),
        })?;
        let unix_ms = layout.decompose(id.get()).unix_ms.unsigned_abs();
        let emitted = match family {
            Family::Tsid => tsid(layout, id, format, &mut emit),
            _ => cosid(layout, id, format, &mut emit),
        };
        emitted.ok_or(FamilyError::Clock { family, unix_ms })?;
    }
    Ok(())
}

/// Why there is no id. The family needs the widths of its layout: a wider one is no advice.
fn reason(error: &SnowflakeError) -> String {
    match error {
        SnowflakeError::Ahead { max, retry_after } => format!(
            "ids are {} ms ahead of the clock, which is the limit; try again in {} ms",
            max.as_millis(),
            retry_after.as_millis().max(1)
        ),
        error => error.to_string(),
    }
}

fn tsid(layout: Layout, id: Id, format: &FamilyFormat, emit: &mut impl FnMut(&str)) -> Option<()> {
    let parts = layout.decompose(id.get());
    let time = u64::try_from(parts.unix_ms).ok()?;
    let time = time.checked_sub(epoch::TSID_MS)?;
    if time >> TSID_TIME_BITS != 0 {
        return None;
    }
    let node = u64::from(parts.worker.get()) << TSID_COUNTER_BITS;
    let number = time << (TSID_NODE_BITS + TSID_COUNTER_BITS) | node | parts.sequence;
    emit_tsid(number, format.form(), emit);
    Some(())
}

fn cosid(layout: Layout, id: Id, format: &FamilyFormat, emit: &mut impl FnMut(&str)) -> Option<()> {
    let parts = layout.decompose(id.get());
    let unix_ms = u64::try_from(parts.unix_ms).ok()?;
    if unix_ms >> cosid::TIME_BITS != 0 {
        return None;
    }
    let id = CosId {
        unix_ms,
        machine: parts.worker.get().into(),
        sequence: parts.sequence,
    };
    let mut text = Digits::new();
    id.push(format.form(), &mut text);
    emit(text.as_str());
    Some(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use leafid::{ManualClock, SnowflakeOptions};

    use super::*;
    use crate::{Families, decode};

    fn snowflake(layout: Layout, worker: u32, clock: &ManualClock) -> Snowflake {
        let options = SnowflakeOptions::default().with_layout(layout);
        let clock = Arc::new(clock.clone());
        Snowflake::with_options(options, WorkerId::new(worker), clock).unwrap()
    }

    /// Guards that ids of two servers and of tags beside each other never repeat, that they ascend,
    /// and that each says the worker id of its server.
    #[test]
    fn ids_of_two_worker_ids_are_distinct_and_ascend() {
        for (family, node) in [(Family::Tsid, "node"), (Family::CosId, "machine")] {
            let clock = ManualClock::new();
            let format = FamilyFormat::compile(family, None).unwrap();
            let mut all = HashSet::new();
            for worker in [3, 1023] {
                let families = Families::new(Arc::new(clock.clone()));
                let source = snowflake(Layout::LEAF, worker, &clock);
                families.set_snowflake(source.clone());
                let mut ids = Vec::new();
                for _ in 0..2000 {
                    let mut text = String::new();
                    families.push_next(&format, &mut text).unwrap();
                    ids.push(text);
                    source.try_next().unwrap();
                    ids.extend(families.next_many(&format, 3).unwrap());
                }
                assert!(ids.is_sorted_by(|a, b| a < b), "{family}");
                let decoded = decode(family, &ids[0]).unwrap();
                let found = decoded.part(node).map(ToString::to_string);
                assert_eq!(found, Some(worker.to_string()), "{family}");
                all.extend(ids);
            }
            assert_eq!(all.len(), 16_000, "{family}");
        }
    }

    /// Guards that a family that runs ahead of the clock is not advised to use a layout that it
    /// cannot have.
    #[test]
    fn running_ahead_advises_no_layout() {
        let clock = ManualClock::new();
        let options = SnowflakeOptions::default()
            .with_layout(Layout::LEAF)
            .with_ahead_max(std::time::Duration::from_millis(1));
        let snowflake =
            Snowflake::with_options(options, WorkerId::new(3), Arc::new(clock.clone())).unwrap();
        let families = Families::new(Arc::new(clock));
        families.set_snowflake(snowflake);
        let format = FamilyFormat::compile(Family::Tsid, None).unwrap();
        let mut text = String::new();
        let errors = (0..20_000).find_map(|_| families.push_next(&format, &mut text).err());
        let text = errors.unwrap().to_string();
        assert!(text.contains("1 ms ahead of the clock"), "{text}");
        assert!(
            text.contains("try again in") && !text.contains("wide"),
            "{text}"
        );
    }

    #[test]
    fn layouts_fit_by_their_widths_and_unit() {
        let check = |family, layout, expected| assert_eq!(fits(family, layout), expected);
        check(Family::Tsid, Layout::LEAF, true);
        check(Family::Tsid, Layout::TWITTER, true);
        check(Family::Tsid, Layout::JS53, true);
        check(Family::Tsid, Layout::WIDE, false);
        check(Family::Tsid, Layout::INSTAGRAM, false);
        check(Family::Tsid, Layout::SONYFLAKE_V2, false);
        check(Family::CosId, Layout::LEAF, true);
        check(Family::CosId, Layout::INSTAGRAM, true);
        check(Family::CosId, Layout::WIDE, false);
        check(Family::CosId, Layout::JS53_SECONDS, false);
        check(Family::Uuid7, Layout::LEAF, false);
    }
}
