//! `SqlError`: an error of a SQL driver, in terms that fit every database. `CallError`: an error
//! within a call to a store.

use std::error::Error;
use std::fmt;

use leafid::store::StoreError;

/// An error within a call: a known meaning, or a database error that still needs one.
#[derive(Debug)]
pub(crate) enum CallError {
    Store(StoreError),
    Sql(SqlError),
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SqlError> for CallError {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

#[cfg(feature = "_sqlx")]
impl From<sqlx::Error> for CallError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error.into())
    }
}

impl CallError {
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::Store(StoreError::Unsupported {
            message: message.into(),
        })
    }

    /// The error of work that needs our own table, if it is missing.
    pub(crate) fn no_own_table(what: &str) -> Self {
        Self::unsupported(format!(
            "cannot {what} without the table leafid_tag: call leafid_stores::init"
        ))
    }
}

/// An error of a database or its driver. Its text is the driver's own.
#[derive(Debug)]
pub(crate) struct SqlError {
    kind: SqlErrorKind,
    code: Option<String>,
    source: Box<dyn Error + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlErrorKind {
    /// The database refused the statement.
    Database,
    #[cfg(feature = "_sqlx")]
    Connection,
    #[cfg(feature = "_sqlx")]
    Tls,
    Column,
    Driver,
}

impl SqlError {
    pub(crate) fn new(kind: SqlErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            code: None,
            source: source.into(),
        }
    }

    pub(crate) fn with_code(self, code: Option<String>) -> Self {
        Self { code, ..self }
    }

    #[cfg(feature = "_sqlx")]
    pub(crate) const fn kind(&self) -> SqlErrorKind {
        self.kind
    }

    /// MySQL's number, PostgreSQL's SQLSTATE or SQLite's extended result code.
    pub(crate) fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The same where it is a number.
    #[cfg(any(feature = "mysql", feature = "sqlite"))]
    pub(crate) fn number(&self) -> Option<u32> {
        self.code()?.parse().ok()
    }

    /// Its meaning, the same for every database.
    pub(crate) const fn meaning(&self) -> &'static str {
        match self.kind {
            SqlErrorKind::Database => "the database refused",
            #[cfg(feature = "_sqlx")]
            SqlErrorKind::Connection => {
                "the connection failed; whether the statement was executed is unknown"
            }
            #[cfg(feature = "_sqlx")]
            SqlErrorKind::Tls => "TLS failed: check ssl-mode and the certificates",
            SqlErrorKind::Column => "a column is missing or of another type than Leaf's",
            SqlErrorKind::Driver => "the driver failed",
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for SqlError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}
