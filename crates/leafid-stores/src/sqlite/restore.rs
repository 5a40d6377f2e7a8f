//! Restores a SQLite store from a copy: every tag is raised above what may have been issued since
//! the copy was made, and no worker id can be claimed while a lease of it may last.

mod raise;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use leafid::store::StoreError;
use rusqlite::Connection;

use self::raise::Former;
use super::backup::{cannot, open_alone, vacuum_into};
use super::mark::{Mark, MarkRecord};
use super::{Sqlite, is_busy, schema, session};
use crate::backup::{RestoreOptions, RestoreReport};
use crate::private;
use crate::sql::Dialect as _;
use crate::sql_error::{CallError, SqlError};

impl Sqlite {
    /// Replaces the file by the copy at `source`, and keeps the old one.
    pub(crate) fn restore(
        &self,
        source: &Path,
        options: &RestoreOptions,
    ) -> Result<RestoreReport, CallError> {
        let path = self.file.path();
        private::make_folder(private::folder_of(path))
            .map_err(|error| cannot("make the folder of", path, error))?;
        let mut replaced = Replaced::open(path)?;
        let new = private::beside(path, ".restoring");
        let restored = self.prepare(source, &new, &mut replaced, options);
        let restored = match restored {
            Ok(report) => replaced
                .swap(&new)
                .map(|aside| RestoreReport { aside, ..report }),
            Err(fault) => Err(fault),
        };
        if restored.is_err() {
            let _ = fs::remove_file(&new);
        }
        restored
    }

    /// Creates the new file.
    fn prepare(
        &self,
        source: &Path,
        new: &Path,
        replaced: &mut Replaced,
        options: &RestoreOptions,
    ) -> Result<RestoreReport, CallError> {
        copy_of(source, new)?;
        // From here on the file in use is locked, until it is moved away.
        let former = replaced.lock_and_read()?;
        let mut connection = open_alone(new)?;
        schema::create(&mut connection)?;
        let report = raise::raise(&mut connection, &former, options)?;
        connection.close().map_err(|(_, error)| error)?;
        File::open(new)
            .and_then(|file| file.sync_all())
            .map_err(|error| cannot("flush", new, error))?;
        Ok(report)
    }
}

/// Writes the content of a copy into a new file, if it is complete.
fn copy_of(source: &Path, new: &Path) -> Result<(), CallError> {
    let no_copy = |error: SqlError| {
        let remedy = Connection::remedy(&error).unwrap_or("it cannot be read");
        let message = format!(
            "{} is not a complete copy of a store: {remedy}",
            source.display()
        );
        CallError::Store(StoreError::unavailable(message, error))
    };
    let no_row = |error: rusqlite::Error| no_copy(error.into());
    let connection = open_alone(source).map_err(no_copy)?;
    let select = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'leaf_alloc'";
    let tables: i64 = connection
        .query_row(select, [], |row| row.get(0))
        .map_err(no_row)?;
    let check: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(no_row)?;
    if tables == 0 || check != "ok" {
        let why = if tables == 0 {
            "it has no table leaf_alloc"
        } else {
            &check
        };
        let source = source.display();
        let message = format!("{source} is not a complete copy of a store: {why}");
        return Err(CallError::unsupported(message));
    }
    vacuum_into(&connection, new)?;
    Ok(connection.close().map_err(|(_, error)| error)?)
}

/// The file that is replaced, if there is one.
struct Replaced {
    path: PathBuf,
    /// `None` if it is missing, or cannot be read.
    connection: Option<Connection>,
    marked: Option<MarkRecord>,
}

impl Replaced {
    /// Makes sure that no process uses it.
    fn open(path: &Path) -> Result<Self, CallError> {
        let mut marked = None;
        if mark_of(path).exists() {
            let mark = Mark::open(&mark_of(path)).and_then(|mut mark| mark.read());
            marked = mark.map_err(|error| cannot("read the mark of", path, error))?;
        }
        let mut connection = None;
        if path.exists() {
            // One that cannot be read needs no lock.
            connection = open_alone(path).ok();
        }
        let mut replaced = Self {
            path: path.to_owned(),
            connection,
            marked,
        };
        replaced.lock()?;
        Ok(replaced)
    }

    /// A file needs no write-ahead log only if there is no other connection.
    fn lock(&mut self) -> Result<(), CallError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let locked = connection
            .execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; COMMIT")
            .map_err(SqlError::from);
        match locked {
            Ok(()) => Ok(()),
            Err(error) if is_busy(&error) => {
                let path = self.path.display();
                let message = format!("a server or another program uses {path}: stop it first");
                Err(StoreError::unavailable(message, error).into())
            }
            Err(_) => {
                self.connection = None;
                Ok(())
            }
        }
    }

    /// Locks out all others, and reads what is still known.
    fn lock_and_read(&mut self) -> Result<Former, CallError> {
        self.lock()?;
        let mut former = Former {
            marked: self.marked.clone(),
            ..Former::default()
        };
        let Some(connection) = &mut self.connection else {
            return Ok(former);
        };
        connection.execute_batch("BEGIN EXCLUSIVE")?;
        if let Ok(rows) = raise::rows_of(connection) {
            former.rows = Some(rows);
            former.state = session::state_of(connection).ok();
        }
        Ok(former)
    }

    /// Moves the former file away and the new one in place; returns the former one's new name. If
    /// the machine stops in between, the mark is there without its file, and no server starts.
    fn swap(self, new: &Path) -> Result<Option<PathBuf>, CallError> {
        let failed = |error| cannot("replace", &self.path, error);
        let aside = self.set_aside().map_err(failed)?;
        fs::rename(new, &self.path).map_err(failed)?;
        let mark = mark_of(&self.path);
        if mark.exists() {
            fs::remove_file(mark).map_err(failed)?;
        }
        private::sync_folder(private::folder_of(&self.path)).map_err(failed)?;
        Ok(aside)
    }

    /// With its write-ahead log, which would change the new file; even if it is all that is there.
    fn set_aside(&self) -> std::io::Result<Option<PathBuf>> {
        let names = (1..).map(|number| private::beside(&self.path, &format!(".before-{number}")));
        let Some(aside) = names.take(10_000).find(|name| {
            let is_free = |ending| !private::beside(name, ending).exists();
            ["", "-wal", "-shm"].into_iter().all(is_free)
        }) else {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        };
        // One that could not be read may still have them.
        for ending in ["-wal", "-shm"] {
            let part = private::beside(&self.path, ending);
            if part.exists() {
                fs::rename(part, private::beside(&aside, ending))?;
            }
        }
        if !self.path.exists() {
            return Ok(None);
        }
        fs::rename(&self.path, &aside)?;
        Ok(Some(aside))
    }
}

fn mark_of(path: &Path) -> PathBuf {
    private::beside(path, "-mark")
}
