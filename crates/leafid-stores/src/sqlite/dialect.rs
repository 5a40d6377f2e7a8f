//! The SQL dialect of SQLite, and the meaning of its errors, through rusqlite.

use std::future::{Future, ready};

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Error, params_from_iter};

use crate::schema::{OwnTable, Shape};
use crate::sql::{Dialect, Row, Value};
use crate::sql_error::{CallError, SqlError, SqlErrorKind};

pub(crate) struct SqliteRow(Vec<Cell>);

impl Row for SqliteRow {
    fn number_or_null(&self, index: usize) -> Result<Option<i64>, SqlError> {
        match self.0.get(index) {
            Some(Cell::Integer(number)) => Ok(Some(*number)),
            Some(Cell::Null) => Ok(None),
            other => Err(wrong_type(index, other)),
        }
    }

    fn text_or_null(&self, index: usize) -> Result<Option<String>, SqlError> {
        match self.0.get(index) {
            Some(Cell::Text(text)) => Ok(Some(text.clone())),
            Some(Cell::Null) => Ok(None),
            other => Err(wrong_type(index, other)),
        }
    }
}

fn wrong_type(index: usize, found: Option<&Cell>) -> SqlError {
    let found = found.map(Cell::data_type);
    SqlError::new(
        SqlErrorKind::Column,
        format!("column {index} is of the type {found:?}"),
    )
}

impl From<Error> for SqlError {
    fn from(error: Error) -> Self {
        let (kind, code) = match &error {
            Error::SqliteFailure(failure, _) => (
                SqlErrorKind::Database,
                Some(failure.extended_code.to_string()),
            ),
            Error::InvalidColumnType(..)
            | Error::InvalidColumnIndex(_)
            | Error::IntegralValueOutOfRange(..)
            | Error::FromSqlConversionFailure(..) => (SqlErrorKind::Column, None),
            _ => (SqlErrorKind::Driver, None),
        };
        Self::new(kind, error).with_code(code)
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Sql(error.into())
    }
}

fn cells(values: &[Value]) -> impl Iterator<Item = Cell> {
    values.iter().map(|value| match value {
        Value::Number(number) => number.map_or(Cell::Null, Cell::Integer),
        Value::Text(text) => text.clone().map_or(Cell::Null, Cell::Text),
        #[cfg(feature = "mysql")]
        Value::Bytes(bytes) => Cell::Blob(bytes.clone()),
    })
}

fn execute(connection: &Connection, sql: &str, values: &[Value]) -> Result<u64, SqlError> {
    let changed = connection.execute(sql, params_from_iter(cells(values)))?;
    Ok(u64::try_from(changed).unwrap_or(u64::MAX))
}

fn rows(connection: &Connection, sql: &str, values: &[Value]) -> Result<Vec<SqliteRow>, SqlError> {
    let mut statement = connection.prepare(sql)?;
    let len = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..len).map(|index| row.get(index)).collect();
    let rows = statement.query_map(params_from_iter(cells(values)), row)?;
    let rows: Result<Vec<Vec<Cell>>, Error> = rows.collect();
    Ok(rows?.into_iter().map(SqliteRow).collect())
}

impl Dialect for Connection {
    type Row = SqliteRow;

    const OR_IGNORE: &'static str = " ON CONFLICT DO NOTHING";
    const OR_REPLACE_OWN: &'static str = " ON CONFLICT (tag) DO UPDATE SET \
        policy = excluded.policy, step_max = excluded.step_max, \
        cover_seconds = excluded.cover_seconds, id_limit = excluded.id_limit, \
        kind = excluded.kind";
    const GREATEST: &'static str = "max";
    const FOR_UPDATE: &'static str = "";
    const TOUCH_TAG: &'static str = ", update_time = CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    const TOUCH_WORKER: &'static str = ", updated = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
    const IS_NAMED: &'static str = "biz_tag = ?";
    const LAYOUT: &'static str = "layout";
    const LEASE_COLUMNS: &'static str = "worker, epoch, holder, address, until_ms";

    fn execute(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<u64, SqlError>> + Send {
        ready(execute(self, sql, values))
    }

    fn rows(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<SqliteRow>, SqlError>> + Send {
        ready(rows(self, sql, values))
    }

    fn number(column: &str) -> String {
        column.to_owned()
    }

    /// The row without a name stands for all tags that a restored file did not know, save for
    /// periods that begin after the hour in its `segment_max`.
    fn deleted(_: OwnTable, begins: u64) -> String {
        format!(
            "SELECT count(*) FILTER (WHERE tag <> ''), max(deleted_max_id), max(kind), max(format) \
            FROM leafid_tag WHERE tag = ? OR tag = '' AND coalesce({begins} <= segment_max, true)"
        )
    }

    fn select(_: Shape) -> String {
        "SELECT a.biz_tag, a.max_id, a.step, a.description, a.update_time, t.policy, t.step_max, \
            t.cover_seconds, t.id_limit, t.kind, t.deleted_max_id, t.segment_max, t.format \
            FROM leaf_alloc a LEFT JOIN leafid_tag t ON t.tag = a.biz_tag"
            .to_owned()
    }

    fn sort_key(_: Shape, after: &str) -> (&'static str, Value) {
        ("a.biz_tag", after.into())
    }

    /// A file that may not be read or written, or is not a database.
    fn is_misconfigured(error: &SqlError) -> bool {
        error
            .number()
            .is_some_and(|code| matches!(code & 0xff, 3 | 8 | 14 | 26))
    }

    /// A file that is locked for too long is as bad as one that is missing: nothing is a conflict.
    fn remedy(error: &SqlError) -> Option<&'static str> {
        let code = error.number()?;
        // SQLITE_IOERR_SHMSIZE: the shared memory, which is a file, cannot grow.
        if code == 4874 {
            return Some("the disk is full");
        }
        Some(match code & 0xff {
            3 => "access to the file is denied",
            5 | 6 => "another process has held the file's lock for too long",
            8 => "the file may not be written",
            10 => "reading or writing the file failed",
            11 => "the file is damaged: restore it, then raise its tags",
            13 => "the disk is full",
            14 => "the file cannot be opened: check the permissions of its folder",
            26 => "the file is not a SQLite database",
            _ => return None,
        })
    }
}
