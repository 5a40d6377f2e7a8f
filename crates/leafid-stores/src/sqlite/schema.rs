//! The tables in a SQLite file: made together in a new one, and never anew in one of ours from
//! which they were removed.

use leafid::store::StoreError;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use super::{audit, leases};
use crate::schema::{FoundTables, KEYS, OwnTable};
use crate::store::CallError;

const TABLE_SQL: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS leaf_alloc (
        biz_tag TEXT NOT NULL PRIMARY KEY,
        max_id INTEGER NOT NULL DEFAULT 1,
        step INTEGER NOT NULL,
        description TEXT,
        update_time INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS leafid_tag (
        tag TEXT NOT NULL PRIMARY KEY,
        policy TEXT,
        step_max INTEGER,
        cover_seconds INTEGER,
        id_limit INTEGER,
        kind TEXT,
        deleted_max_id INTEGER,
        segment_max INTEGER
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS leafid_file (identity TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS leafid_generation (generation INTEGER NOT NULL)",
];

/// The one row of each table that has no other.
const ROW_SQL: [&str; 2] = [
    "INSERT INTO leafid_file SELECT lower(hex(randomblob(16))) \
        WHERE NOT EXISTS (SELECT 1 FROM leafid_file)",
    "INSERT INTO leafid_generation SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM leafid_generation)",
];

/// Creates what is missing of the tables, and answers what there was.
pub(super) async fn create(
    connection: &mut SqliteConnection,
) -> Result<(FoundTables, OwnTable), CallError> {
    let select = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'leaf%'";
    let names: Vec<String> = sqlx::query_scalar(select)
        .fetch_all(&mut *connection)
        .await?;
    let found = FoundTables::of(&names);
    let own = own_table(connection).await?;
    let is_there = |table| names.iter().any(|name| name == table);
    if is_there("leafid_file") {
        check_whole(connection, found).await?;
        let has_later = is_there("leafid_generation") && is_there("leafid_audit");
        if has_later && own == OwnTable::WHOLE {
            return Ok((found, own));
        }
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let tables = TABLE_SQL.into_iter().chain(leases::TABLE_SQL);
    for table in tables.chain([audit::TABLE_SQL]) {
        sqlx::raw_sql(table).execute(&mut *transaction).await?;
    }
    for row in ROW_SQL {
        sqlx::raw_sql(row).execute(&mut *transaction).await?;
    }
    // Another process may have been faster.
    for (column, _) in own_table(&mut transaction).await?.missing() {
        let kind = match column {
            "kind" => "TEXT",
            _ => "INTEGER",
        };
        let add = format!("ALTER TABLE leafid_tag ADD COLUMN {column} {kind}");
        sqlx::raw_sql(AssertSqlSafe(add))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok((found, own))
}

/// Refuses a file of ours from which a table was removed, with all that was known by it: a new one
/// would give the same ids again. So it does a table that was put in place without its key, where
/// two rows may come to be for one tag.
async fn check_whole(
    connection: &mut SqliteConnection,
    found: FoundTables,
) -> Result<(), CallError> {
    for (table, _) in KEYS {
        let what = if found.is_missing(table) {
            "was removed"
        } else if !has_key(connection, table).await? {
            "has no primary key"
        } else {
            continue;
        };
        let message = format!(
            "the table {table} {what}: put it back as it was, or take a copy of the file with \
            `leafid store restore`"
        );
        let cause = "a new table would give the same ids again";
        return Err(StoreError::unavailable(message, cause).into());
    }
    Ok(())
}

async fn has_key(connection: &mut SqliteConnection, table: &str) -> Result<bool, CallError> {
    let select = "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE pk > 0)";
    let query = sqlx::query_scalar(select).bind(table);
    Ok(query.fetch_one(connection).await?)
}

async fn own_table(connection: &mut SqliteConnection) -> Result<OwnTable, sqlx::Error> {
    let select = "SELECT name FROM pragma_table_info('leafid_tag')";
    let columns: Vec<String> = sqlx::query_scalar(select).fetch_all(connection).await?;
    Ok(OwnTable::of(&columns))
}
