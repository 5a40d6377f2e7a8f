//! `recognise`: every family and layout that an unknown text may be of, the most likely first.

mod born;
mod number;
mod score;
#[cfg(test)]
mod tests;
mod text;

use leafid::{Family, Layout};

use crate::decode::Decoded;
use score::Candidate;

/// A longer text is of no family.
const TEXT_LEN_MAX: usize = 128;

/// How far a clock may be ahead of ours.
const CLOCK_DIFFERENCE_MS: i64 = 60_000;

/// What each mark takes off a score.
const MARK: u8 = 40;

/// One reading of an unknown text.
///
/// # Example
///
/// See [`recognise`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recognised {
    /// The name of the family or layout, such as `uuid7`, `typeid`, `objectid-old`, `twitter`;
    /// `segment`, a plain number; or `snowflake`, a number of a layout that has no name, given to
    /// [`recognise_with`].
    pub name: &'static str,
    /// For numbers: the layout by which they were read.
    pub layout: Option<Layout>,
    /// The parts.
    pub decoded: Decoded,
    /// What is impossible or unlikely about this reading.
    pub marks: Vec<Mark>,
    /// How likely this reading is beside the others: 0 to 100. It is no probability.
    pub score: u8,
}

/// What speaks against a reading.
///
/// # Example
///
/// ```
/// use leafid_formats::Mark;
///
/// assert_eq!(Mark::Future.to_string(), "its time is in the future");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mark {
    /// The time is more than a minute after now.
    Future,
    /// The time is before the family was published.
    BeforeItsFamily,
    /// The registry of worker ids has no row for the worker id. [`recognise`] knows no registry: a
    /// server adds this mark.
    UnknownWorker,
}

impl Mark {
    /// What speaks against the time in an id; both times in milliseconds since
    /// 1970-01-01T00:00:00Z.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_formats::Mark;
    ///
    /// let now_ms = 1_795_305_600_000; // 2026-11-22
    /// assert_eq!(Mark::of_time(now_ms + 60_001, now_ms), Some(Mark::Future));
    /// assert_eq!(Mark::of_time(now_ms + 60_000, now_ms), None); // clocks differ
    /// ```
    #[must_use]
    pub const fn of_time(unix_ms: i64, now_ms: i64) -> Option<Self> {
        if unix_ms > now_ms.saturating_add(CLOCK_DIFFERENCE_MS) {
            Some(Self::Future)
        } else {
            None
        }
    }

    /// What speaks against the time of a snowflake id of a layout; both times in milliseconds since
    /// 1970-01-01T00:00:00Z.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Layout;
    /// use leafid_formats::Mark;
    ///
    /// let now_ms = 1_795_305_600_000; // 2026-11-22
    /// let of_2013 = 1_380_000_000_000; // four years before Leaf was published
    /// assert_eq!(Mark::of_layout(Layout::LEAF, of_2013, now_ms), [Mark::BeforeItsFamily]);
    /// assert_eq!(Mark::of_layout(Layout::TWITTER, of_2013, now_ms), []);
    /// ```
    #[must_use]
    pub fn of_layout(layout: Layout, unix_ms: i64, now_ms: i64) -> Vec<Self> {
        Self::of_times(unix_ms, born::of_layout(layout), now_ms).collect()
    }

    /// What speaks against the time of an id of a family; both times in milliseconds since
    /// 1970-01-01T00:00:00Z.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Family;
    /// use leafid_formats::Mark;
    ///
    /// let now_ms = 1_795_305_600_000; // 2026-11-22
    /// assert_eq!(Mark::of_family(Family::Ulid, 0, now_ms), [Mark::BeforeItsFamily]);
    /// assert_eq!(Mark::of_family(Family::Ulid, now_ms, now_ms), []);
    /// ```
    #[must_use]
    pub fn of_family(family: Family, unix_ms: i64, now_ms: i64) -> Vec<Self> {
        Self::of_times(unix_ms, born::of_family(family), now_ms).collect()
    }

    fn of_times(unix_ms: i64, born_ms: i64, now_ms: i64) -> impl Iterator<Item = Self> {
        let early = (unix_ms < born_ms).then_some(Self::BeforeItsFamily);
        Self::of_time(unix_ms, now_ms).into_iter().chain(early)
    }
}

impl Recognised {
    /// Adds a mark, and takes 40 off the score.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_formats::{Mark, recognise};
    ///
    /// let mut leaf = recognise("1169786042799259000", 1_795_305_600_000).remove(0);
    /// let score = leaf.score;
    /// leaf.add_mark(Mark::UnknownWorker);
    /// assert_eq!((&leaf.marks[..], leaf.score), (&[Mark::UnknownWorker][..], score - 40));
    /// ```
    pub fn add_mark(&mut self, mark: Mark) {
        self.marks.push(mark);
        self.score = self.score.saturating_sub(MARK);
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Future => "its time is in the future",
            Self::BeforeItsFamily => "its time is before the family existed",
            Self::UnknownWorker => "the registry has no row for its worker id",
        })
    }
}

/// Every family and layout that a text may be of, the most likely first; none for a text that fits
/// nothing. `now_ms` is the time of day, in milliseconds since 1970-01-01T00:00:00Z.
///
/// The order is by [`score`](Recognised::score), then by a fixed order of families. The score is
/// the sum of
///
/// - how seldom another text has the shape: 95 for a TypeID with its prefix, 90 for UUID and ULID,
///   85 for KSUID and `ObjectId`, 80 for XID and TSID, 75 for CosId, 70 for 32
///   hexadecimal digits, 40 to 60 for
///   CUID2 and NanoID, which are only symbols; 10 to 20 less in an unusual letter case;
/// - for numbers 40, 60 for a plain number below 10^12, and up to 8 for a common layout;
/// - 95 for a number from 10^12 that is an id of the layout given to [`recognise_with`];
/// - for numbers up to 10, one less for each 2 years of age; and 10 if the sequence is in the
///   lowest 64th, as it is in most milliseconds;
/// - 40 less for each [`Mark`].
///
/// A pure function of its arguments: it never panics, and reads at most 128 bytes.
///
/// # Example
///
/// ```
/// use leafid_formats::{Mark, recognise};
///
/// let now_ms = 1_795_305_600_000; // 2026-11-22
/// let readings = recognise("507f1f77bcf86cd799439011", now_ms);
/// let names: Vec<&str> = readings.iter().map(|reading| reading.name).collect();
/// assert_eq!(names, ["objectid-old", "objectid"]);
///
/// let future = recognise("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", now_ms);
/// assert_eq!((future[0].name, &future[0].marks[..]), ("ulid", &[Mark::Future][..]));
///
/// assert!(recognise("order", now_ms).is_empty());
/// ```
#[must_use]
pub fn recognise(text: &str, now_ms: i64) -> Vec<Recognised> {
    readings(text, now_ms, None)
}

/// As [`recognise`], for a caller that makes snowflake ids of a layout: it is among the readings,
/// and unless a mark speaks against it, the first of a number from 10^12. It has the name of the
/// known layout that is the same, or else `snowflake`.
///
/// # Example
///
/// ```
/// use leafid_formats::recognise_with;
///
/// let now_ms = 1_795_305_600_000; // 2026-11-22
/// let layout = "time41x1ms/worker6/sequence12/shard4@2026-01-01T00:00:00Z".parse()?;
/// let first = recognise_with("100000000000000000", now_ms, layout).remove(0);
/// assert_eq!((first.name, first.layout), ("snowflake", Some(layout)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn recognise_with(text: &str, now_ms: i64, layout: Layout) -> Vec<Recognised> {
    readings(text, now_ms, Some(layout))
}

fn readings(text: &str, now_ms: i64, own: Option<Layout>) -> Vec<Recognised> {
    if text.is_empty() || text.len() > TEXT_LEN_MAX {
        return Vec::new();
    }
    let mut candidates = text::candidates(text);
    candidates.extend(number::candidates(text, now_ms, own));
    let readings = candidates.into_iter();
    let mut readings: Vec<Recognised> = readings.map(|found| found.scored(now_ms)).collect();
    // Stable: equal scores keep the order of the families.
    readings.sort_by_key(|reading| std::cmp::Reverse(reading.score));
    readings
}
