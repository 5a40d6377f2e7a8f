//! The SQL we send to SQLite: one file, write-ahead log, flushed at every commit.

mod audit;
mod backup;
mod file;
mod leases;
mod mark;
mod report;
mod reserve;
mod restore;
mod schema;
mod session;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leafid::Tag;
use leafid::store::{Reserve, Reserved, StoreError, StoreReport, TagPatch, TagRecord, TagSpec};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Sqlite as Dialect, SqliteConnection, Transaction};

use self::file::DatabaseFile;
pub(crate) use self::report::file_notes;
use self::session::Session;
use crate::private::FileId;
use crate::row::{OwnColumns, StoredRow, first_max_id, padded, records};
use crate::schema::{FoundTables, OwnTable};
use crate::store::{Backend, CallError, PROBE_SQL};
use crate::{InitReport, StoreOptions};

const NOW_MS: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

const COLUMNS: &str = "a.biz_tag, a.max_id, a.step, a.description, a.update_time, \
    t.policy, t.step_max, t.cover_seconds, t.id_limit, t.kind, t.deleted_max_id, t.segment_max \
    FROM leaf_alloc a LEFT JOIN leafid_tag t ON t.tag = a.biz_tag";

/// First starts of many processes on one file get in each other's way for a moment.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Sqlite {
    file: Arc<DatabaseFile>,
    options: SqliteConnectOptions,
}

impl Sqlite {
    pub(crate) fn new(path: &Path, options: &StoreOptions) -> Self {
        let file = DatabaseFile::at(path);
        let options = SqliteConnectOptions::new()
            .filename(file.path())
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            // Only where its failure is seen.
            .pragma("wal_autocheckpoint", "0")
            .busy_timeout(options.statement_timeout * 9 / 10)
            .disable_statement_logging();
        Self { file, options }
    }

    async fn open(&self) -> Result<Session, CallError> {
        let before = self.file.before_open()?;
        let mut connection = self.options.connect().await?;
        let entered = self.enter(&mut connection, before).await;
        match self.file.noted(entered) {
            Ok(found) => Session::new(connection, found, Arc::clone(&self.file)),
            Err(fault) => {
                session::discard(connection, &self.file);
                Err(fault)
            }
        }
    }

    /// Makes sure that it is the right file, that it keeps what it acknowledges, and that it has
    /// all tables.
    async fn enter(
        &self,
        connection: &mut SqliteConnection,
        before: FileId,
    ) -> Result<(FoundTables, OwnTable), CallError> {
        self.file.after_open(before)?;
        report::check_durable(connection).await?;
        // What an earlier life wrote, and maybe failed to flush, is written anew.
        session::checkpoint(connection, &self.file).await?;
        let known = self.file.known()?;
        let found = schema::create(connection).await?;
        self.file
            .found(session::state_of(connection).await?, &known)?;
        Ok(found)
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    // The lowest byte is the primary code: 5 is SQLITE_BUSY, 6 SQLITE_LOCKED.
    code.and_then(|code| code.parse::<u32>().ok())
        .is_some_and(|code| matches!(code & 0xff, 5 | 6))
}

impl Backend for Sqlite {
    type Connection = Session;

    const CONNECTIONS_MAX: usize = 1;

    async fn connect(&self) -> Result<Session, StoreError> {
        loop {
            let opened = self.open().await;
            match self.file.noted(opened) {
                Ok(session) => return Ok(session),
                // Ends with the time-out of the call.
                Err(CallError::Sql(error)) if is_busy(&error) => {
                    tokio::time::sleep(BUSY_PAUSE).await
                }
                Err(CallError::Sql(error)) => {
                    let remedy = Self::remedy(&error).unwrap_or("the file cannot be opened");
                    return Err(StoreError::unavailable(remedy, error));
                }
                Err(CallError::Store(error)) => return Err(error),
            }
        }
    }

    fn server(_: &Session) -> Option<&str> {
        None
    }

    fn refusal(&self) -> Option<String> {
        self.file.refusal()
    }

    async fn is_alive(&self, _: &mut Session) -> bool {
        true
    }

    /// A connection is made anew, not checked again.
    async fn recheck(&self, _session: &mut Session) -> Result<(), StoreError> {
        Ok(())
    }

    async fn reserve(
        &self,
        session: &mut Session,
        reserve: &Reserve,
    ) -> Result<Reserved, CallError> {
        let mut change = session.change().await?;
        let answer = reserve::reserve(&mut change.transaction, reserve).await;
        change.finish(answer).await
    }

    async fn read(&self, session: &mut Session, tags: &[Tag]) -> Result<Vec<TagRecord>, CallError> {
        let marks = vec!["?"; padded(tags).count()].join(", ");
        let sql = AssertSqlSafe(format!("SELECT {COLUMNS} WHERE a.biz_tag IN ({marks})"));
        let mut query = sqlx::query(sql);
        for tag in padded(tags) {
            query = query.bind(tag.as_str());
        }
        let rows = query.fetch_all(session.reading()?).await;
        let rows = session.noted(rows.map_err(CallError::from))?;
        records(stored(&rows)?, tags)
    }

    async fn list(
        &self,
        session: &mut Session,
        after: Option<&Tag>,
        count: u32,
    ) -> Result<Vec<TagRecord>, CallError> {
        let sql = format!("SELECT {COLUMNS} WHERE a.biz_tag > ? ORDER BY a.biz_tag LIMIT ?");
        let mut after = after.map_or("", Tag::as_str).to_owned();
        let mut listed = Vec::new();
        // A row whose name is no tag makes room for another one.
        while listed.len() < count as usize {
            let wanted = count as usize - listed.len();
            let query = sqlx::query(AssertSqlSafe(sql.clone()));
            let query = query
                .bind(&after)
                .bind(i64::try_from(wanted).unwrap_or(i64::MAX));
            let rows = query.fetch_all(session.reading()?).await;
            let rows = stored(&session.noted(rows.map_err(CallError::from))?)?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.tag);
            for row in rows {
                listed.extend(row.record()?);
            }
        }
        Ok(listed)
    }

    async fn create(&self, session: &mut Session, spec: &TagSpec) -> Result<TagRecord, CallError> {
        let mut change = session.change().await?;
        let answer = create_in(&mut change.transaction, spec).await;
        change.finish(answer).await
    }

    async fn update(
        &self,
        session: &mut Session,
        tag: &Tag,
        patch: &TagPatch,
    ) -> Result<TagRecord, CallError> {
        let mut change = session.change().await?;
        let answer = update_in(&mut change.transaction, tag, patch).await;
        change.finish(answer).await
    }

    async fn delete(&self, session: &mut Session, tag: &Tag) -> Result<(), CallError> {
        let mut change = session.change().await?;
        let answer = delete_in(&mut change.transaction, tag).await;
        change.finish(answer).await
    }

    async fn inspect(&self, session: &mut Session) -> Result<StoreReport, CallError> {
        let report = report::inspect(session.reading()?, self.file.path()).await;
        session.noted(report)
    }

    async fn init(&self, session: &mut Session) -> Result<InitReport, CallError> {
        let (found, own) = session.found;
        Ok(found.report(own))
    }

    async fn probe(&self, session: &mut Session) -> Result<(), CallError> {
        let done = sqlx::raw_sql(PROBE_SQL).execute(session.reading()?).await;
        session.noted(done.map(drop).map_err(CallError::from))
    }

    /// A file that is locked for too long is as bad as one that is away.
    fn is_conflict(_: &sqlx::Error) -> bool {
        false
    }

    fn is_full(_: &sqlx::Error) -> bool {
        false
    }

    fn remedy(error: &sqlx::Error) -> Option<&'static str> {
        let code = error.as_database_error()?.code()?.parse::<u32>().ok()?;
        // SQLITE_IOERR_SHMSIZE: the shared memory, which is a file, cannot grow.
        if code == 4874 {
            return Some("the disk is full");
        }
        Some(match code & 0xff {
            3 => "access to the file is denied",
            5 | 6 => "another process holds the file's lock for too long",
            8 => "the file may not be written",
            10 => "reading or writing the file failed",
            11 => "the file is damaged: restore it, then raise its tags",
            13 => "the disk is full",
            14 => "the file cannot be opened: look at its folder's rights",
            26 => "the file is no SQLite database",
            _ => return None,
        })
    }
}

fn stored(rows: &[SqliteRow]) -> Result<Vec<StoredRow>, sqlx::Error> {
    rows.iter().map(StoredRow::read).collect()
}

async fn row_of(
    transaction: &mut Transaction<'_, Dialect>,
    tag: &Tag,
) -> Result<StoredRow, CallError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} WHERE a.biz_tag = ?"));
    let row = sqlx::query(sql)
        .bind(tag.as_str())
        .fetch_optional(&mut **transaction)
        .await?;
    Ok(StoredRow::read(&row.ok_or(StoreError::UnknownTag)?)?)
}

async fn record_of(
    transaction: &mut Transaction<'_, Dialect>,
    tag: &Tag,
) -> Result<TagRecord, CallError> {
    Ok(row_of(transaction, tag)
        .await?
        .record()?
        .ok_or(StoreError::UnknownTag)?)
}

async fn create_in(
    transaction: &mut Transaction<'_, Dialect>,
    spec: &TagSpec,
) -> Result<TagRecord, CallError> {
    let insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step, description) \
        SELECT ?1, max(?2, coalesce((SELECT max(deleted_max_id) FROM leafid_tag \
        WHERE tag IN (?1, '')), 1)), ?3, ?4 \
        WHERE NOT EXISTS (SELECT 1 FROM leaf_alloc WHERE biz_tag = ?1)";
    let query = sqlx::query(insert)
        .bind(spec.tag.as_str())
        .bind(first_max_id(spec)?);
    let query = query.bind(spec.settings.step).bind(&spec.description);
    if query.execute(&mut **transaction).await?.rows_affected() == 0 {
        return Err(StoreError::TagExists.into());
    }
    write_own(transaction, &spec.tag, &OwnColumns::of(&spec.settings)).await?;
    record_of(transaction, &spec.tag).await
}

async fn update_in(
    transaction: &mut Transaction<'_, Dialect>,
    tag: &Tag,
    patch: &TagPatch,
) -> Result<TagRecord, CallError> {
    let mut row = row_of(transaction, tag).await?;
    row.patch(patch);
    let update = format!(
        "UPDATE leaf_alloc SET step = ?, description = ?, update_time = {NOW_MS} WHERE biz_tag = ?"
    );
    let query = sqlx::query(AssertSqlSafe(update))
        .bind(row.step)
        .bind(&row.description);
    query.bind(tag.as_str()).execute(&mut **transaction).await?;
    write_own(transaction, tag, &row.own).await?;
    record_of(transaction, tag).await
}

async fn delete_in(transaction: &mut Transaction<'_, Dialect>, tag: &Tag) -> Result<(), CallError> {
    let row = row_of(transaction, tag).await?;
    write_own(transaction, tag, &OwnColumns::default()).await?;
    let remember =
        "UPDATE leafid_tag SET deleted_max_id = max(coalesce(deleted_max_id, 1), ?) WHERE tag = ?";
    let query = sqlx::query(remember).bind(row.max_id).bind(tag.as_str());
    query.execute(&mut **transaction).await?;
    let delete = sqlx::query("DELETE FROM leaf_alloc WHERE biz_tag = ?").bind(tag.as_str());
    delete.execute(&mut **transaction).await?;
    Ok(())
}

async fn write_own(
    transaction: &mut Transaction<'_, Dialect>,
    tag: &Tag,
    own: &OwnColumns,
) -> Result<(), CallError> {
    let upsert = "INSERT INTO leafid_tag (tag, policy, step_max, cover_seconds, id_limit, kind) \
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tag) DO UPDATE SET policy = excluded.policy, \
        step_max = excluded.step_max, cover_seconds = excluded.cover_seconds, \
        id_limit = excluded.id_limit, kind = excluded.kind";
    let query = sqlx::query(upsert)
        .bind(tag.as_str())
        .bind(&own.policy)
        .bind(own.step_max);
    let query = query
        .bind(own.cover_seconds)
        .bind(own.id_limit)
        .bind(&own.kind);
    query.execute(&mut **transaction).await?;
    Ok(())
}
