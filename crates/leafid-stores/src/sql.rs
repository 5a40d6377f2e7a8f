//! The abstraction of a SQL database over its driver: statements with values, rows, errors, and the
//! dialect.

#[cfg(feature = "_sqlx")]
mod driver;

#[cfg(feature = "_sqlx")]
pub(crate) use driver::bound;

use std::future::Future;

use leafid::Tag;
use leafid::store::StoreError;

use crate::schema::{OwnTable, Shape};
use crate::sql_error::{CallError, SqlError, SqlErrorKind};

/// The value of a `?` in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(Option<i64>),
    Text(Option<String>),
    #[cfg(feature = "mysql")]
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

/// A row of a result. A column of another type is an error.
pub(crate) trait Row: Send + Sync {
    fn number_or_null(&self, index: usize) -> Result<Option<i64>, SqlError>;

    fn text_or_null(&self, index: usize) -> Result<Option<String>, SqlError>;

    fn number(&self, index: usize) -> Result<i64, SqlError> {
        self.number_or_null(index)?.ok_or_else(|| is_null(index))
    }

    fn text(&self, index: usize) -> Result<String, SqlError> {
        self.text_or_null(index)?.ok_or_else(|| is_null(index))
    }
}

fn is_null(index: usize) -> SqlError {
    SqlError::new(SqlErrorKind::Column, format!("column {index} is null"))
}

/// A connection to one kind of database, or a transaction on it, and its SQL dialect.
pub(crate) trait Dialect: Send {
    type Row: Row;

    /// Ends an `INSERT` that changes nothing if a row has its key. If it is empty, the statement
    /// fails instead; see [`insert_error`](Self::insert_error).
    const OR_IGNORE: &'static str;
    /// Ends an `INSERT` into `leafid_tag` that replaces a row with its key.
    const OR_REPLACE_OWN: &'static str;
    /// The function that answers the largest of its arguments.
    const GREATEST: &'static str;
    /// Ends a `SELECT` that locks its rows until the transaction ends.
    const FOR_UPDATE: &'static str;
    /// Sets the time of a change in `leaf_alloc`, if the database does not do it.
    const TOUCH_TAG: &'static str;
    /// The same for `leafid_worker`.
    const TOUCH_WORKER: &'static str;
    /// Whether the row of a tag is the one with its name, byte for byte. Its values:
    /// [`name`](Self::name).
    const IS_NAMED: &'static str;
    /// The column `layout` of `leafid_pool`.
    const LAYOUT: &'static str;
    /// The columns `worker`, `epoch`, `holder`, `address`, `until_ms` of `leafid_worker`.
    const LEASE_COLUMNS: &'static str;

    /// Runs a statement, and returns how many rows it changed.
    fn execute(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<u64, SqlError>> + Send;

    /// Runs a statement, or without values any number of them, and returns the rows.
    fn rows(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Self::Row>, SqlError>> + Send;

    /// The first row, if there is one.
    fn row(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<Option<Self::Row>, SqlError>> + Send {
        let rows = self.rows(sql, values);
        async { Ok(rows.await?.into_iter().next()) }
    }

    /// Reads a whole number of 64 bits from a column.
    fn number(column: &str) -> String;

    /// Selects how many rows `leafid_tag` has for a tag, up to where a former tag of this name
    /// went, its kind and its format. `begins` is the hour of a calendar counter's period, or 0.
    fn deleted(own: OwnTable, begins: u64) -> String;

    /// Selects the columns of a `StoredRow`, up to and with the `FROM`.
    fn select(shape: Shape) -> String;

    /// The values of [`IS_NAMED`](Self::IS_NAMED).
    fn name(tag: &Tag) -> Vec<Value> {
        vec![tag.as_str().into()]
    }

    /// Sorts tags by the bytes of their names, and the name to compare with it.
    fn sort_key(shape: Shape, after: &str) -> (&'static str, Value);

    /// The meaning of an error of an `INSERT`.
    fn insert_error(_: &SqlError) -> InsertError {
        InsertError::Other
    }

    /// Whether an error says that a column cannot hold the requested name.
    fn is_unknown_name(_: &SqlError) -> bool {
        false
    }

    /// Whether an error says that a table does not exist.
    fn is_no_table(_: &SqlError) -> bool {
        false
    }

    /// Whether an error says that the user lacks a permission. A user without any permission on a
    /// table is not told whether it exists.
    fn is_denied(_: &SqlError) -> bool {
        false
    }

    /// Whether an error says that another transaction was in the way and nothing was changed.
    fn is_conflict(_: &SqlError) -> bool {
        false
    }

    /// Whether an error says that the database has no connections left for us.
    fn is_full(_: &SqlError) -> bool {
        false
    }

    /// Whether an error persists until a password, a permission or a table is changed.
    fn is_misconfigured(_: &SqlError) -> bool {
        false
    }

    /// The meaning of an error and what to do, if it is known.
    fn remedy(error: &SqlError) -> Option<&'static str>;
}

/// The store cannot be used now, or not before its set-up is changed.
pub(crate) fn failed<D: Dialect>(message: String, error: SqlError) -> StoreError {
    match D::is_misconfigured(&error) {
        true => StoreError::misconfigured(message, error),
        false => StoreError::unavailable(message, error),
    }
}

/// Why an `INSERT` failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InsertError {
    /// A row with its key exists.
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "others answer 0 rows")
    )]
    Exists,
    /// A column cannot hold its value.
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "others take any text")
    )]
    DoesNotFit,
    Other,
}

/// Work on one connection, the same for every database.
pub(crate) trait Work: Send + 'static {
    type Answer: Send + 'static;

    /// What it needs to know of our own table before it begins.
    #[cfg_attr(
        not(feature = "_sqlx"),
        allow(dead_code, reason = "SQLite has all tables")
    )]
    fn need(&self) -> Need {
        Need::Nothing
    }

    fn run<D: Dialect>(
        self,
        connection: &mut D,
        shape: Shape,
    ) -> impl Future<Output = Result<Self::Answer, CallError>> + Send;
}

/// What work needs to know of our own table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "_sqlx"),
    allow(dead_code, reason = "SQLite has all tables")
)]
pub(crate) enum Need {
    Nothing,
    /// Whether it exists by now.
    Look,
    /// The same, and that it is not merely hidden from the user.
    Sight,
    /// The table itself, for this purpose.
    Table(&'static str),
}
