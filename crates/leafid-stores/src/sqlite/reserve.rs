//! Reserving: one transaction, before which nobody else changes the file.

use leafid::store::{Reserve, Reserved, StoreError};
use sqlx::{Sqlite, Transaction};

use crate::row::{check_kept, former_life, refusal};
use crate::store::CallError;

pub(super) async fn reserve(
    transaction: &mut Transaction<'_, Sqlite>,
    reserve: &Reserve,
) -> Result<Reserved, CallError> {
    let tag = reserve.tag.as_str();
    let select = "SELECT a.max_id, t.deleted_max_id \
        FROM leaf_alloc a LEFT JOIN leafid_tag t ON t.tag = a.biz_tag WHERE a.biz_tag = ?";
    let query = sqlx::query_as(select).bind(tag);
    let row: Option<(i64, Option<i64>)> = query.fetch_optional(&mut **transaction).await?;
    let (max_id, deleted) = row.ok_or(StoreError::UnknownTag)?;
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
    let query = sqlx::query(update).bind(end).bind(tag);
    query.execute(&mut **transaction).await?;
    let kept = sqlx::query_scalar("SELECT max_id FROM leaf_alloc WHERE biz_tag = ?").bind(tag);
    check_kept(
        reserve,
        &reserved,
        kept.fetch_one(&mut **transaction).await?,
    )?;
    if reserve.is_longest {
        keep_longest(transaction, reserve).await?;
    }
    Ok(reserved)
}

/// Keeps the length in mind; shorter ones are forgotten.
async fn keep_longest(
    transaction: &mut Transaction<'_, Sqlite>,
    reserve: &Reserve,
) -> Result<(), CallError> {
    let keep = "INSERT INTO leafid_tag (tag, segment_max) VALUES (?, ?) ON CONFLICT (tag) \
        DO UPDATE SET segment_max = max(coalesce(segment_max, 0), excluded.segment_max)";
    let length = i64::try_from(reserve.count).unwrap_or(i64::MAX);
    let query = sqlx::query(keep).bind(reserve.tag.as_str()).bind(length);
    query.execute(&mut **transaction).await?;
    Ok(())
}
