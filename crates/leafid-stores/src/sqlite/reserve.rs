//! Reserves a segment: one transaction that holds the write lock from its beginning.

use leafid::store::{Reserve, Reserved, StoreError};
use rusqlite::{Connection, OptionalExtension as _};

use crate::row::{check_kept, former_life, refusal};
use crate::sql_error::CallError;

pub(super) fn reserve(connection: &Connection, reserve: &Reserve) -> Result<Reserved, CallError> {
    let tag = reserve.tag.as_str();
    let select = "SELECT a.max_id, t.deleted_max_id \
        FROM leaf_alloc a LEFT JOIN leafid_tag t ON t.tag = a.biz_tag \
        WHERE a.biz_tag = ? AND coalesce(t.kind, 'segment') IN ('segment', 'segment+text')";
    let row = connection.query_row(select, [tag], |row| <(i64, Option<i64>)>::try_from(row));
    let (max_id, deleted) = row.optional()?.ok_or(StoreError::UnknownTag)?;
    let former = former_life(deleted);
    let reserved = u64::try_from(max_id)
        .ok()
        .and_then(|previous| reserve.reserved(previous.max(former)).ok());
    let end = reserved.and_then(|reserved| i64::try_from(reserved.segment.end()).ok());
    let (Some(reserved), Some(end)) = (reserved, end) else {
        return Err(refusal(reserve, max_id, former));
    };
    let update = "UPDATE leaf_alloc SET max_id = ?, \
        update_time = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE biz_tag = ?";
    connection.execute(update, (end, tag))?;
    let kept = "SELECT max_id FROM leaf_alloc WHERE biz_tag = ?";
    let kept: i64 = connection.query_row(kept, [tag], |row| row.get(0))?;
    check_kept(reserve, &reserved, kept)?;
    if reserve.is_longest {
        keep_longest(connection, reserve)?;
    }
    Ok(reserved)
}

/// Records the length; shorter ones are ignored.
fn keep_longest(connection: &Connection, reserve: &Reserve) -> Result<(), CallError> {
    let keep = "INSERT INTO leafid_tag (tag, segment_max) VALUES (?, ?) ON CONFLICT (tag) \
        DO UPDATE SET segment_max = max(coalesce(segment_max, 0), excluded.segment_max)";
    let length = i64::try_from(reserve.count).unwrap_or(i64::MAX);
    connection.execute(keep, (reserve.tag.as_str(), length))?;
    Ok(())
}
