//! `Session`: a connection to a SQLite file, which checks before and after each use whether the
//! file, its write-ahead log and its shared memory are still those that were opened.

use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use leafid::store::StoreError;
use rusqlite::{Connection, OptionalExtension as _};
use tokio::runtime::Handle;

use super::file::DatabaseFile;
use super::mark::MarkRecord;
use crate::private::{self, FileId};
use crate::schema::{FoundTables, OwnTable};
use crate::sql_error::CallError;

/// A connection, and which tables existed before it was made.
pub(crate) struct Session {
    /// Absent while a call uses it: if the call is given up, the connection is closed after its
    /// work.
    open: Option<OpenConnection>,
    pub(super) found: (FoundTables, OwnTable),
}

pub(super) struct OpenConnection {
    /// Taken when it is dropped.
    connection: Option<Connection>,
    files: OpenFiles,
}

/// The files of a connection.
struct OpenFiles {
    file: Arc<DatabaseFile>,
    parts: Vec<(PathBuf, FileId)>,
}

impl Session {
    pub(super) fn new(open: OpenConnection, found: (FoundTables, OwnTable)) -> Self {
        Self {
            open: Some(open),
            found,
        }
    }

    /// Runs work that changes nothing.
    pub(super) async fn read<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        self.on_thread(move |open| open.read(work)).await
    }

    /// Runs work that changes something, as one transaction: waits for the write lock.
    pub(super) async fn change<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        self.on_thread(move |open| open.change(work)).await
    }

    async fn on_thread<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut OpenConnection) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let given_up = || StoreError::unavailable("the connection is gone", "a call was given up");
        let mut open = self.open.take().ok_or_else(given_up)?;
        let (open, answer) = blocking(move || {
            let answer = work(&mut open);
            Ok((open, answer))
        })
        .await?;
        self.open = Some(open);
        answer
    }
}

/// Runs blocking work on a thread that may block. The work ends there even if its caller gives up.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CallError> + Send + 'static,
) -> Result<T, CallError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(error) => Err(StoreError::unavailable("the call to SQLite failed", error).into()),
    }
}

impl OpenConnection {
    /// Takes over a connection that was just opened and has used the database.
    pub(super) fn new(connection: Connection, file: Arc<DatabaseFile>) -> Result<Self, CallError> {
        let mut parts = Vec::new();
        for ending in ["", "-wal", "-shm"] {
            let path = private::beside(file.path(), ending);
            let id = FileId::of(&path).map_err(|error| {
                StoreError::unavailable(format!("cannot find the file {}", path.display()), error)
            })?;
            // Without a write-ahead log only the file itself is there.
            parts.extend(id.map(|id| (path, id)));
        }
        Ok(Self {
            connection: Some(connection),
            files: OpenFiles { file, parts },
        })
    }

    /// Closes it, and says how that went.
    pub(super) fn close(mut self) -> Result<(), CallError> {
        match self.connection.take() {
            Some(connection) => Ok(connection.close().map_err(|(_, error)| error)?),
            None => Ok(()),
        }
    }

    pub(super) fn read<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.files.check()?;
        let answer = work(self.connection());
        self.files.file.noted(answer)
    }

    /// Commits on success and rolls back otherwise. An answer is only given if the files are still
    /// those that were opened: what was committed to others is gone after a restart.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.files.check()?;
        let file = Arc::clone(&self.files.file);
        let connection = self.connection();
        if file.wants_checkpoint() {
            checkpoint(connection, &file)?;
        }
        let generation = file.noted(begin(connection))?;
        let answer = match file.check_generation(generation) {
            Ok(()) => work(connection),
            Err(error) => Err(error.into()),
        };
        let answer = file.noted(finish(connection, answer))?;
        self.files.check()?;
        file.committed(generation)?;
        Ok(answer)
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("taken only when dropped")
    }
}

/// Closing a connection may fold in its write-ahead log, which blocks.
impl Drop for Session {
    fn drop(&mut self) {
        if let (Some(open), Ok(runtime)) = (self.open.take(), Handle::try_current()) {
            runtime.spawn_blocking(move || drop(open));
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            discard(connection, &self.files.file);
        }
    }
}

/// Ends the use of a connection.
///
/// Closing it would flush and fold in the rest once more. After a failed flush, or with another
/// file in its place, that must not happen: it stays open until the process ends.
pub(super) fn discard(connection: Connection, file: &DatabaseFile) {
    if file.is_refused() {
        mem::forget(connection);
    }
}

impl OpenFiles {
    fn check(&self) -> Result<(), StoreError> {
        self.file.check()?;
        let mut parts = self.parts.iter();
        parts.try_for_each(|(path, id)| self.file.same(path, *id))
    }
}

/// Begins a transaction, and returns the number of its change.
fn begin(connection: &Connection) -> Result<u64, CallError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let generation = next_generation(connection);
    match generation {
        Ok(generation) => Ok(generation),
        error => finish(connection, error),
    }
}

fn next_generation(connection: &Connection) -> Result<u64, CallError> {
    let next = "UPDATE leafid_generation SET generation = generation + 1 RETURNING generation";
    let generation: Option<i64> = connection
        .query_row(next, [], |row| row.get(0))
        .optional()?;
    let generation = generation.and_then(|generation| u64::try_from(generation).ok());
    generation.ok_or_else(no_generation)
}

/// Commits on success and rolls back otherwise. Some failures end the transaction by themselves.
fn finish<T>(connection: &Connection, answer: Result<T, CallError>) -> Result<T, CallError> {
    match answer {
        Ok(answer) => {
            connection.execute_batch("COMMIT")?;
            Ok(answer)
        }
        Err(error) => {
            if !connection.is_autocommit() {
                connection.execute_batch("ROLLBACK")?;
            }
            Err(error)
        }
    }
}

/// The identity of the database, and how many changes it had.
pub(super) fn state_of(connection: &Connection) -> Result<MarkRecord, CallError> {
    let select = "SELECT identity, generation FROM leafid_file, leafid_generation";
    let row = connection.query_row(select, [], |row| <(String, i64)>::try_from(row));
    let (identity, generation) = row.optional()?.ok_or_else(no_generation)?;
    Ok(MarkRecord {
        identity,
        generation: u64::try_from(generation).map_err(|_| no_generation())?,
    })
}

fn no_generation() -> CallError {
    CallError::unsupported(
        "the table leafid_generation or leafid_file of the SQLite file was changed by hand: take \
        the file with leafid_stores::restore",
    )
}

/// Folds the write-ahead log into the file and empties it, unless another process uses it now.
pub(super) fn checkpoint(connection: &Connection, file: &DatabaseFile) -> Result<(), CallError> {
    let done = checkpoint_now(connection).map_err(CallError::from);
    file.noted(done)?;
    file.checkpointed();
    Ok(())
}

fn checkpoint_now(connection: &Connection) -> rusqlite::Result<()> {
    let wait: i64 = connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0))?;
    connection.execute_batch(&format!(
        "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = {wait}"
    ))
}
