//! A layout as text: a preset's name, or its widths from top to bottom, and its epoch. Equal layouts
//! have equal texts, so that servers compare their layouts by them.

use std::fmt;
use std::str::FromStr;

use super::{
    Epoch, Layout, LayoutError, LayoutSpec, ParseEpochError, ParseTimeUnitError, SequencePlace,
};

/// The maximum length of a layout in characters: every valid one is shorter.
const LEN_MAX: usize = 100;

/// Why a text is not a [`Layout`].
///
/// # Example
///
/// ```
/// use leafid::{Layout, ParseLayoutError};
///
/// let error = "snowflake".parse::<Layout>().unwrap_err();
/// assert!(matches!(error, ParseLayoutError::Unknown { .. }));
/// assert!(error.to_string().contains("leaf, twitter, baidu"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseLayoutError {
    /// It is neither a preset's name nor widths.
    #[error(
        "\"{text}\" is not a layout: name one of {}, with another epoch as in \
         leaf@2020-01-01T00:00:00Z, or give widths as in \
         time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z",
        names()
    )]
    Unknown {
        /// The text, without its epoch.
        text: String,
    },
    /// It is longer than any layout.
    #[error("a layout has at most {max} characters, this one has {len}", max = LEN_MAX)]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// There are widths, but no epoch after them.
    #[error("the layout \"{text}\" has no epoch: add one, as in {text}@2020-01-01T00:00:00Z")]
    NoEpoch {
        /// The text.
        text: String,
    },
    /// The time has an unknown unit.
    #[error(transparent)]
    Unit(#[from] ParseTimeUnitError),
    /// The epoch cannot be read.
    #[error(transparent)]
    Epoch(#[from] ParseEpochError),
    /// The widths are invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

fn names() -> String {
    Layout::PRESETS.map(|(name, _)| name).join(", ")
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let presets = &Self::PRESETS;
        if let Some((name, _)) = presets.iter().find(|(_, preset)| preset == self) {
            return f.write_str(name);
        }
        let epoch = self.epoch();
        match presets
            .iter()
            .find(|(_, preset)| preset.with_epoch(epoch) == *self)
        {
            Some((name, _)) => f.write_str(name)?,
            None => write_widths(*self, f)?,
        }
        write!(f, "@{epoch}")
    }
}

fn write_widths(layout: Layout, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "time{}x{}", layout.time_bits(), layout.unit())?;
    let is_low = layout.sequence_place() == SequencePlace::Low;
    if !is_low {
        write!(f, "/sequence{}", layout.sequence_bits())?;
    }
    match layout.data_center_bits() {
        0 => write!(f, "/worker{}", layout.worker_bits())?,
        bits => write!(f, "/worker{bits}:{}", layout.worker_bits() - bits)?,
    }
    if is_low {
        write!(f, "/sequence{}", layout.sequence_bits())?;
    }
    match layout.shard_bits() {
        0 => Ok(()),
        bits => write!(f, "/shard{bits}"),
    }
}

/// A preset's name, a preset's name with `@` and an epoch, or widths with `@` and an epoch.
impl FromStr for Layout {
    type Err = ParseLayoutError;

    fn from_str(text: &str) -> Result<Self, ParseLayoutError> {
        let len = text.chars().count();
        if len > LEN_MAX {
            return Err(ParseLayoutError::TooLong { len });
        }
        let (widths, epoch) = match text.split_once('@') {
            Some((widths, epoch)) => (widths, Some(epoch)),
            None => (text, None),
        };
        let preset = Self::PRESETS.iter().find(|(name, _)| *name == widths);
        match (preset, epoch) {
            (Some((_, layout)), None) => Ok(*layout),
            (Some((_, layout)), Some(epoch)) => Ok(layout.with_epoch(epoch.parse()?)),
            (None, _) => {
                let unknown = || ParseLayoutError::Unknown {
                    text: widths.to_owned(),
                };
                let spec = parse_widths(widths).ok_or_else(unknown)??;
                let epoch = epoch.ok_or_else(|| ParseLayoutError::NoEpoch {
                    text: widths.to_owned(),
                })?;
                let epoch = epoch.parse()?;
                Ok(Self::new(LayoutSpec { epoch, ..spec })?)
            }
        }
    }
}

/// Parses widths, leaving the epoch at 1970; `None` if the syntax is another one.
fn parse_widths(text: &str) -> Option<Result<LayoutSpec, ParseTimeUnitError>> {
    let mut segments = text.split('/');
    let (time_bits, unit) = segments.next()?.strip_prefix("time")?.split_once('x')?;
    let (second, third) = (segments.next()?, segments.next()?);
    let shard_bits = match segments.next() {
        None => 0,
        Some(shard) => bits(shard.strip_prefix("shard")?)?,
    };
    if segments.next().is_some() {
        return None;
    }
    let (worker, sequence, sequence_place) = match second.strip_prefix("worker") {
        Some(worker) => (worker, third.strip_prefix("sequence")?, SequencePlace::Low),
        None => {
            let sequence = second.strip_prefix("sequence")?;
            let worker = third.strip_prefix("worker")?;
            (worker, sequence, SequencePlace::AboveWorker)
        }
    };
    let (data_center, worker) = worker.split_once(':').unwrap_or(("0", worker));
    let data_center_bits = bits(data_center)?;
    let (time_bits, sequence_bits) = (bits(time_bits)?, bits(sequence)?);
    let worker_bits = data_center_bits + bits(worker)?;
    Some(unit.parse().map(|unit| LayoutSpec {
        time_bits,
        worker_bits,
        data_center_bits,
        sequence_bits,
        shard_bits,
        unit,
        epoch: Epoch::from_unix_ms(0),
        sequence_place,
    }))
}

/// A width of at most three digits, so that sums of them cannot overflow.
fn bits(text: &str) -> Option<u32> {
    let is_number = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout_of(text: &str) -> Layout {
        text.parse().unwrap()
    }

    #[test]
    fn texts_are_read_and_written() {
        let check = |text: &str, written: &str| {
            let layout = layout_of(text);
            assert_eq!(layout.to_string(), written, "{text}");
            assert_eq!(layout_of(written), layout, "{text}");
        };
        for (name, layout) in Layout::PRESETS {
            assert_eq!(layout_of(name), layout);
            check(name, name);
        }
        check("leaf@1288834974657", "leaf");
        check(
            "leaf@2020-01-01T00:00:00+08:00",
            "leaf@2019-12-31T16:00:00Z",
        );
        check("sonyflake-v1@2025-01-01T00:00:00Z", "sonyflake-v2");
        check(
            "sonyflake-v2@2026-01-01T00:00:00Z",
            "sonyflake-v1@2026-01-01T00:00:00Z",
        );
        check(
            "time41x1ms/worker10/sequence12@2010-11-04T01:42:54.657Z",
            "leaf",
        );
        check("time41x1ms/worker5:5/sequence12@1288834974657", "twitter");
        check(
            "time39x10ms/sequence8/worker16@1735689600000",
            "sonyflake-v2",
        );
        let own = "time32x1s/worker4:6/sequence21@2026-01-01T00:00:00.5Z";
        check(
            own,
            "time32x1s/worker4:6/sequence21@2026-01-01T00:00:00.500Z",
        );
        let sharded = "time41x1ms/worker10/sequence8/shard4@2026-01-01T00:00:00Z";
        check(sharded, sharded);
        let sharded = "time39x10ms/sequence4/worker12/shard8@2026-01-01T00:00:00Z";
        check(sharded, sharded);
        check(
            "time41x1ms/worker10/sequence12/shard0@1288834974657",
            "leaf",
        );
        let turned = "time41x10ms/sequence12/worker2:8@2026-01-01T00:00:00Z";
        check(turned, turned);
    }

    #[test]
    fn texts_that_are_no_layout_say_what_to_write() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<Layout>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check(
            "snowflake",
            "name one of leaf, twitter, baidu, sonyflake-v1",
        );
        check("", "\"\" is not a layout");
        check("Leaf", "\"Leaf\" is not a layout");
        check("time41x1ms/worker10/sequence12", "has no epoch: add one");
        check(
            "time41x1ms/worker10/sequence11@1288834974657",
            "add up to 62 bits",
        );
        check(
            "time41x5ms/worker10/sequence12@1288834974657",
            "1ms, 10ms or 1s",
        );
        check("leaf@2020-01-01", "add Z or +08:00");
        check("leaf@", "neither a number of milliseconds");
        for text in [
            "time41/worker10/sequence12",
            "time41x1ms/worker10",
            "time41x1ms/worker10/sequence12/x",
            "time41x1ms/worker:10/sequence12",
            "time41x1ms/worker10/sequence8/shard",
            "time41x1ms/worker10/shard4/sequence8",
            "time41x1ms/worker10/sequence8/shard2/shard2",
            "time+41x1ms/worker10/sequence12",
            "time41x1ms/worker10/worker12",
            "time41x1ms/worker4294967295:1/sequence12",
            "worker10/time41x1ms/sequence12",
        ] {
            check(&format!("{text}@1288834974657"), "is not a layout");
        }
    }
}
