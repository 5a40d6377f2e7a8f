//! `Session`: a connection to a SQLite file, looked at before and after each use: whether the file,
//! its write-ahead log and its shared memory are still those that were opened.

use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use leafid::store::StoreError;
use sqlx::{Connection as _, Sqlite as Dialect, SqliteConnection, Transaction};

use super::file::DatabaseFile;
use super::mark::MarkRecord;
use crate::private::{self, FileId};
use crate::schema::{FoundTables, OwnTable};
use crate::store::CallError;

/// A connection, and what there was of the tables before it came.
pub(crate) struct Session {
    /// Taken when it is dropped.
    connection: Option<SqliteConnection>,
    pub(super) found: (FoundTables, OwnTable),
    files: OpenFiles,
}

/// The files of a connection.
struct OpenFiles {
    file: Arc<DatabaseFile>,
    parts: Vec<(PathBuf, FileId)>,
}

/// One change of the database, as a transaction.
pub(super) struct Change<'a> {
    pub(super) transaction: Transaction<'a, Dialect>,
    files: &'a OpenFiles,
    generation: u64,
}

impl Session {
    /// Takes a connection that was just opened and has used the database.
    pub(super) fn new(
        connection: SqliteConnection,
        found: (FoundTables, OwnTable),
        file: Arc<DatabaseFile>,
    ) -> Result<Self, CallError> {
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
            found,
            files: OpenFiles { file, parts },
        })
    }

    /// For a call that changes nothing.
    pub(super) fn reading(&mut self) -> Result<&mut SqliteConnection, CallError> {
        self.files.check()?;
        Ok(self.connection())
    }

    /// What came of it.
    pub(super) fn noted<T>(&self, answer: Result<T, CallError>) -> Result<T, CallError> {
        self.files.file.noted(answer)
    }

    /// For a call that changes something: waits until nobody else does.
    pub(super) async fn change(&mut self) -> Result<Change<'_>, CallError> {
        self.files.check()?;
        if self.files.file.wants_checkpoint() {
            let file = Arc::clone(&self.files.file);
            checkpoint(self.connection(), &file).await?;
        }
        let Self {
            connection, files, ..
        } = self;
        let connection = connection.as_mut().expect("taken only when dropped");
        let begun = begin(connection).await;
        let (transaction, generation) = files.file.noted(begun)?;
        if let Err(error) = files.file.check_generation(generation) {
            transaction.rollback().await?;
            return Err(error.into());
        }
        Ok(Change {
            transaction,
            files,
            generation,
        })
    }

    /// Closes it, and says how that went.
    pub(super) async fn close(mut self) -> Result<(), CallError> {
        match self.connection.take() {
            Some(connection) => Ok(connection.close().await?),
            None => Ok(()),
        }
    }

    fn connection(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("taken only when dropped")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            discard(connection, &self.files.file);
        }
    }
}

/// Ends the use of a connection.
///
/// To close it is to flush and to fold in what is left, once more. After a flush that failed, or
/// with another file in its place, that must not be: it stays open until the process ends.
pub(super) fn discard(connection: SqliteConnection, file: &DatabaseFile) {
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

impl Change<'_> {
    /// Commits what went well and rolls back the rest. An answer is given only if the files are
    /// still those that were opened: what was committed to others is not there after a restart.
    pub(super) async fn finish<T>(self, answer: Result<T, CallError>) -> Result<T, CallError> {
        let Self {
            transaction,
            files,
            generation,
        } = self;
        let finished = crate::row::finish(transaction, answer).await;
        let answer = files.file.noted(finished)?;
        files.check()?;
        files.file.committed(generation)?;
        Ok(answer)
    }
}

async fn begin(
    connection: &mut SqliteConnection,
) -> Result<(Transaction<'_, Dialect>, u64), CallError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let next = "UPDATE leafid_generation SET generation = generation + 1 RETURNING generation";
    let generation: Option<i64> = sqlx::query_scalar(next)
        .fetch_optional(&mut *transaction)
        .await?;
    let generation = generation.and_then(|generation| u64::try_from(generation).ok());
    match generation {
        Some(generation) => Ok((transaction, generation)),
        None => {
            transaction.rollback().await?;
            Err(no_generation())
        }
    }
}

/// Which database it is, and how many changes it had.
pub(super) async fn state_of(connection: &mut SqliteConnection) -> Result<MarkRecord, CallError> {
    let select = "SELECT identity, generation FROM leafid_file, leafid_generation";
    let row: Option<(String, i64)> = sqlx::query_as(select).fetch_optional(connection).await?;
    let (identity, generation) = row.ok_or_else(no_generation)?;
    Ok(MarkRecord {
        identity,
        generation: u64::try_from(generation).map_err(|_| no_generation())?,
    })
}

fn no_generation() -> CallError {
    CallError::unsupported(
        "the table leafid_generation or leafid_file of the SQLite file was changed by hand: take \
        the file with `leafid store restore`",
    )
}

/// Folds the write-ahead log into the file and empties it, as far as nobody else uses it now.
pub(super) async fn checkpoint(
    connection: &mut SqliteConnection,
    file: &DatabaseFile,
) -> Result<(), CallError> {
    let wait: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
        .fetch_one(&mut *connection)
        .await?;
    let sql = format!(
        "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = {wait}"
    );
    let done = sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
        .execute(connection)
        .await;
    file.noted(done.map_err(CallError::from))?;
    file.checkpointed();
    Ok(())
}
