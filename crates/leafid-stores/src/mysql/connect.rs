//! Connecting to MySQL and MariaDB: the first server of the list that may be written to.

use leafid::store::StoreError;
use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError};
use sqlx::{ConnectOptions, MySqlConnection, Row};
use url::Url;

use crate::StoreOptions;
use crate::store::{Fault, first_of, server_fault};
use crate::url::servers::public;

/// A connection, and what the tables looked like when it was made.
pub(crate) struct Session {
    pub(super) connection: MySqlConnection,
    pub(super) shape: Shape,
}

/// What differs between the tables in the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) has_own_table: bool,
    /// The expression for the description: Leaf's column, or the one of the variant.
    pub(super) description: &'static str,
    /// Whether the column of the name sorts and compares by bytes.
    pub(super) is_binary: bool,
}

impl Session {
    /// Looks again: `leafid store init` may have run since.
    pub(super) async fn look_for_own_table(&mut self) -> Result<(), Fault> {
        if !self.shape.has_own_table {
            self.shape = shape(&mut self.connection).await?;
        }
        Ok(())
    }

    pub(super) async fn need_own_table(&mut self, what: &str) -> Result<(), Fault> {
        self.look_for_own_table().await?;
        if self.shape.has_own_table {
            Ok(())
        } else {
            Err(Fault::no_own_table(what))
        }
    }
}

pub(super) fn servers(servers: &[Url]) -> Vec<(MySqlConnectOptions, String)> {
    let one = |server: &Url| {
        let options: MySqlConnectOptions = server
            .as_str()
            .parse()
            .expect("a StoreUrl was parsed by this very function");
        (options.disable_statement_logging(), public(server))
    };
    servers.iter().map(one).collect()
}

pub(super) async fn first_usable(
    servers: &[(MySqlConnectOptions, String)],
    options: &StoreOptions,
) -> Result<Session, StoreError> {
    let timeout = options.connect_timeout_of(servers.len());
    let lock_seconds = options.statement_timeout.as_secs().max(1);
    let tries = servers
        .iter()
        .map(|(server, name)| (name, open(server, name, lock_seconds)));
    first_of(tries, timeout).await
}

async fn open(
    options: &MySqlConnectOptions,
    name: &str,
    lock_seconds: u64,
) -> Result<Session, StoreError> {
    let fault = |error: sqlx::Error| server_fault(name, hint(&error), error);
    let mut connection = options.connect().await.map_err(fault)?;
    // Whatever the server's default: what a column cannot hold is an error, not the nearest value.
    let settings = format!(
        "SET SESSION autocommit = 1, innodb_lock_wait_timeout = {lock_seconds}, \
        sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
    );
    let settings = sqlx::raw_sql(sqlx::AssertSqlSafe(settings));
    settings.execute(&mut connection).await.map_err(fault)?;
    let read_only = sqlx::raw_sql("SELECT CAST(@@global.read_only AS CHAR)");
    let read_only = read_only.fetch_one(&mut connection).await.map_err(fault)?;
    let read_only: String = read_only.try_get(0).map_err(fault)?;
    if !matches!(read_only.as_str(), "0" | "OFF") {
        let message = format!("{name} is read-only: it is a replica, or read_only is on");
        return Err(StoreError::unavailable(
            message,
            format!("read_only is {read_only}"),
        ));
    }
    let shape = shape(&mut connection).await.map_err(fault)?;
    Ok(Session { connection, shape })
}

async fn shape(connection: &mut MySqlConnection) -> Result<Shape, sqlx::Error> {
    let select = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR), \
        CAST(COALESCE(collation_name, '') AS CHAR) FROM information_schema.columns \
        WHERE table_schema = DATABASE() AND table_name IN ('leaf_alloc', 'leafid_tag')";
    let rows = sqlx::raw_sql(select).fetch_all(connection).await?;
    let mut shape = Shape {
        has_own_table: false,
        description: "NULL",
        is_binary: false,
    };
    for row in rows {
        let [table, column, collation]: [String; 3] =
            [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
        match (table.as_str(), column.to_lowercase().as_str()) {
            ("leafid_tag", _) => shape.has_own_table = true,
            (_, "biz_tag") => {
                shape.is_binary = matches!(
                    collation.as_str(),
                    "utf8mb4_bin"
                        | "utf8mb4_nopad_bin"
                        | "utf8mb4_0900_bin"
                        | "utf8mb3_bin"
                        | "utf8_bin"
                );
            }
            (_, "description") => shape.description = "a.description",
            (_, "desc") => shape.description = "a.`desc`",
            _ => {}
        }
    }
    Ok(shape)
}

/// The server's number for an error.
pub(super) fn number(error: &sqlx::Error) -> Option<u16> {
    let error = error
        .as_database_error()?
        .try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

pub(super) fn hint(error: &sqlx::Error) -> Option<&'static str> {
    Some(match number(error)? {
        1040 | 1203 | 1226 => {
            "the server has too many connections: raise max_connections, or lower ours"
        }
        1044 => "the user has no right to this database",
        1045 | 1698 => "user or password is wrong",
        1049 => "the database does not exist: create it",
        1142 | 1143 | 1227 => {
            "the user lacks a right: grant SELECT, INSERT, UPDATE and DELETE on the tables (CREATE for `leafid store init`)"
        }
        1146 => "a table is missing: run `leafid store init`",
        1054 => {
            "a column is missing: the table is not Leaf's leaf_alloc, or leafid_tag is of an older version: ALTER TABLE leafid_tag ADD COLUMN kind VARCHAR(16)"
        }
        1264 => {
            "a column cannot hold the number: ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL"
        }
        1364 => "a column of the table has no default value: give it one",
        1205 => "the row is locked by another transaction for too long",
        1213 => "the server chose this transaction to end a deadlock; nothing was changed",
        1290 | 1792 | 1836 | 3100 => "the server has become read-only",
        1053 | 1077 | 1079 | 1927 => "the server is shutting down",
        _ => return None,
    })
}
