//! SQLite: one file, write-ahead log, flushed at every commit. Its calls block, so they run on
//! threads of their own.

mod backup;
mod dialect;
mod file;
mod mark;
mod report;
mod reserve;
mod restore;
mod schema;
mod session;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::{Reserve, Reserved, StoreError, StoreReport};
use rusqlite::{Connection, OpenFlags};

use self::file::DatabaseFile;
pub(crate) use self::report::file_notes;
pub(crate) use self::session::blocking;
use self::session::{OpenConnection, Session};
use crate::backend::{Backend, probe};
use crate::options::Patience;
use crate::private::FileId;
use crate::schema::{FoundTables, OwnTable, Shape};
use crate::sql::{Dialect, Work, failed};
use crate::sql_error::{CallError, SqlError};
use crate::{InitReport, StoreOptions};

/// First starts of many processes on one file conflict for a moment.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// The tables of a connection: it always has all of them.
const SHAPE: Shape = Shape::of(OwnTable::WHOLE);

#[derive(Clone)]
pub(crate) struct Sqlite {
    file: Arc<DatabaseFile>,
    busy_timeout: Duration,
}

impl Sqlite {
    pub(crate) fn new(path: &Path, options: &StoreOptions) -> Self {
        Self {
            file: DatabaseFile::at(path),
            busy_timeout: options.statement_timeout * 9 / 10,
        }
    }

    async fn open_when_free(
        &self,
    ) -> Result<(OpenConnection, (FoundTables, OwnTable)), StoreError> {
        loop {
            let sqlite = self.clone();
            let opened = blocking(move || sqlite.open()).await;
            match self.file.noted(opened) {
                Ok(opened) => return Ok(opened),
                // Ends with the time-out of the call.
                Err(CallError::Sql(error)) if is_busy(&error) => {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Err(CallError::Sql(error)) => {
                    let remedy = Connection::remedy(&error).unwrap_or("the file cannot be opened");
                    return Err(failed::<Connection>(remedy.to_owned(), error));
                }
                Err(CallError::Store(error)) => return Err(error),
            }
        }
    }

    fn open(&self) -> Result<(OpenConnection, (FoundTables, OwnTable)), CallError> {
        let before = self.file.before_open()?;
        let mut connection = open_existing(self.file.path(), self.busy_timeout)?;
        let entered = self.enter(&mut connection, before);
        match self.file.noted(entered) {
            Ok(found) => Ok((
                OpenConnection::new(connection, Arc::clone(&self.file))?,
                found,
            )),
            Err(error) => {
                session::discard(connection, &self.file);
                Err(error)
            }
        }
    }

    /// Makes sure that it is the right file, that it is durable, and that it has all tables.
    fn enter(
        &self,
        connection: &mut Connection,
        before: FileId,
    ) -> Result<(FoundTables, OwnTable), CallError> {
        // The write-ahead log is only folded in where a failure of that is noticed.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0",
        )?;
        self.file.after_open(before)?;
        report::check_durable(connection)?;
        // What an earlier process wrote, and maybe failed to flush, is written again.
        session::checkpoint(connection, &self.file)?;
        let known = self.file.known()?;
        let found = schema::create(connection)?;
        self.file.found(session::state_of(connection)?, &known)?;
        Ok(found)
    }
}

/// Opens an existing file.
fn open_existing(path: &Path, busy_timeout: Duration) -> Result<Connection, SqlError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy_timeout)?;
    Ok(connection)
}

fn is_busy(error: &SqlError) -> bool {
    // The lowest byte is the primary code: 5 is SQLITE_BUSY, 6 SQLITE_LOCKED.
    matches!(error.number().map(|code| code & 0xff), Some(5 | 6))
}

impl Backend for Sqlite {
    type Connection = Session;
    type Dialect = Connection;

    const CONNECTIONS_MAX: usize = 1;

    async fn connect(&self, _: Patience) -> Result<Session, StoreError> {
        let (open, found) = self.open_when_free().await?;
        Ok(Session::new(open, found))
    }

    fn server(_: &Session) -> Option<&str> {
        None
    }

    async fn is_alive(&self, _: &mut Session) -> bool {
        true
    }

    fn refusal(&self) -> Option<String> {
        self.file.refusal()
    }

    /// A connection is made anew, not checked again.
    async fn recheck(&self, _: &mut Session) -> Result<(), StoreError> {
        Ok(())
    }

    async fn run<W: Work>(&self, session: &mut Session, work: W) -> Result<W::Answer, CallError> {
        let work = move |connection: &mut Connection| now(work.run(connection, SHAPE));
        session.read(work).await
    }

    async fn transact<W: Work>(
        &self,
        session: &mut Session,
        work: W,
    ) -> Result<W::Answer, CallError> {
        let work = move |connection: &mut Connection| now(work.run(connection, SHAPE));
        session.change(work).await
    }

    async fn reserve(
        &self,
        session: &mut Session,
        reserve: &Reserve,
    ) -> Result<Reserved, CallError> {
        let reserve = reserve.clone();
        let work = move |connection: &mut Connection| reserve::reserve(connection, &reserve);
        session.change(work).await
    }

    async fn inspect(&self, session: &mut Session) -> Result<StoreReport, CallError> {
        let file = Arc::clone(&self.file);
        let work = move |connection: &mut Connection| report::inspect(connection, file.path());
        session.read(work).await
    }

    async fn init(&self, session: &mut Session) -> Result<InitReport, CallError> {
        let (found, own) = session.found;
        Ok(found.report(own))
    }

    async fn probe(&self, session: &mut Session) -> Result<(), CallError> {
        let work = |connection: &mut Connection| now(probe(connection)).map_err(CallError::from);
        session.read(work).await
    }

    fn known_identity(&self) -> Option<String> {
        None
    }

    fn check_identity(&self, _: &Session, _: &str) -> Result<(), CallError> {
        Ok(())
    }

    async fn prepare(&self, _: &mut Session) -> Result<(), CallError> {
        Ok(())
    }

    async fn clock_ms(&self, _: &mut Session) -> Result<Option<i64>, CallError> {
        Ok(None)
    }
}

/// The result of work on a file, which never waits for a lock.
fn now<F: Future>(work: F) -> F::Output {
    pollster::block_on(work)
}
