//! Creating, changing and deleting tags: each one transaction.

use leafid::Tag;
use leafid::store::{StoreError, TagPatch, TagRecord, TagSpec};
use sqlx::{AssertSqlSafe, PgConnection, Postgres as Dialect, Transaction};

use super::{select, unnamed, unnamed_scalar};
use crate::row::{KEEP_OWN, OwnColumns, StoredRow, check_started, first_max_id};
use crate::schema::OwnTable;
use crate::store::CallError;

/// Locks the row until the end of the transaction and answers its max id.
async fn lock(connection: &mut PgConnection, tag: &Tag) -> Result<i64, CallError> {
    let select = "SELECT max_id::bigint FROM leaf_alloc WHERE biz_tag = $1 FOR UPDATE";
    let max_id = unnamed_scalar(select)
        .bind(tag.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(max_id.ok_or(StoreError::UnknownTag)?)
}

async fn row_of(
    transaction: &mut Transaction<'_, Dialect>,
    own_table: OwnTable,
    tag: &Tag,
) -> Result<StoredRow, CallError> {
    let sql = format!("{} WHERE a.biz_tag = $1", select(own_table));
    let query = unnamed(AssertSqlSafe(sql)).bind(tag.as_str());
    let row = query.fetch_optional(&mut **transaction).await?;
    Ok(StoredRow::read(&row.ok_or(StoreError::UnknownTag)?)?)
}

pub(super) async fn create_in(
    transaction: &mut Transaction<'_, Dialect>,
    own_table: OwnTable,
    spec: &TagSpec,
    own: &OwnColumns,
) -> Result<TagRecord, CallError> {
    let mut max_id = first_max_id(spec)?;
    let step = i64::from(spec.settings.step);
    let insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step, description) \
        VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let query = unnamed(insert)
        .bind(spec.tag.as_str())
        .bind(max_id)
        .bind(step);
    let done = query
        .bind(&spec.description)
        .execute(&mut **transaction)
        .await?;
    if done.rows_affected() == 0 {
        return Err(StoreError::TagExists.into());
    }
    // Only now: who deletes the tag holds the lock that the insert has waited for.
    if own_table.exists {
        let select = "SELECT deleted_max_id FROM leafid_tag WHERE tag = $1";
        let query = unnamed_scalar(select).bind(spec.tag.as_str());
        let deleted: Option<Option<i64>> = query.fetch_optional(&mut **transaction).await?;
        if deleted.is_some() || !own.is_empty() {
            write_own(transaction, &spec.tag, own).await?;
        }
        if let Some(deleted) = deleted.flatten().filter(|deleted| *deleted > max_id) {
            let update = "UPDATE leaf_alloc SET max_id = $1 WHERE biz_tag = $2";
            let query = unnamed(update).bind(deleted).bind(spec.tag.as_str());
            query.execute(&mut **transaction).await?;
            max_id = deleted;
        }
    }
    let row = row_of(transaction, own_table, &spec.tag).await?;
    check_started(&row, max_id)?;
    Ok(row.record()?.ok_or(StoreError::UnknownTag)?)
}

pub(super) async fn update_in(
    transaction: &mut Transaction<'_, Dialect>,
    own_table: OwnTable,
    tag: &Tag,
    patch: &TagPatch,
) -> Result<TagRecord, CallError> {
    lock(transaction, tag).await?;
    if !own_table.exists && (patch.policy.is_some() || patch.limit.is_some()) {
        return Err(CallError::no_own_table(KEEP_OWN));
    }
    let mut row = row_of(transaction, own_table, tag).await?;
    let before = row.clone();
    row.patch(patch);
    if (row.step, &row.description) != (before.step, &before.description) {
        let update = "UPDATE leaf_alloc SET step = $1, description = $2, update_time = now() \
            WHERE biz_tag = $3";
        let query = unnamed(update).bind(row.step).bind(&row.description);
        query.bind(tag.as_str()).execute(&mut **transaction).await?;
    }
    if row.own != before.own {
        write_own(transaction, tag, &row.own).await?;
    }
    let row = row_of(transaction, own_table, tag).await?;
    Ok(row.record()?.ok_or(StoreError::UnknownTag)?)
}

pub(super) async fn delete_in(
    transaction: &mut Transaction<'_, Dialect>,
    tag: &Tag,
) -> Result<(), CallError> {
    let max_id = lock(transaction, tag).await?;
    write_own(transaction, tag, &OwnColumns::default()).await?;
    let remember = "UPDATE leafid_tag \
        SET deleted_max_id = GREATEST(COALESCE(deleted_max_id, 1), $1) WHERE tag = $2";
    let query = unnamed(remember).bind(max_id).bind(tag.as_str());
    query.execute(&mut **transaction).await?;
    let query = unnamed("DELETE FROM leaf_alloc WHERE biz_tag = $1").bind(tag.as_str());
    query.execute(&mut **transaction).await?;
    Ok(())
}

async fn write_own(
    transaction: &mut Transaction<'_, Dialect>,
    tag: &Tag,
    own: &OwnColumns,
) -> Result<(), CallError> {
    let upsert = "INSERT INTO leafid_tag (tag, policy, step_max, cover_seconds, id_limit, kind) \
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tag) DO UPDATE SET policy = excluded.policy, \
        step_max = excluded.step_max, cover_seconds = excluded.cover_seconds, \
        id_limit = excluded.id_limit, kind = excluded.kind";
    let query = unnamed(upsert)
        .bind(tag.as_str())
        .bind(&own.policy)
        .bind(own.step_max);
    let query = query
        .bind(own.cover_seconds)
        .bind(own.id_limit)
        .bind(&own.kind);
    query.execute(&mut **transaction).await?;
    Ok(())
}
