//! A copy of a SQLite store, made while servers use it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use leafid::store::StoreError;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteConnectOptions;

use super::{Session, Sqlite};
use crate::private;
use crate::store::{Backend as _, CallError};

impl Sqlite {
    /// Copies the store to `target`, durably, and answers how many tags are in it.
    pub(crate) async fn backup(&self, target: &Path) -> Result<u64, CallError> {
        if !self.file.path().exists() {
            let path = self.file.path().display();
            return Err(CallError::unsupported(format!("there is no file {path}")));
        }
        let mut session = self.connect().await?;
        // Nobody else's copy is overwritten.
        let failed = |error| cannot("make the copy", target, error);
        drop(new_file(target).map_err(failed)?);
        let copied = copy(&mut session, target).await;
        if copied.is_err() {
            let _ = fs::remove_file(target);
        }
        copied
    }

    /// Folds the write-ahead log into the file, so that the file alone is the whole store.
    pub(crate) async fn checkpoint(&self) -> Result<(), CallError> {
        if self.file.is_refused() || !self.file.path().exists() {
            return Ok(());
        }
        // That is done when a connection is made.
        self.connect().await?.close().await
    }
}

async fn copy(session: &mut Session, target: &Path) -> Result<u64, CallError> {
    let new = private::beside(target, ".new");
    let copied = vacuum_into(session.reading()?, &new).await;
    let replaced = match session.noted(copied) {
        Ok(()) => fs::rename(&new, target)
            .and_then(|()| private::sync_folder(private::folder_of(target)))
            .map_err(|error| cannot("make the copy", target, error).into()),
        Err(fault) => Err(fault),
    };
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced?;
    let count = sqlx::query_scalar("SELECT count(*) FROM leaf_alloc")
        .fetch_one(session.reading()?)
        .await;
    let count: i64 = session.noted(count.map_err(CallError::from))?;
    Ok(count.unsigned_abs())
}

/// Writes all that a connection sees into a new file, and flushes it.
pub(super) async fn vacuum_into(
    connection: &mut SqliteConnection,
    new: &Path,
) -> Result<(), CallError> {
    let failed = |error| cannot("write", new, error);
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error).into()),
        _ => {}
    }
    drop(new_file(new).map_err(failed)?);
    let name = new
        .to_str()
        .ok_or_else(|| CallError::unsupported("the path of the copy must be UTF-8"))?;
    sqlx::query("VACUUM INTO ?")
        .bind(name)
        .execute(connection)
        .await?;
    Ok(File::open(new)
        .and_then(|file| file.sync_all())
        .map_err(failed)?)
}

/// How a file is opened that no server uses.
pub(super) fn lone_options(path: &Path) -> SqliteConnectOptions {
    use sqlx::ConnectOptions as _;
    SqliteConnectOptions::new()
        .filename(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
        .busy_timeout(std::time::Duration::from_secs(1))
        .disable_statement_logging()
}

pub(super) fn cannot(what: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(format!("cannot {what} {}", path.display()), error)
}

fn new_file(path: &Path) -> io::Result<File> {
    private::options().write(true).create_new(true).open(path)
}
