//! `Families`: the generators of all families of ids in one process.
//!
//! A family decides purely (`issue.rs`) and commits with one atomic operation: `ascending.rs` for
//! families in order, `second_counter.rs` for those with a counter. Unordered ones commit nothing:
//! they rest on `entropy.rs` alone.

mod ascending;
pub(crate) mod cosid;
pub(crate) mod digits;
mod entropy;
pub(crate) mod epoch;
mod error;
mod format;
mod generator;
mod issue;
mod leased;
mod process;
mod random_symbols;
mod second_counter;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};

use leafid::{Clock, Family, Snowflake};

use entropy::Entropy;
pub use error::FamilyError;
pub use format::FamilyFormat;
pub(crate) use format::{Form, is_type_id_prefix};
pub(crate) use generator::FamilyGenerator;
#[cfg(test)]
pub(crate) use issue::type_id_text;
use issue::{Now, State};

/// The most ids of one call of [`Families::next_many`].
const BATCH_LEN_MAX: usize = 100_000;

/// The generators of all families of ids in one process. Clones share their state, and make no two
/// ids alike.
///
/// | family | **unique** over | **ordered** within the process |
/// | --- | --- | --- |
/// | UUID 4, NanoID, CUID2 | everywhere, by random bits | no |
/// | UUID 1 | everywhere, by 61 random bits of the process | no, its text begins with the low bits of the time |
/// | UUID 6 | as UUID 1 | **strictly ascending** |
/// | UUID 7, UUID 8, ULID | everywhere, by time and over 50 random bits | **strictly ascending** |
/// | KSUID | everywhere, by 128 random bits | by second |
/// | `ObjectId`, XID | everywhere, by 40 random bits of the process | by second, then by counter until it wraps |
/// | CosId | everywhere, by time, 20 random bits of the process and a sequence with a random start | **strictly ascending**; its `friendly` form too |
/// | TSID | the process; 1024 processes at most, if their 10 random bits differ | **strictly ascending** |
/// | TSID, CosId with [`set_snowflake`](Self::set_snowflake) | all processes of the registry | **strictly ascending** while one worker id is held |
///
/// Strictly ascending means over all threads and clones, also within a tick of the clock, and when
/// the clock goes back: then the last time is used on. **Thread-safe**, without a lock. After a
/// fork both processes go on, with other random bits; it is noticed by the process id, once the
/// clock's [`wall`](Clock::wall) has moved by 5 microseconds.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use leafid::{Family, SystemClock};
/// use leafid_formats::{Families, FamilyFormat};
///
/// let families = Families::new(Arc::new(SystemClock::new()));
/// let format = FamilyFormat::compile(Family::Uuid7, Some("order_{id form=typeid}"))?;
///
/// let mut text = String::new();
/// families.push_next(&format, &mut text)?;
/// assert!(text.starts_with("order_0"));
///
/// let more = families.next_many(&format, 3)?;
/// assert!(more.is_sorted() && more[0] > text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Families {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    state: State,
    /// What makes TSID and CosId in place of random bits.
    snowflake: OnceLock<Snowflake>,
}

impl Families {
    /// Generators that take their times from a clock's [`wall`](Clock::wall). They read random bits
    /// at their first id.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let state = State::new();
        Self {
            shared: Arc::new(Shared {
                clock,
                state,
                snowflake: OnceLock::new(),
            }),
        }
    }

    /// Makes TSID and CosId with the worker id that a registry leases to this process, in its
    /// clones too, if the layout's widths and unit fit: then they are **unique** over all processes
    /// of the registry, and ascend as snowflake ids do. Without a lease they are refused. The first
    /// call wins.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use leafid::{Family, Layout, Snowflake, SystemClock, WorkerId};
    /// use leafid_formats::{Families, FamilyFormat, decode};
    ///
    /// let families = Families::new(Arc::new(SystemClock::new()));
    /// families.set_snowflake(Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?);
    /// let mut text = String::new();
    /// families.push_next(&FamilyFormat::compile(Family::Tsid, None)?, &mut text)?;
    /// let decoded = decode(Family::Tsid, &text)?;
    /// assert_eq!(decoded.part("node").map(ToString::to_string).as_deref(), Some("7"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_snowflake(&self, snowflake: Snowflake) {
        let _kept = self.shared.snowflake.set(snowflake);
    }

    /// What makes the ids of this family by a leased worker id, if anything does.
    pub(crate) fn leased(&self, family: Family) -> Option<&Snowflake> {
        let snowflake = self.shared.snowflake.get();
        snowflake.filter(|snowflake| leased::fits(family, snowflake.layout()))
    }

    /// Appends the next id. Allocates only what `text` lacks.
    ///
    /// # Errors
    ///
    /// [`FamilyError`], after which nothing was appended.
    pub fn push_next(&self, format: &FamilyFormat, text: &mut String) -> Result<(), FamilyError> {
        self.issue(format, 1, |id| {
            text.reserve(format.text_len());
            push(format, id, text);
        })
    }

    /// The next ids, in order; up to 100,000, also when more are asked for. Reads the clock once,
    /// so that this is the fastest way to many ids.
    ///
    /// # Errors
    ///
    /// [`FamilyError`], after which ids of this call may be lost, but never repeat.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use leafid::{Family, ManualClock};
    /// use leafid_formats::{Families, FamilyFormat};
    ///
    /// let families = Families::new(Arc::new(ManualClock::new()));
    /// let ulids = families.next_many(&FamilyFormat::compile(Family::Ulid, None)?, 1000)?;
    /// assert!(ulids.is_sorted_by(|a, b| a < b));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_many(
        &self,
        format: &FamilyFormat,
        count: usize,
    ) -> Result<Vec<String>, FamilyError> {
        let count = count.min(BATCH_LEN_MAX);
        let mut texts = Vec::with_capacity(count);
        self.issue(format, count, |id| {
            let mut text = String::with_capacity(format.text_len());
            push(format, id, &mut text);
            texts.push(text);
        })?;
        Ok(texts)
    }

    fn issue(
        &self,
        format: &FamilyFormat,
        count: usize,
        emit: impl FnMut(&str),
    ) -> Result<(), FamilyError> {
        if let Some(snowflake) = self.leased(format.family()) {
            return leased::issue(snowflake, format, count, emit);
        }
        let now = Now::at(self.shared.clock.wall());
        Entropy::with(now.unix_ns, |entropy| {
            self.shared.state.issue(format, now, count, entropy, emit)
        })
    }
}

fn push(format: &FamilyFormat, id: &str, text: &mut String) {
    text.push_str(format.before());
    text.push_str(id);
    text.push_str(format.after());
}

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The state has the random bits of the process, which others need not know.
        f.debug_struct("Families").finish_non_exhaustive()
    }
}
