//! The SQL of a registry for MySQL and MariaDB. Each change is one statement in a transaction of
//! its own, in which the row is read back; the driver counts the rows that a statement found, also
//! where it changed nothing.

use leafid::store::{LeaseRecord, new_identity};
use sqlx::{Connection as _, MySqlConnection, Row};

use super::connect::{self, Session};
use super::{Mysql, found_tables};
use crate::leases::{IDENTITY, LeaseBackend, LeaseSql, Statement, record};
use crate::row::finish;
use crate::store::CallError;

pub(super) const TABLE_SQL: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS leafid_worker (
        pool VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        worker BIGINT NOT NULL,
        epoch BIGINT NOT NULL,
        holder VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        address VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        until_ms BIGINT NOT NULL,
        updated TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
        PRIMARY KEY (pool, worker)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS leafid_pool (
        pool VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        layout VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (pool)
    ) ENGINE=InnoDB",
];

impl LeaseBackend for Mysql {
    const SQL: LeaseSql = LeaseSql {
        keep_layout: "INSERT INTO leafid_pool (pool, layout) VALUES (?, ?)",
        insert: "INSERT INTO leafid_worker (pool, worker, epoch, holder, address, until_ms) \
            VALUES (?, ?, ?, ?, ?, ?)",
        replace: "UPDATE leafid_worker SET epoch = ?, holder = ?, address = ?, until_ms = ? \
            WHERE pool = ? AND worker = ? AND epoch = ? AND until_ms = ?",
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
        if found.must_create_registry()? {
            for table in TABLE_SQL {
                sqlx::raw_sql(table)
                    .execute(&mut session.connection)
                    .await?;
            }
        }
        Ok(())
    }

    async fn change(
        &self,
        session: &mut Session,
        statement: &Statement<'_>,
    ) -> Result<bool, CallError> {
        let mut transaction = session.connection.begin().await?;
        let answer = change_in(&mut transaction, statement).await;
        finish(transaction, answer).await
    }

    async fn layout(&self, session: &mut Session, pool: &str) -> Result<Option<String>, CallError> {
        let select = "SELECT layout FROM leafid_pool WHERE pool = ?";
        let query = sqlx::query_scalar(select).bind(pool);
        Ok(query.fetch_optional(&mut session.connection).await?)
    }

    async fn leases(
        &self,
        session: &mut Session,
        pool: &str,
    ) -> Result<Vec<LeaseRecord>, CallError> {
        let select = "SELECT worker, epoch, holder, address, until_ms FROM leafid_worker \
            WHERE pool = ? ORDER BY worker";
        let query = sqlx::query(select).bind(pool);
        let rows = query.fetch_all(&mut session.connection).await?;
        rows.iter().map(|row| record(pool, row)).collect()
    }

    async fn lease(
        &self,
        session: &mut Session,
        pool: &str,
        worker: i64,
    ) -> Result<Option<LeaseRecord>, CallError> {
        row_of(&mut session.connection, pool, worker).await
    }

    async fn clock_ms(&self, session: &mut Session) -> Result<Option<i64>, CallError> {
        // Not UNIX_TIMESTAMP(NOW()), which is wrong in the hour in which summer time ends.
        let select = "SELECT CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', \
            UTC_TIMESTAMP(3)) DIV 1000 AS SIGNED)";
        let row = sqlx::raw_sql(select)
            .fetch_one(&mut session.connection)
            .await?;
        Ok(Some(row.try_get(0)?))
    }
}

/// Gives the database what tells it from others, unless it has it.
pub(super) async fn keep_identity(connection: &mut MySqlConnection) -> Result<(), CallError> {
    let (sql, new) = (<Mysql as LeaseBackend>::SQL, new_identity());
    let statement = Statement::keep_layout(&sql, IDENTITY, &new);
    change_in(connection, &statement).await.map(drop)
}

/// Changes a row, and reads it back.
async fn change_in(
    connection: &mut MySqlConnection,
    statement: &Statement<'_>,
) -> Result<bool, CallError> {
    match statement.query().execute(&mut *connection).await {
        Ok(done) if done.rows_affected() == 1 => {}
        Ok(_) => return Ok(false),
        // There is a row with the key of the new one.
        Err(error) if connect::number(&error) == Some(1062) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    if let Some((pool, worker)) = statement.row() {
        statement.check_kept(row_of(connection, pool, worker).await?.as_ref())?;
    }
    Ok(true)
}

async fn row_of(
    connection: &mut MySqlConnection,
    pool: &str,
    worker: i64,
) -> Result<Option<LeaseRecord>, CallError> {
    let select = "SELECT worker, epoch, holder, address, until_ms FROM leafid_worker \
        WHERE pool = ? AND worker = ?";
    let query = sqlx::query(select).bind(pool).bind(worker);
    let row = query.fetch_optional(connection).await?;
    row.map(|row| record(pool, &row)).transpose()
}
