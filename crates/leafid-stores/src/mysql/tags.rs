//! Creating, changing and deleting tags: each one transaction.

use leafid::Tag;
use leafid::store::{StoreError, TagPatch, TagRecord, TagSpec};
use sqlx::{AssertSqlSafe, MySql, MySqlConnection, Row, Transaction};

use super::connect;
use super::schema::Shape;
use super::{NAME_BYTES, known_charset, select};
use crate::row::{KEEP_OWN, OwnColumns, StoredRow, check_started, first_max_id};
use crate::store::CallError;

pub(super) async fn create_in(
    transaction: &mut Transaction<'_, MySql>,
    shape: &Shape,
    spec: &TagSpec,
    own: &OwnColumns,
) -> Result<TagRecord, CallError> {
    let mut max_id = first_max_id(spec)?;
    insert(transaction, shape, spec, max_id).await?;
    // Only now: who deletes the tag holds the lock that the insert has waited for.
    if shape.own.exists {
        let select = "SELECT COUNT(*), CAST(MAX(deleted_max_id) AS SIGNED) FROM leafid_tag \
            WHERE tag = ?";
        let query = sqlx::query_as(select).bind(spec.tag.as_str());
        let (rows, deleted): (i64, Option<i64>) = query.fetch_one(&mut **transaction).await?;
        // A row of ours can be there without having been deleted: somebody removed Leaf's by hand.
        // Its settings and its kind are those of the former tag.
        if rows > 0 || !own.is_empty() {
            write_own(transaction, &spec.tag, own).await?;
        }
        if deleted > Some(max_id) {
            max_id = deleted.unwrap_or(max_id);
            let update = "UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = ?";
            let query = sqlx::query(update).bind(max_id).bind(spec.tag.as_str());
            query.execute(&mut **transaction).await?;
        }
    }
    match row_of(transaction, shape, &spec.tag).await {
        // Without strict mode the server stores what it can of a name, and says nothing.
        Err(CallError::Store(StoreError::UnknownTag)) => Err(cannot_hold(&spec.tag)),
        row => {
            let row = row?;
            check_started(&row, max_id)?;
            Ok(row.record()?.ok_or(StoreError::UnknownTag)?)
        }
    }
}

async fn insert(
    transaction: &mut Transaction<'_, MySql>,
    shape: &Shape,
    spec: &TagSpec,
    max_id: i64,
) -> Result<(), CallError> {
    let description = shape.description.trim_start_matches("a.");
    let sql = format!(
        "INSERT INTO leaf_alloc (biz_tag, max_id, step, {description}) VALUES (?, ?, ?, ?)"
    );
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(spec.tag.as_str())
        .bind(max_id);
    let query = query.bind(spec.settings.step).bind(&spec.description);
    let Err(error) = query.execute(&mut **transaction).await else {
        return Ok(());
    };
    match connect::number(&error) {
        Some(1062) => match row_of(transaction, shape, &spec.tag).await {
            Ok(_) => Err(StoreError::TagExists.into()),
            Err(CallError::Store(StoreError::UnknownTag)) => Err(taken_for_another(&spec.tag)),
            Err(fault) => Err(fault),
        },
        // Incorrect string value; data too long; cannot convert.
        Some(1366 | 1406 | 3988) => Err(cannot_hold(&spec.tag)),
        _ => Err(error.into()),
    }
}

fn taken_for_another(tag: &Tag) -> CallError {
    CallError::unsupported(format!(
        "cannot create tag {:?}: the collation of leaf_alloc.biz_tag takes it for a tag that exists \
        under another spelling; choose another name, or give the column the collation utf8mb4_bin",
        tag.as_str()
    ))
}

fn cannot_hold(tag: &Tag) -> CallError {
    CallError::unsupported(format!(
        "cannot create tag {:?}: the columns of leaf_alloc cannot hold its name or description; \
        shorten them, or give the columns the character set utf8mb4",
        tag.as_str()
    ))
}

pub(super) async fn update_in(
    transaction: &mut Transaction<'_, MySql>,
    shape: &Shape,
    tag: &Tag,
    patch: &TagPatch,
) -> Result<TagRecord, CallError> {
    lock(transaction, tag).await?;
    if !shape.own.exists && (patch.policy.is_some() || patch.limit.is_some()) {
        return Err(CallError::no_own_table(KEEP_OWN));
    }
    let mut row = row_of(transaction, shape, tag).await?;
    let before = row.clone();
    row.patch(patch);
    if (row.step, &row.description) != (before.step, &before.description) {
        let sql = format!(
            "UPDATE leaf_alloc a SET a.step = ?, {} = ? WHERE a.biz_tag = ? AND {NAME_BYTES} = ?",
            shape.description
        );
        let query = sqlx::query(AssertSqlSafe(sql))
            .bind(row.step)
            .bind(&row.description);
        let query = query.bind(tag.as_str()).bind(tag.as_str().as_bytes());
        query.execute(&mut **transaction).await?;
    }
    if row.own != before.own {
        write_own(transaction, tag, &row.own).await?;
    }
    Ok(row_of(transaction, shape, tag)
        .await?
        .record()?
        .ok_or(StoreError::UnknownTag)?)
}

pub(super) async fn delete_in(
    transaction: &mut Transaction<'_, MySql>,
    tag: &Tag,
) -> Result<(), CallError> {
    let max_id = lock(transaction, tag).await?;
    write_own(transaction, tag, &OwnColumns::default()).await?;
    let remember = "UPDATE leafid_tag \
        SET deleted_max_id = GREATEST(COALESCE(deleted_max_id, 1), ?) WHERE tag = ?";
    let query = sqlx::query(remember).bind(max_id).bind(tag.as_str());
    query.execute(&mut **transaction).await?;
    let delete = "DELETE FROM leaf_alloc WHERE biz_tag = ? \
        AND CAST(CONVERT(biz_tag USING utf8mb4) AS BINARY) = ?";
    let query = sqlx::query(delete)
        .bind(tag.as_str())
        .bind(tag.as_str().as_bytes());
    query.execute(&mut **transaction).await?;
    Ok(())
}

async fn write_own(
    transaction: &mut Transaction<'_, MySql>,
    tag: &Tag,
    own: &OwnColumns,
) -> Result<(), CallError> {
    let upsert = "INSERT INTO leafid_tag (tag, policy, step_max, cover_seconds, id_limit, kind) \
        VALUES (?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE policy = VALUES(policy), \
        step_max = VALUES(step_max), cover_seconds = VALUES(cover_seconds), \
        id_limit = VALUES(id_limit), kind = VALUES(kind)";
    let query = sqlx::query(upsert)
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

/// Locks the row until the end of the transaction and answers its max id.
async fn lock(connection: &mut MySqlConnection, tag: &Tag) -> Result<i64, CallError> {
    let select = "SELECT CAST(a.max_id AS SIGNED) FROM leaf_alloc a WHERE a.biz_tag = ? \
        AND CAST(CONVERT(a.biz_tag USING utf8mb4) AS BINARY) = ? FOR UPDATE";
    let query = sqlx::query(select)
        .bind(tag.as_str())
        .bind(tag.as_str().as_bytes());
    let row = known_charset(query.fetch_optional(connection).await)?;
    Ok(row.ok_or(StoreError::UnknownTag)?.try_get(0)?)
}

async fn row_of(
    transaction: &mut Transaction<'_, MySql>,
    shape: &Shape,
    tag: &Tag,
) -> Result<StoredRow, CallError> {
    let sql = format!("{} WHERE a.biz_tag = ? AND {NAME_BYTES} = ?", select(shape));
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(tag.as_str())
        .bind(tag.as_str().as_bytes());
    let row = known_charset(query.fetch_optional(&mut **transaction).await)?;
    Ok(StoredRow::read(&row.ok_or(StoreError::UnknownTag)?)?)
}
