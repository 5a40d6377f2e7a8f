//! The SQL of a registry for SQLite. Each change is one statement in a
//! transaction of its own.

use leafid::store::LeaseRecord;
use sqlx::SqliteConnection;

use super::{Session, Sqlite};
use crate::leases::{LeaseBackend, LeaseSql, Statement, record};
use crate::store::CallError;

pub(super) const TABLE_SQL: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS leafid_worker (
        pool TEXT NOT NULL,
        worker INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        holder TEXT NOT NULL,
        address TEXT NOT NULL,
        until_ms INTEGER NOT NULL,
        updated TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        PRIMARY KEY (pool, worker)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS leafid_pool (
        pool TEXT NOT NULL PRIMARY KEY,
        layout TEXT NOT NULL
    ) WITHOUT ROWID",
];

impl LeaseBackend for Sqlite {
    const SQL: LeaseSql = LeaseSql {
        keep_layout: "INSERT INTO leafid_pool (pool, layout) VALUES (?, ?) ON CONFLICT DO NOTHING",
        insert: "INSERT INTO leafid_worker (pool, worker, epoch, holder, address, until_ms) \
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        replace: "UPDATE leafid_worker SET epoch = ?, holder = ?, address = ?, until_ms = ?, \
            updated = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') \
            WHERE pool = ? AND worker = ? AND epoch = ? AND until_ms = ?",
    };

    /// A connection comes with all tables.
    async fn prepare(&self, _: &mut Session) -> Result<(), CallError> {
        Ok(())
    }

    async fn change(
        &self,
        session: &mut Session,
        statement: &Statement<'_>,
    ) -> Result<bool, CallError> {
        let mut change = session.change().await?;
        let answer = change_in(&mut change.transaction, statement).await;
        change.finish(answer).await
    }

    async fn layout(&self, session: &mut Session, pool: &str) -> Result<Option<String>, CallError> {
        let select = "SELECT layout FROM leafid_pool WHERE pool = ?";
        let query = sqlx::query_scalar(select).bind(pool);
        let layout = query.fetch_optional(session.reading()?).await;
        session.noted(layout.map_err(CallError::from))
    }

    async fn leases(
        &self,
        session: &mut Session,
        pool: &str,
    ) -> Result<Vec<LeaseRecord>, CallError> {
        let select = "SELECT worker, epoch, holder, address, until_ms FROM leafid_worker \
            WHERE pool = ? ORDER BY worker";
        let query = sqlx::query(select).bind(pool);
        let rows = query.fetch_all(session.reading()?).await;
        let rows = session.noted(rows.map_err(CallError::from))?;
        rows.iter().map(|row| record(pool, row)).collect()
    }

    async fn lease(
        &self,
        session: &mut Session,
        pool: &str,
        worker: i64,
    ) -> Result<Option<LeaseRecord>, CallError> {
        let row = row_of(session.reading()?, pool, worker).await;
        session.noted(row)
    }

    /// The file has only the clock of this machine.
    async fn clock_ms(&self, _: &mut Session) -> Result<Option<i64>, CallError> {
        Ok(None)
    }
}

/// Changes a row, and reads it back.
async fn change_in(
    connection: &mut SqliteConnection,
    statement: &Statement<'_>,
) -> Result<bool, CallError> {
    let done = statement.query().execute(&mut *connection).await?;
    if done.rows_affected() != 1 {
        return Ok(false);
    }
    if let Some((pool, worker)) = statement.row() {
        statement.check_kept(row_of(connection, pool, worker).await?.as_ref())?;
    }
    Ok(true)
}

async fn row_of(
    connection: &mut SqliteConnection,
    pool: &str,
    worker: i64,
) -> Result<Option<LeaseRecord>, CallError> {
    let select = "SELECT worker, epoch, holder, address, until_ms FROM leafid_worker \
        WHERE pool = ? AND worker = ?";
    let query = sqlx::query(select).bind(pool).bind(worker);
    let row = query.fetch_optional(connection).await?;
    row.map(|row| record(pool, &row)).transpose()
}
