//! Statements, rows and errors of MySQL and PostgreSQL, through sqlx.

use sqlx::query::Query;
use sqlx::{ColumnIndex, Database, Decode, Encode, Type};

use super::{Row, Value};
use crate::sql_error::{SqlError, SqlErrorKind};

impl From<sqlx::Error> for SqlError {
    fn from(error: sqlx::Error) -> Self {
        let kind = match &error {
            sqlx::Error::Database(_) => SqlErrorKind::Database,
            sqlx::Error::Io(_) => SqlErrorKind::Connection,
            sqlx::Error::Tls(_) => SqlErrorKind::Tls,
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::Decode(_) => SqlErrorKind::Column,
            _ => SqlErrorKind::Driver,
        };
        let code = code_of(&error);
        Self::new(kind, error).with_code(code)
    }
}

fn code_of(error: &sqlx::Error) -> Option<String> {
    let error = error.as_database_error()?;
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return Some(error.number().to_string());
    }
    error.code().map(std::borrow::Cow::into_owned)
}

/// A statement with its values, as the driver wants it.
pub(crate) fn bound<'q, D>(
    query: Query<'q, D, D::Arguments>,
    values: &'q [Value],
) -> Query<'q, D, D::Arguments>
where
    D: Database,
    Option<i64>: Encode<'q, D> + Type<D>,
    Option<&'q str>: Encode<'q, D> + Type<D>,
    &'q [u8]: Encode<'q, D> + Type<D>,
{
    values.iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.as_deref()),
        #[cfg(feature = "mysql")]
        Value::Bytes(bytes) => query.bind(bytes.as_slice()),
    })
}

fn get<'r, R, T>(row: &'r R, index: usize) -> Result<T, SqlError>
where
    R: sqlx::Row,
    usize: ColumnIndex<R>,
    T: Decode<'r, R::Database> + Type<R::Database>,
{
    Ok(row.try_get(index)?)
}

macro_rules! row {
    ($row:ty) => {
        impl Row for $row {
            fn number_or_null(&self, index: usize) -> Result<Option<i64>, SqlError> {
                get(self, index)
            }

            fn text_or_null(&self, index: usize) -> Result<Option<String>, SqlError> {
                get(self, index)
            }
        }
    };
}

#[cfg(feature = "mysql")]
row!(sqlx::mysql::MySqlRow);
#[cfg(feature = "postgres")]
row!(sqlx::postgres::PgRow);
