//! A row of `gear_key`, and the tag that it is.

use leafid::store::{Reserve, Reserved, StoreError, TagRecord, TagSettings, TagSpec};
use leafid::{Limit, Tag};

use super::template::Columns;
use crate::row::bad_row;
use crate::sql::Row;
use crate::sql_error::{CallError, SqlError};

/// The columns, up to and with the `FROM`. A number that is too large is read as the largest.
pub(super) const SELECT: &str = "SELECT CONVERT(key_name USING utf8mb4), CAST(id AS SIGNED), \
    CAST(key_value AS SIGNED), CAST(key_cache AS SIGNED), CAST(version AS SIGNED), \
    CAST(key_length AS SIGNED), CONVERT(key_prefix USING utf8mb4), \
    CONVERT(key_suffix USING utf8mb4), CONVERT(key_digit USING utf8mb4), \
    CAST(UNIX_TIMESTAMP(update_time) * 1000 AS SIGNED), CONVERT(updator USING utf8mb4) \
    FROM gear_key";

/// The largest version: ns4_gear_idgen reads it as a signed 32-bit integer.
const VERSION_MAX: i64 = i32::MAX as i64;

/// How the mark of a format begins; a hash of 12 digits follows.
const MARK: &str = "leafid:";

/// A row as it is stored, valid or not.
#[derive(Debug, Clone)]
pub(super) struct GearRow {
    pub(super) name: String,
    pub(super) id: i64,
    /// The last number that was given to any range.
    pub(super) value: Option<i64>,
    cache: Option<i64>,
    pub(super) version: Option<i64>,
    length: Option<i64>,
    prefix: Option<String>,
    suffix: Option<String>,
    digit: Option<String>,
    updated_ms: Option<i64>,
    /// Whoever changed it last; the mark of its format if nobody else wrote there.
    updator: Option<String>,
}

impl GearRow {
    pub(super) fn read(row: &impl Row) -> Result<Self, SqlError> {
        Ok(Self {
            name: row.text(0)?,
            id: row.number(1)?,
            value: row.number_or_null(2)?,
            cache: row.number_or_null(3)?,
            version: row.number_or_null(4)?,
            length: row.number_or_null(5)?,
            prefix: row.text_or_null(6)?,
            suffix: row.text_or_null(7)?,
            digit: row.text_or_null(8)?,
            updated_ms: row.number_or_null(9)?,
            updator: row.text_or_null(10)?,
        })
    }

    /// The meaning of the row; `None` if its name is not a valid tag, which nobody can request.
    pub(super) fn record(self, zone: &str) -> Result<Option<TagRecord>, StoreError> {
        let Ok(tag) = Tag::new(&self.name) else {
            return Ok(None);
        };
        self.check_mark()?;
        let columns = self.columns();
        let format = columns.as_ref().map(|columns| columns.format(zone));
        if let Some(format) = &format {
            let checked = TagSpec::check_format(format);
            checked.map_err(|error| {
                bad_row(&self.name, "prefix or suffix", error.value, &error.wanted)
            })?;
        }
        let max_id = self.max_id()?;
        Ok(Some(TagRecord {
            tag,
            max_id,
            segment_max: None,
            settings: TagSettings {
                step: self.step()?,
                limit: columns.map_or(Limit::INT64, |columns| room(&columns, max_id)),
                ..TagSettings::default()
            },
            format: format.map(Into::into),
            description: None,
            updated_ms: self.updated_ms,
        }))
    }

    /// Where the next segment starts.
    pub(super) fn max_id(&self) -> Result<u64, StoreError> {
        let value = self.value.and_then(|value| u64::try_from(value).ok());
        let value = value.ok_or_else(|| self.bad("key_value", self.value, "0 or more"))?;
        Ok(value.min(Limit::INT64.largest()) + 1)
    }

    fn step(&self) -> Result<u32, StoreError> {
        let step = self.cache.and_then(|cache| u32::try_from(cache).ok());
        let step = step.filter(|step| (1..=TagSettings::STEP_MAX).contains(step));
        step.ok_or_else(|| self.bad("key_cache", self.cache, "1 to 2147483647"))
    }

    /// Without a length the row has plain ids.
    fn columns(&self) -> Option<Columns> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Some(Columns {
            prefix: text(&self.prefix),
            suffix: text(&self.suffix),
            length: self.length?,
            digit: text(&self.digit),
        })
    }

    /// What a segment writes into `updator`, unless something else is there.
    pub(super) fn mark(&self) -> String {
        mark(self.columns().as_ref())
    }

    /// Refuses a row with another format than that of the segments that were taken of it: an old
    /// id and a new one could have the same text.
    fn check_mark(&self) -> Result<(), StoreError> {
        let updator = self.updator.as_deref().unwrap_or_default();
        // The column may have cut it.
        if !updator.starts_with(MARK) || self.mark().starts_with(updator) {
            return Ok(());
        }
        let message = format!(
            "the row of tag {:?} has another prefix, suffix, length or digits than when its last \
            ids were taken, so that texts could repeat: change them back, or, if no old text can \
            be one of the new ones, stop all servers, set updator to NULL and start them again",
            self.name
        );
        Err(StoreError::BadRow { message })
    }

    /// The version after a change. After the largest one comes 0, which differs from it too.
    pub(super) fn next_version(&self) -> i64 {
        let version = self.version;
        let version = version.filter(|version| (0..VERSION_MAX).contains(version));
        version.map_or(0, |version| version + 1)
    }

    /// The answer to a reservation, and the value that the row has then.
    pub(super) fn reserved(&self, reserve: &Reserve) -> Result<(Reserved, i64), CallError> {
        self.check_mark()?;
        let reserved = reserve.reserved(self.max_id()?)?;
        let value = i64::try_from(reserved.segment.end() - 1);
        let value = value.map_err(|_| StoreError::LimitReached {
            max_id: reserved.segment.start(),
        })?;
        Ok((reserved, value))
    }

    fn bad(&self, column: &str, number: Option<i64>, wanted: &str) -> StoreError {
        let value = number.map_or("null".to_owned(), |number| number.to_string());
        bad_row(&self.name, column, value, wanted)
    }
}

/// The largest number of a row whose ids have texts: what its length has room for, so that a batch
/// for which there is none takes nothing. Past that, where only programs that take plain numbers
/// go, it is that of any row.
fn room(columns: &Columns, max_id: u64) -> Limit {
    let room = columns.limit();
    match max_id > room.largest().saturating_add(1) {
        true => Limit::INT64,
        false => room,
    }
}

/// The mark of a format, the same for every time zone. It must never change: rows keep it.
pub(super) fn mark(columns: Option<&Columns>) -> String {
    // FNV-1a, cut to 48 bits.
    let format = columns.map_or_else(|| "plain".to_owned(), |columns| columns.format(""));
    let hash = format
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{MARK}{:012x}", hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that a mark stays what it was: rows keep it.
    #[test]
    fn marks_never_change() {
        let columns = |prefix: &str, digit: &str| Columns {
            prefix: prefix.to_owned(),
            suffix: String::new(),
            length: 16,
            digit: digit.to_owned(),
        };
        let format = columns("TS${date6}", "10");
        assert_eq!(mark(Some(&format)), "leafid:108cb5a0c72a");
        assert_eq!(mark(None), "leafid:fd4d194e1652");
        // What writes the same texts has the same mark.
        assert_eq!(mark(Some(&columns(" TS${date6}", ""))), mark(Some(&format)));
        assert_ne!(
            mark(Some(&columns("TS${date6}", "36"))),
            mark(Some(&format))
        );
    }
}
