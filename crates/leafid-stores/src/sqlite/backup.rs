//! Backup of a SQLite store: a copy made while servers use it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leafid::store::StoreError;
use rusqlite::Connection;

use super::{Sqlite, blocking, open_existing};
use crate::private;
use crate::sql_error::{CallError, SqlError};

impl Sqlite {
    /// Copies the store to `target`, durably, and returns how many tags it has.
    pub(crate) async fn backup(&self, target: PathBuf) -> Result<u64, CallError> {
        if !self.file.path().exists() {
            let path = self.file.path().display();
            return Err(CallError::unsupported(format!("there is no file {path}")));
        }
        let (mut open, _) = self.open_when_free().await?;
        blocking(move || {
            // An existing file is never overwritten.
            let failed = |error| cannot("make the copy", &target, error);
            drop(new_file(&target).map_err(failed)?);
            let copied = open.read(|connection| copy(connection, &target));
            if copied.is_err() {
                let _ = fs::remove_file(&target);
            }
            copied
        })
        .await
    }

    /// Folds the write-ahead log into the file, so that the file alone is the whole store.
    pub(crate) async fn checkpoint(&self) -> Result<(), CallError> {
        if self.file.is_refused() || !self.file.path().exists() {
            return Ok(());
        }
        // That is done when a connection is made.
        let (open, _) = self.open_when_free().await?;
        blocking(move || open.close()).await
    }
}

fn copy(connection: &Connection, target: &Path) -> Result<u64, CallError> {
    let new = private::beside(target, ".new");
    let copied = vacuum_into(connection, &new).and_then(|()| {
        fs::rename(&new, target)
            .and_then(|()| private::sync_folder(private::folder_of(target)))
            .map_err(|error| cannot("make the copy", target, error).into())
    });
    if copied.is_err() {
        let _ = fs::remove_file(&new);
    }
    copied?;
    let count = "SELECT count(*) FROM leaf_alloc";
    let count: i64 = connection.query_row(count, [], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Writes all that a connection sees into a new file, and flushes it.
pub(super) fn vacuum_into(connection: &Connection, new: &Path) -> Result<(), CallError> {
    let failed = |error| cannot("write", new, error);
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error).into()),
        _ => {}
    }
    drop(new_file(new).map_err(failed)?);
    let name = new
        .to_str()
        .ok_or_else(|| CallError::unsupported("the path of the copy must be UTF-8"))?;
    connection.execute("VACUUM INTO ?", [name])?;
    Ok(File::open(new)
        .and_then(|file| file.sync_all())
        .map_err(failed)?)
}

/// Opens a file that no server uses.
pub(super) fn open_alone(path: &Path) -> Result<Connection, SqlError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    open_existing(&path, Duration::from_secs(1))
}

pub(super) fn cannot(what: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::unavailable(format!("cannot {what} {}", path.display()), error)
}

fn new_file(path: &Path) -> io::Result<File> {
    private::options().write(true).create_new(true).open(path)
}
