//! `Layout`: how a snowflake id divides its bits among time, worker id, sequence and shard; how an id is
//! composed and decoded; when the bits of time run out.
//!
//! Everything here is arithmetic: it reads no clock and keeps no state. Which fields may be
//! combined, so that no id repeats, is decided elsewhere.

mod civil;
mod epoch;
mod error;
mod parts;
mod preset;
mod shard;
mod spec;
#[cfg(test)]
mod tests;
mod text;

use crate::{Id, WorkerId};

pub(crate) use civil::Instant;
pub use epoch::{Epoch, ParseEpochError};
pub use error::{ComposeError, DecomposeError, EndWarning, LayoutError};
pub use parts::{Fields, Parts};
use shard::SHARD_BITS_MAX;
pub use spec::{LayoutSpec, ParseTimeUnitError, SequencePlace, TimeUnit};
pub use text::ParseLayoutError;

/// How a snowflake id divides its bits: time on top, then worker id and sequence, or sequence and
/// worker id; and a shard at the bottom, if it has one.
///
/// As text it is a preset's name (`leaf`), a preset with an epoch (`leaf@2020-01-01T00:00:00Z`), or
/// widths from top to bottom (`time41x1ms/worker10/sequence12@2020-01-01T00:00:00Z`;
/// `worker5:5` has 5 bits of data centre and 5 of worker). A shard comes last:
/// `time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z`. Equal layouts have the same text.
///
/// Ids of one worker are **ordered** as their (tick, sequence). They are **unique** as long as no
/// two have the same tick, worker id and sequence, whatever their shards: the sequence counts over
/// all shards. A layout is a plain value, so **thread-safe**.
///
/// # Example
///
/// ```
/// use leafid::Layout;
///
/// let layout: Layout = "leaf".parse()?;
/// let parts = layout.decompose(1_169_786_042_799_259_000);
/// assert_eq!((parts.unix_ms, parts.worker.get(), parts.sequence), (1_567_733_700_834, 39, 3448));
/// assert_eq!(layout.compose(parts.fields()).get(), 1_169_786_042_799_259_000);
/// # Ok::<(), leafid::ParseLayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    time_bits: u8,
    /// The data centre's included.
    worker_bits: u8,
    data_center_bits: u8,
    sequence_bits: u8,
    /// At the bottom, so that the order of ids does not depend on it.
    shard_bits: u8,
    /// How far the worker id is above the bottom; follows from the widths and the place.
    worker_shift: u8,
    /// How far the sequence is above the bottom; follows from the widths and the place.
    sequence_shift: u8,
    unit: TimeUnit,
    epoch: Epoch,
    sequence_place: SequencePlace,
}

/// Below this, the end of a layout is worth a warning: three years, in milliseconds.
const WARNING_MS: i64 = 3 * 365 * civil::DAY_MS + civil::DAY_MS;

impl Layout {
    /// Makes a custom layout: 63 bits in total, or 53 for ids that fit a JavaScript number.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] says which width is wrong. [`check`](Self::check) tests whether the epoch is
    /// past and the end is not.
    ///
    /// # Example
    ///
    /// See [`LayoutSpec`].
    pub const fn new(spec: LayoutSpec) -> Result<Self, LayoutError> {
        let below_time = spec.worker_bits.saturating_add(spec.sequence_bits);
        let sum = spec.time_bits.saturating_add(below_time);
        let sum = sum.saturating_add(spec.shard_bits);
        if sum != 63 && sum != 53 {
            return Err(LayoutError::WidthSum { sum });
        }
        if spec.time_bits == 0 {
            return Err(LayoutError::NoTime);
        }
        let worker_bits = spec.worker_bits;
        if worker_bits > u32::BITS {
            return Err(LayoutError::WideWorker { worker_bits });
        }
        let shard_bits = spec.shard_bits;
        if shard_bits > SHARD_BITS_MAX {
            return Err(LayoutError::WideShard { shard_bits });
        }
        let data_center_bits = spec.data_center_bits;
        if data_center_bits > worker_bits {
            return Err(LayoutError::WideDataCenter {
                data_center_bits,
                worker_bits,
            });
        }
        Ok(Self::of(spec))
    }

    /// A layout of widths that are known to add up to 64 bits at most.
    #[expect(clippy::cast_possible_truncation, reason = "no width is above 64")]
    const fn of(spec: LayoutSpec) -> Self {
        let (worker_shift, sequence_shift) = match spec.sequence_place {
            SequencePlace::Low => (spec.sequence_bits, 0),
            SequencePlace::AboveWorker => (0, spec.worker_bits),
        };
        let (worker_shift, sequence_shift) = (
            worker_shift + spec.shard_bits,
            sequence_shift + spec.shard_bits,
        );
        Self {
            time_bits: spec.time_bits as u8,
            worker_bits: spec.worker_bits as u8,
            data_center_bits: spec.data_center_bits as u8,
            sequence_bits: spec.sequence_bits as u8,
            shard_bits: spec.shard_bits as u8,
            worker_shift: worker_shift as u8,
            sequence_shift: sequence_shift as u8,
            unit: spec.unit,
            epoch: spec.epoch,
            sequence_place: spec.sequence_place,
        }
    }

    /// The same widths with another epoch. Ids of the two can be equal: use one epoch for good.
    #[must_use]
    pub const fn with_epoch(self, epoch: Epoch) -> Self {
        Self { epoch, ..self }
    }

    /// Composes an id from fields that are known to be in range and not all 0.
    ///
    /// Other fields panic in a build with debug assertions. In a release build they give the number
    /// of other fields, or an invalid id: use [`try_compose`](Self::try_compose) for fields that
    /// come from outside.
    #[inline]
    #[must_use]
    pub const fn compose(self, fields: Fields) -> Id {
        debug_assert!(self.try_compose(fields).is_ok());
        Id::from_checked(self.number(fields))
    }

    /// Composes an id from any fields.
    ///
    /// # Errors
    ///
    /// [`ComposeError`] names the field that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Fields, Layout, WorkerId};
    ///
    /// let fields = Fields { tick: 1, worker: WorkerId::new(33), sequence: 0, shard: 0 };
    /// assert_eq!(Layout::TWITTER.try_compose(fields)?.get(), 4_329_472);
    /// # Ok::<(), leafid::ComposeError>(())
    /// ```
    pub const fn try_compose(self, fields: Fields) -> Result<Id, ComposeError> {
        let Fields {
            tick,
            worker,
            sequence,
            shard,
        } = fields;
        if tick > self.ticks_max() {
            let max = self.ticks_max();
            return Err(ComposeError::Tick { tick, max });
        }
        let worker = worker.get();
        if worker > self.worker_max() {
            let max = self.worker_max();
            return Err(ComposeError::Worker { worker, max });
        }
        if sequence > self.sequence_max() {
            let max = self.sequence_max();
            return Err(ComposeError::Sequence { sequence, max });
        }
        if shard > self.shard_max() {
            let max = self.shard_max();
            return Err(ComposeError::Shard { shard, max });
        }
        let number = self.number(fields);
        match Id::new(number) {
            Some(id) => Ok(id),
            None => Err(ComposeError::NoId { number }),
        }
    }

    #[inline]
    const fn number(self, fields: Fields) -> u64 {
        (fields.tick << self.time_shift())
            | ((fields.worker.get() as u64) << self.worker_shift)
            | (fields.sequence << self.sequence_shift)
            | fields.shard as u64
    }

    /// Decodes an id into its parts.
    ///
    /// Whatever is above worker id and sequence is time, so every number can be decoded, and
    /// [`compose`](Self::compose) makes the same number again. A number above
    /// [`number_max`](Self::number_max) is not an id of this layout, and its time is beyond the
    /// end: use [`try_decompose`](Self::try_decompose) for numbers that come from outside.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "masked to at most 32 bits")]
    pub const fn decompose(self, id: u64) -> Parts {
        let tick = id >> self.time_shift();
        let worker = ((id >> self.worker_shift) & mask(self.worker_bits)) as u32;
        let worker_bits = self.worker_bits - self.data_center_bits;
        let data_center = match self.data_center_bits {
            0 => None,
            _ => Some((worker as u64 >> worker_bits) as u32),
        };
        Parts {
            tick,
            unix_ms: self.unix_ms_of(tick),
            worker: WorkerId::new(worker),
            data_center,
            worker_in_data_center: worker & mask(worker_bits) as u32,
            sequence: (id >> self.sequence_shift) & mask(self.sequence_bits),
            shard: match self.shard_bits {
                0 => None,
                bits => Some((id & mask(bits)) as u32),
            },
        }
    }

    /// Decodes a number that may not be an id of this layout.
    ///
    /// # Errors
    ///
    /// [`DecomposeError`] if the number has more bits than the layout.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Layout;
    ///
    /// assert!(Layout::LEAF.try_decompose(1_169_786_042_799_259_000).is_ok());
    /// assert!(Layout::JS53.try_decompose(1_169_786_042_799_259_000).is_err());
    /// ```
    pub const fn try_decompose(self, id: u64) -> Result<Parts, DecomposeError> {
        if id > self.number_max() {
            let layout = self;
            return Err(DecomposeError { id, layout });
        }
        Ok(self.decompose(id))
    }

    /// The tick in which an instant lies, given in milliseconds since 1970-01-01T00:00:00Z; `None`
    /// before the epoch and after the end.
    #[inline]
    #[must_use]
    pub const fn tick_of(self, unix_ms: i64) -> Option<u64> {
        let since_ms = unix_ms.saturating_sub(self.epoch.unix_ms());
        if since_ms < 0 {
            return None;
        }
        let since_ms = since_ms.unsigned_abs();
        // Divided by constants, which costs a multiplication instead of a division.
        let tick = match self.unit {
            TimeUnit::Ms1 => since_ms,
            TimeUnit::Ms10 => since_ms / TimeUnit::Ms10.ms(),
            TimeUnit::S1 => since_ms / TimeUnit::S1.ms(),
        };
        if tick <= self.ticks_max() {
            Some(tick)
        } else {
            None
        }
    }

    /// When a tick begins, in milliseconds since 1970-01-01T00:00:00Z; the last representable
    /// instant for ticks beyond it.
    #[inline]
    #[must_use]
    pub const fn unix_ms_of(self, tick: u64) -> i64 {
        let since_ms = tick.saturating_mul(self.unit.ms());
        self.epoch.unix_ms().saturating_add_unsigned(since_ms)
    }

    /// The last usable instant, in milliseconds since 1970-01-01T00:00:00Z: the last one that
    /// [`tick_of`](Self::tick_of) gives a tick for.
    #[must_use]
    pub const fn end_unix_ms(self) -> i64 {
        let last = self.unix_ms_of(self.ticks_max());
        last.saturating_add_unsigned(self.unit.ms() - 1)
    }

    /// Whether ids may be issued at this time, given in milliseconds since 1970-01-01T00:00:00Z;
    /// with a warning when less than three years are left.
    ///
    /// # Errors
    ///
    /// [`LayoutError::DecodeOnly`], [`LayoutError::EpochNotPast`] (it is not past by a tick, whose
    /// ids could be 0), [`LayoutError::Ended`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Layout;
    ///
    /// let now_unix_ms = 1_767_225_600_000; // 2026-01-01
    /// assert_eq!(Layout::LEAF.check(now_unix_ms), Ok(None));
    /// assert!(Layout::BAIDU.check(now_unix_ms).is_err());
    /// ```
    pub const fn check(self, now_unix_ms: i64) -> Result<Option<EndWarning>, LayoutError> {
        let layout = self;
        if self.total_bits() > i64::BITS - 1 {
            return Err(LayoutError::DecodeOnly { layout });
        }
        if now_unix_ms < self.unix_ms_of(1) {
            let epoch = self.epoch;
            return Err(LayoutError::EpochNotPast { epoch, now_unix_ms });
        }
        let left_ms = self.end_unix_ms().saturating_sub(now_unix_ms);
        if left_ms < 0 {
            Err(LayoutError::Ended {
                layout,
                now_unix_ms,
            })
        } else if left_ms < WARNING_MS {
            Ok(Some(EndWarning {
                layout,
                now_unix_ms,
            }))
        } else {
            Ok(None)
        }
    }
}

/// The properties of a layout.
impl Layout {
    /// Whether it has this worker id.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NoSuchWorker`].
    pub const fn check_worker(self, worker: WorkerId) -> Result<(), LayoutError> {
        let max = self.worker_max();
        if worker.get() > max {
            return Err(LayoutError::NoSuchWorker { worker, max });
        }
        Ok(())
    }

    /// Bits of the timestamp.
    #[must_use]
    pub const fn time_bits(self) -> u32 {
        self.time_bits as u32
    }

    /// Bits of the worker id, those of the data centre included.
    #[must_use]
    pub const fn worker_bits(self) -> u32 {
        self.worker_bits as u32
    }

    /// How many of the worker id's upper bits name the data centre; 0 for none.
    #[must_use]
    pub const fn data_center_bits(self) -> u32 {
        self.data_center_bits as u32
    }

    /// Bits of the sequence.
    #[must_use]
    pub const fn sequence_bits(self) -> u32 {
        self.sequence_bits as u32
    }

    /// Bits in all: 63, 53 for ids that fit a JavaScript number, 64 for decoding only.
    #[must_use]
    pub const fn total_bits(self) -> u32 {
        self.time_bits() + self.time_shift()
    }

    /// How far the timestamp is above the bottom.
    #[inline]
    const fn time_shift(self) -> u32 {
        self.worker_bits as u32 + self.sequence_bits as u32 + self.shard_bits as u32
    }

    /// How long a tick is.
    #[must_use]
    pub const fn unit(self) -> TimeUnit {
        self.unit
    }

    /// When tick 0 began.
    #[must_use]
    pub const fn epoch(self) -> Epoch {
        self.epoch
    }

    /// Whether the sequence is below or above the worker id.
    #[must_use]
    pub const fn sequence_place(self) -> SequencePlace {
        self.sequence_place
    }

    /// The largest worker id, the data centre's bits included.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "it has at most 32 bits")]
    pub const fn worker_max(self) -> u32 {
        mask(self.worker_bits) as u32
    }

    /// The largest sequence: a worker has one id more than that in a tick.
    #[inline]
    #[must_use]
    pub const fn sequence_max(self) -> u64 {
        mask(self.sequence_bits)
    }

    /// The last tick.
    #[inline]
    #[must_use]
    pub const fn ticks_max(self) -> u64 {
        mask(self.time_bits)
    }

    /// The largest number that is an id of this layout.
    #[must_use]
    pub const fn number_max(self) -> u64 {
        u64::MAX >> (u64::BITS - self.total_bits())
    }
}

/// A mask of this many ones, from the bottom; at most 63.
#[inline]
const fn mask(bits: u8) -> u64 {
    (1 << bits) - 1
}
