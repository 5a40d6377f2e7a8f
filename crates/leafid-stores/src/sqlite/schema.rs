//! Creates the tables in a new SQLite file: all together, and never again in a file of ours from
//! which they were removed.

use leafid::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use crate::schema::{FoundTables, KEYS, OwnTable};
use crate::sql_error::CallError;

const TABLE_SQL: [&str; 7] = [
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
        segment_max INTEGER,
        format TEXT
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS leafid_worker (
        pool TEXT NOT NULL,
        worker INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        holder TEXT NOT NULL,
        address TEXT NOT NULL,
        until_ms INTEGER NOT NULL,
        updated TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        PRIMARY KEY (pool, worker)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS leafid_pool (
        pool TEXT NOT NULL PRIMARY KEY,
        layout TEXT NOT NULL
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS leafid_audit (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        server TEXT NOT NULL,
        token TEXT NOT NULL,
        address TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        old_value TEXT NOT NULL,
        new_value TEXT NOT NULL
    )",
    "CREATE TABLE IF NOT EXISTS leafid_file (identity TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS leafid_generation (generation INTEGER NOT NULL)",
];

/// The one row of each table that has only one.
const ROW_SQL: [&str; 2] = [
    "INSERT INTO leafid_file SELECT lower(hex(randomblob(16))) \
        WHERE NOT EXISTS (SELECT 1 FROM leafid_file)",
    "INSERT INTO leafid_generation SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM leafid_generation)",
];

/// Creates the missing tables, and returns which ones existed.
pub(super) fn create(connection: &mut Connection) -> Result<(FoundTables, OwnTable), CallError> {
    let select = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'leaf%'";
    let names = names(connection, select)?;
    let found = FoundTables::of(&names);
    let own = own_table(connection)?;
    let is_there = |table| names.iter().any(|name| name == table);
    if is_there("leafid_file") {
        check_whole(connection, found)?;
        let has_later = is_there("leafid_generation") && is_there("leafid_audit");
        if has_later && own == OwnTable::WHOLE {
            return Ok((found, own));
        }
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for sql in TABLE_SQL.into_iter().chain(ROW_SQL) {
        transaction.execute_batch(sql)?;
    }
    // Another process may have been faster.
    for (column, _) in own_table(&transaction)?.missing() {
        let kind = match column {
            "kind" | "format" => "TEXT",
            _ => "INTEGER",
        };
        let add = format!("ALTER TABLE leafid_tag ADD COLUMN {column} {kind}");
        transaction.execute_batch(&add)?;
    }
    transaction.commit()?;
    Ok((found, own))
}

/// Refuses a file of ours from which a table was removed, with all that it held: a new one would
/// repeat ids. A replacement table without its key is refused too, because it could hold two rows
/// for one tag.
fn check_whole(connection: &Connection, found: FoundTables) -> Result<(), CallError> {
    for (table, _) in KEYS {
        let what = if found.is_missing(table) {
            "was removed"
        } else if !has_key(connection, table)? {
            "has no primary key"
        } else {
            continue;
        };
        let message = format!(
            "the table {table} {what}: restore it as it was, or take a copy of the file with \
            leafid_stores::restore"
        );
        let cause = "a new table would give the same ids again";
        return Err(StoreError::unavailable(message, cause).into());
    }
    Ok(())
}

fn has_key(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let select = "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE pk > 0)";
    connection.query_row(select, [table], |row| row.get(0))
}

pub(super) fn own_table(connection: &Connection) -> rusqlite::Result<OwnTable> {
    let columns = names(
        connection,
        "SELECT name FROM pragma_table_info('leafid_tag')",
    )?;
    Ok(OwnTable::of(&columns))
}

fn names(connection: &Connection, select: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(select)?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}
