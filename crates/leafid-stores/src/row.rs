//! Rows of the tables, the same in every database: a row of `leaf_alloc` with its row of
//! `leafid_tag`, converted from and to the types of the contract.
//!
//! The columns, in the order in which every statement selects them: `biz_tag`, `max_id`, `step`,
//! `description`, `update_time` in milliseconds, `policy`, `step_max`, `cover_seconds`,
//! `id_limit`, `kind`, `deleted_max_id`, `segment_max`, `format`.

use std::sync::Arc;
use std::time::Duration;

use leafid::store::{
    Reserve, Reserved, StoreError, TagKind, TagPatch, TagRecord, TagSettings, TagSpec,
};
use leafid::{Escaped, Limit, StepPolicy, Tag};

#[cfg(feature = "_sqlx")]
use crate::schema::OwnTable;
use crate::sql::Row;
use crate::sql_error::{CallError, SqlError};

/// What is impossible without our own table.
pub(crate) const KEEP_OWN: &str = "keep a kind, a format, a policy or a limit";

/// A row as it is stored, valid or not.
#[derive(Debug, Clone)]
pub(crate) struct StoredRow {
    pub(crate) tag: String,
    pub(crate) max_id: i64,
    pub(crate) step: i64,
    pub(crate) description: Option<String>,
    pub(crate) updated_ms: Option<i64>,
    pub(crate) own: OwnColumns,
    /// How far a former tag of this name went.
    pub(crate) deleted_max_id: Option<i64>,
    /// The length of the longest segment.
    pub(crate) segment_max: Option<i64>,
    pub(crate) format: Option<String>,
}

/// Stands behind the kind of numbers with a format: versions that know of no formats find a kind that
/// they do not know, and issue no numbers of the tag, which could be texts of others.
const TEXT_MARK: &str = "+text";

/// The settings in our own table that may change or are the tag's kind; all empty if it has no row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OwnColumns {
    pub(crate) policy: Option<String>,
    pub(crate) step_max: Option<i64>,
    pub(crate) cover_seconds: Option<i64>,
    pub(crate) id_limit: Option<i64>,
    pub(crate) kind: Option<String>,
}

/// What a reservation reads besides Leaf's table.
#[cfg(feature = "_sqlx")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct SideTables {
    pub(crate) own: OwnTable,
    /// Whether the database has an identity.
    pub(crate) has_identity: bool,
}

/// The result of a reservation.
#[cfg(feature = "_sqlx")]
pub(crate) struct ReserveOutcome {
    pub(crate) reserved: Reserved,
    /// Whether our own table was created since it was last checked.
    pub(crate) came_since: bool,
    /// The identity of the database, if that was asked.
    pub(crate) identity: Option<String>,
}

/// The numbers of a `reserve` statement, none of which can overflow there.
#[cfg(feature = "_sqlx")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) floor: i64,
    /// Where the segment starts if the store holds less than the floor.
    pub(crate) jump: i64,
    pub(crate) count: i64,
    pub(crate) start_max: i64,
}

#[cfg(feature = "_sqlx")]
impl Bounds {
    /// For a tag whose name is known to have gone up to `former`; `None` if no start is within the
    /// limit.
    pub(crate) fn of(reserve: &Reserve, former: u64) -> Option<Self> {
        let start_max = i64::try_from(reserve.start_max()?).ok()?;
        let count = i64::try_from(reserve.count).ok()?;
        let known = reserve.floor.unwrap_or(1).max(1);
        let (floor, jump) = match former < known {
            true => (known, reserve.start(known - 1).max(known)),
            false => (former, former),
        };
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Some(Self {
            floor: whole(floor),
            jump: whole(jump),
            count,
            start_max,
        })
    }
}

impl StoredRow {
    pub(crate) fn read(row: &impl Row) -> Result<Self, SqlError> {
        Ok(Self {
            tag: row.text(0)?,
            max_id: row.number(1)?,
            step: row.number(2)?,
            description: row.text_or_null(3)?,
            updated_ms: row.number_or_null(4)?,
            own: OwnColumns {
                policy: row.text_or_null(5)?,
                step_max: row.number_or_null(6)?,
                cover_seconds: row.number_or_null(7)?,
                id_limit: row.number_or_null(8)?,
                kind: row.text_or_null(9)?,
            },
            deleted_max_id: row.number_or_null(10)?,
            segment_max: row.number_or_null(11)?,
            format: row.text_or_null(12)?,
        })
    }

    /// The meaning of the row; `None` if its name is not a valid tag, which nobody can request.
    pub(crate) fn record(self) -> Result<Option<TagRecord>, StoreError> {
        let Ok(tag) = Tag::new(&self.tag) else {
            return Ok(None);
        };
        let settings = TagSettings {
            kind: self.own.kind(&self.tag)?,
            step: step(&self.tag, self.step)?,
            policy: self.own.policy(&self.tag)?,
            limit: self.own.limit(&self.tag)?,
        };
        let max_id = u64::try_from(self.max_id)
            .map_err(|_| bad_row(&self.tag, "max_id", self.max_id, "0 or more"))?;
        let max_id = max_id.max(former_life(self.deleted_max_id));
        let format = self.format.as_deref();
        let format = format.map(|text| format_of(&self.tag, text)).transpose()?;
        if format.is_none() && self.own.has_texts() {
            return Err(bad_row(&self.tag, "format", "null", "the tag's format"));
        }
        let segment_max = self
            .segment_max
            .and_then(|length| u64::try_from(length).ok());
        let Self {
            description,
            updated_ms,
            ..
        } = self;
        Ok(Some(TagRecord {
            tag,
            max_id,
            segment_max,
            settings,
            format,
            description,
            updated_ms,
        }))
    }

    /// The row after a patch, which may correct an invalid row.
    pub(crate) fn patch(&mut self, patch: &TagPatch) {
        self.step = patch.step.map_or(self.step, i64::from);
        if let Some(description) = &patch.description {
            self.description.clone_from(description);
        }
        if let Some(policy) = patch.policy {
            self.own.set_policy(policy);
        }
        if let Some(limit) = patch.limit {
            self.own.set_limit(limit);
        }
    }
}

impl OwnColumns {
    pub(crate) fn of(spec: &TagSpec) -> Self {
        let settings = &spec.settings;
        let mut own = Self::default();
        own.set_policy(settings.policy);
        own.set_limit(settings.limit);
        own.kind = match (settings.kind, &spec.format) {
            (TagKind::Segment, None) => None,
            (kind, Some(_)) if kind.is_numbered() => Some(format!("{kind}{TEXT_MARK}")),
            (kind, _) => Some(kind.name().to_owned()),
        };
        own
    }

    /// What is kept of a deleted tag.
    pub(crate) fn with_kind(kind: Option<String>) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn set_policy(&mut self, policy: Option<StepPolicy>) {
        self.policy = policy.map(|policy| policy.name().to_owned());
        (self.step_max, self.cover_seconds) = match policy {
            None | Some(StepPolicy::Fixed) => (None, None),
            Some(StepPolicy::Leaf { step_max }) => (Some(clamped(step_max)), None),
            Some(StepPolicy::Cover { cover, step_max }) => {
                // Whole seconds, rounded up.
                let seconds = cover.as_secs() + u64::from(cover.subsec_nanos() > 0);
                (Some(clamped(step_max)), Some(clamped(seconds)))
            }
        };
    }

    fn set_limit(&mut self, limit: Limit) {
        self.id_limit = (limit != Limit::INT64).then(|| clamped(limit.largest()));
    }

    fn policy(&self, tag: &str) -> Result<Option<StepPolicy>, StoreError> {
        let Some(name) = &self.policy else {
            return Ok(None);
        };
        let wanted = "fixed, leaf, cover or null";
        let policy =
            StepPolicy::from_name(name).ok_or_else(|| bad_row(tag, "policy", name, wanted))?;
        Ok(Some(match policy {
            StepPolicy::Fixed => policy,
            StepPolicy::Leaf { step_max } => StepPolicy::Leaf {
                step_max: positive(tag, "step_max", self.step_max, step_max)?,
            },
            StepPolicy::Cover { cover, step_max } => {
                let seconds = positive(tag, "cover_seconds", self.cover_seconds, cover.as_secs())?;
                StepPolicy::Cover {
                    cover: Duration::from_secs(seconds),
                    step_max: positive(tag, "step_max", self.step_max, step_max)?,
                }
            }
        }))
    }

    pub(crate) fn kind(&self, tag: &str) -> Result<TagKind, StoreError> {
        let Some(name) = &self.kind else {
            return Ok(TagKind::Segment);
        };
        let wanted = "segment, snowflake, a family of ids such as uuid7, or null";
        let kind = name.strip_suffix(TEXT_MARK).unwrap_or(name);
        kind.parse()
            .map_err(|_| bad_row(tag, "kind", Escaped(name), wanted))
    }

    /// Whether the tag's numbers leave as texts only.
    fn has_texts(&self) -> bool {
        let kind = self.kind.as_deref();
        kind.is_some_and(|kind| kind.ends_with(TEXT_MARK))
    }

    fn limit(&self, tag: &str) -> Result<Limit, StoreError> {
        let Some(largest) = self.id_limit else {
            return Ok(Limit::INT64);
        };
        let limit = u64::try_from(largest).ok().and_then(Limit::new);
        limit.ok_or_else(|| {
            bad_row(
                tag,
                "id_limit",
                largest,
                "1 to 9223372036854775806, or null",
            )
        })
    }
}

/// How far a former tag of this name went. Its row may have been created again by Leaf's own
/// statements, which do not know of it.
pub(crate) fn former_life(deleted_max_id: Option<i64>) -> u64 {
    u64::try_from(deleted_max_id.unwrap_or(0)).unwrap_or(0)
}

/// A row that exists although the statement changed nothing: the limit is reached, or the row is
/// invalid.
pub(crate) fn refusal(reserve: &Reserve, max_id: i64, former: u64) -> CallError {
    let Ok(previous) = u64::try_from(max_id) else {
        return bad_row(reserve.tag.as_str(), "max_id", max_id, "0 or more").into();
    };
    match reserve.reserved(previous.max(former)) {
        Err(error) => error.into(),
        Ok(_) => {
            StoreError::unavailable("the row changed meanwhile", "nothing was reserved").into()
        }
    }
}

/// Checks that the row holds the end of the segment that was reserved, as it was read back within
/// the transaction. If not, others would get the same ids: the segment is lost.
pub(crate) fn check_kept(
    reserve: &Reserve,
    reserved: &Reserved,
    max_id: i64,
) -> Result<(), StoreError> {
    let segment = reserved.segment;
    check_max_id(reserve.tag.as_str(), max_id, segment.end()).map_err(|reason| {
        let message =
            format!("{reason}; the segment {segment} is lost, and none of its ids is issued");
        StoreError::BadRow { message }
    })
}

/// The same for a row that was read after the commit, so that others may have reserved meanwhile.
#[cfg(feature = "mysql")]
pub(crate) fn check_kept_or_above(
    reserve: &Reserve,
    reserved: &Reserved,
    max_id: i64,
) -> Result<(), StoreError> {
    let end = i64::try_from(reserved.segment.end()).unwrap_or(i64::MAX);
    check_kept(reserve, reserved, max_id.min(end))
}

/// Checks that a new tag starts where it should, and has the format that was written.
pub(crate) fn check_created(
    row: &StoredRow,
    max_id: i64,
    format: Option<&str>,
) -> Result<(), StoreError> {
    let wanted = u64::try_from(max_id).unwrap_or(0);
    check_max_id(&row.tag, row.max_id, wanted).map_err(|message| StoreError::BadRow { message })?;
    if row.format.as_deref() == format {
        return Ok(());
    }
    let message = format!(
        "the row of tag {:?} does not have the format that was written: look for a trigger or a \
        rule on leafid_tag, and for the type of format, which must be varchar(500) with the \
        character set utf8mb4 or UTF8",
        row.tag
    );
    Err(StoreError::BadRow { message })
}

fn check_max_id(tag: &str, found: i64, wanted: u64) -> Result<(), String> {
    if u64::try_from(found) == Ok(wanted) {
        return Ok(());
    }
    Err(format!(
        "the row of tag {tag:?} has max_id {found} after {wanted} was written: look for a trigger \
        or a rule on leaf_alloc, and for the type of max_id, which must be bigint"
    ))
}

/// The result of reading many tags: invalid rows are left out, so that one does not spoil the rest;
/// the error shows when that tag is requested alone.
pub(crate) fn records(rows: Vec<StoredRow>, tags: &[Tag]) -> Result<Vec<TagRecord>, CallError> {
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        match row.record() {
            Ok(record) => records.extend(record.filter(|record| tags.contains(&record.tag))),
            Err(StoreError::BadRow { .. }) if tags.len() > 1 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(records)
}

/// The max id of a tag that is created.
pub(crate) fn first_max_id(spec: &TagSpec) -> Result<i64, CallError> {
    i64::try_from(spec.start.max(1))
        .map_err(|_| CallError::unsupported("a tag starts at 2^63 - 1 at most"))
}

/// The number of parameters for `len` tags: few different ones, so that few statements are cached.
pub(crate) fn padded(tags: &[Tag]) -> impl Iterator<Item = &Tag> {
    let missing = tags.len().next_power_of_two() - tags.len();
    tags.iter()
        .chain(std::iter::repeat_n(tags.last(), missing).flatten())
}

fn step(tag: &str, step: i64) -> Result<u32, StoreError> {
    let fits = u32::try_from(step)
        .ok()
        .filter(|step| (1..=TagSettings::STEP_MAX).contains(step));
    fits.ok_or_else(|| bad_row(tag, "step", step, "1 to 2147483647"))
}

fn format_of(tag: &str, format: &str) -> Result<Arc<str>, StoreError> {
    let checked = TagSpec::check_format(format);
    checked.map_err(|error| bad_row(tag, "format", error.value, &error.wanted))?;
    Ok(format.into())
}

fn positive(tag: &str, column: &str, number: Option<i64>, default: u64) -> Result<u64, StoreError> {
    let Some(number) = number else {
        return Ok(default);
    };
    let positive = u64::try_from(number).ok().filter(|number| *number > 0);
    positive.ok_or_else(|| bad_row(tag, column, number, "1 or more, or null"))
}

fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn bad_row(
    tag: &str,
    column: &str,
    value: impl std::fmt::Display,
    wanted: &str,
) -> StoreError {
    let message = format!("the row of tag {tag:?} has {column} {value}: it must be {wanted}");
    StoreError::BadRow { message }
}
