//! The SQL of a registry for PostgreSQL. Each change is one statement, committed by itself.

use leafid::store::{LeaseRecord, new_identity};
use sqlx::{PgConnection, Row};

use super::connect::Session;
use super::{Postgres, found_tables, unnamed, unnamed_scalar};
use crate::leases::{IDENTITY, LeaseBackend, LeaseSql, Statement, record};
use crate::row::finish;
use crate::store::CallError;

pub(super) const TABLE_SQL: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS leafid_worker (
        pool varchar(64) COLLATE \"C\" NOT NULL,
        worker bigint NOT NULL,
        epoch bigint NOT NULL,
        holder varchar(128) NOT NULL,
        address varchar(255) NOT NULL,
        until_ms bigint NOT NULL,
        updated timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (pool, worker)
    )",
    "CREATE TABLE IF NOT EXISTS leafid_pool (
        pool varchar(64) COLLATE \"C\" NOT NULL PRIMARY KEY,
        layout varchar(255) NOT NULL
    )",
];

/// Of many first starts at once one creates the tables; `IF NOT EXISTS` alone does not keep them
/// apart. The number is the letters `leafid` in ASCII.
pub(super) const CREATE_LOCK: &str = "SELECT pg_advisory_xact_lock(119182681598308)";

impl LeaseBackend for Postgres {
    const SQL: LeaseSql = LeaseSql {
        keep_layout: "INSERT INTO leafid_pool (pool, layout) VALUES ($1, $2) \
            ON CONFLICT DO NOTHING",
        insert: "INSERT INTO leafid_worker (pool, worker, epoch, holder, address, until_ms) \
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        replace: "UPDATE leafid_worker SET epoch = $1, holder = $2, address = $3, \
            until_ms = $4, updated = now() \
            WHERE pool = $5 AND worker = $6 AND epoch = $7 AND until_ms = $8",
    };

    fn known_identity(&self) -> Option<String> {
        self.identity_check.identity()
    }

    fn check_identity(&self, session: &Session, found: &str) -> Result<(), CallError> {
        Ok(self
            .identity_check
            .check(&session.name, Some(found.to_owned()))?)
    }

    async fn prepare(&self, session: &mut Session) -> Result<(), CallError> {
        let found = found_tables(&mut session.connection).await?;
        if !found.must_create_registry()? {
            return Ok(());
        }
        let mut transaction = self.begin(session).await?;
        let answer = create_tables(&mut transaction).await;
        finish(transaction, answer).await
    }

    async fn change(
        &self,
        session: &mut Session,
        statement: &Statement<'_>,
    ) -> Result<bool, CallError> {
        let mut transaction = self.begin(session).await?;
        let answer = change_in(&mut transaction, statement).await;
        finish(transaction, answer).await
    }

    async fn layout(&self, session: &mut Session, pool: &str) -> Result<Option<String>, CallError> {
        let select = "SELECT layout::text FROM leafid_pool WHERE pool = $1";
        let query = unnamed_scalar(select).bind(pool);
        let mut transaction = self.begin(session).await?;
        let layout = query.fetch_optional(&mut *transaction).await;
        finish(transaction, layout.map_err(CallError::from)).await
    }

    async fn leases(
        &self,
        session: &mut Session,
        pool: &str,
    ) -> Result<Vec<LeaseRecord>, CallError> {
        let select = "SELECT worker::bigint, epoch::bigint, holder::text, address::text, \
            until_ms::bigint FROM leafid_worker WHERE pool = $1 ORDER BY worker";
        let query = unnamed(select).bind(pool);
        let mut transaction = self.begin(session).await?;
        let rows = query.fetch_all(&mut *transaction).await;
        let rows = finish(transaction, rows.map_err(CallError::from)).await?;
        rows.iter().map(|row| record(pool, row)).collect()
    }

    async fn lease(
        &self,
        session: &mut Session,
        pool: &str,
        worker: i64,
    ) -> Result<Option<LeaseRecord>, CallError> {
        let mut transaction = self.begin(session).await?;
        let row = row_of(&mut transaction, pool, worker).await;
        finish(transaction, row).await
    }

    async fn clock_ms(&self, session: &mut Session) -> Result<Option<i64>, CallError> {
        let select = "SELECT floor(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint";
        let row = sqlx::raw_sql(select)
            .fetch_one(&mut session.connection)
            .await?;
        Ok(Some(row.try_get(0)?))
    }
}

async fn create_tables(connection: &mut PgConnection) -> Result<(), CallError> {
    sqlx::raw_sql(CREATE_LOCK).execute(&mut *connection).await?;
    for table in TABLE_SQL {
        sqlx::raw_sql(table).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Gives the database what tells it from others, unless it has it.
pub(super) async fn keep_identity(connection: &mut PgConnection) -> Result<(), CallError> {
    let (sql, new) = (<Postgres as LeaseBackend>::SQL, new_identity());
    let statement = Statement::keep_layout(&sql, IDENTITY, &new);
    change_in(connection, &statement).await.map(drop)
}

/// Changes a row, and reads it back.
async fn change_in(
    connection: &mut PgConnection,
    statement: &Statement<'_>,
) -> Result<bool, CallError> {
    let query = statement.query().persistent(false);
    if query.execute(&mut *connection).await?.rows_affected() != 1 {
        return Ok(false);
    }
    if let Some((pool, worker)) = statement.row() {
        statement.check_kept(row_of(connection, pool, worker).await?.as_ref())?;
    }
    Ok(true)
}

async fn row_of(
    connection: &mut PgConnection,
    pool: &str,
    worker: i64,
) -> Result<Option<LeaseRecord>, CallError> {
    let select = "SELECT worker::bigint, epoch::bigint, holder::text, address::text, \
        until_ms::bigint FROM leafid_worker WHERE pool = $1 AND worker = $2";
    let query = unnamed(select).bind(pool).bind(worker);
    let row = query.fetch_optional(connection).await?;
    row.map(|row| record(pool, &row)).transpose()
}
