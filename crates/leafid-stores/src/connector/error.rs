//! `ConnectError`: why no connection to a store was made.

use std::io;

use leafid::ErrorKind;
use leafid::store::StoreError;

use crate::url::UrlError;

/// Why no connection to a store was made.
///
/// # Example
///
/// ```
/// use leafid_stores::{ConnectError, blocking};
///
/// let error = blocking::connect("ids.db").unwrap_err();
/// assert!(matches!(error, ConnectError::Url(_)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL cannot be read.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The store does not answer, or was refused:
    /// [`weak_store`](leafid::store::StoreError::weak_store) says which of its settings could
    /// lose a reservation.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no tokio runtime here.
    #[error(
        "a connection to a store needs a tokio runtime: call this inside one, or use \
        leafid_stores::blocking::connect"
    )]
    NoRuntime,
    /// The pool that the connector was made from names no database.
    #[error("the pool names no database: set one with MySqlConnectOptions::database")]
    NoDatabase,
    /// The system gave no thread for the driver.
    #[error("cannot start the thread that supplies ids")]
    Thread(#[source] io::Error),
}

impl ConnectError {
    /// What to do about it.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::ErrorKind;
    /// use leafid_stores::blocking;
    ///
    /// let error = blocking::connect("postgres://leaf@127.0.0.1:1/leaf").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::StoreDown);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Url(_) | Self::NoRuntime | Self::NoDatabase => ErrorKind::InvalidRequest,
            Self::Store(error) => error.kind(),
            Self::Thread(_) => ErrorKind::Misconfigured,
        }
    }
}
