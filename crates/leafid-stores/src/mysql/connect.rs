//! Connecting to MySQL and MariaDB: the first server of the list that may be written to.

use leafid::store::{StoreError, StoreReport, Transport};
use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlSslMode};
use sqlx::{ConnectOptions, MySqlConnection, Row};
use url::Url;

use super::Mysql;
use super::report::Variables;
use super::schema::{self, Schema, Shape};
use crate::fail_over::{at_server, first_of, server_fault};
use crate::leases::IDENTITY;
use crate::store::{CallError, PROBE_SQL};
use crate::transport::Encryption;
use crate::url::servers::public;

/// Counts our own table.
pub(super) const HAS_OWN_TABLE: &str = "SELECT COUNT(*) FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_name = 'leafid_tag'";

/// A connection, and what the tables looked like when it was made.
pub(crate) struct Session {
    pub(super) connection: MySqlConnection,
    pub(super) shape: Shape,
    /// The server's URL, as people may see it.
    pub(super) name: String,
    /// Whether the database says which one it is.
    pub(super) has_identity: bool,
    /// How the server was reached.
    server: MySqlConnectOptions,
}

impl Session {
    /// Looks again: `leafid store init` may have run since.
    pub(super) async fn look_for_own_table(&mut self) -> Result<(), CallError> {
        if !self.shape.own.exists && !self.has_own_table().await? {
            return Ok(());
        }
        if self.shape.own.may_have_grown() {
            let schema = Schema::read(&mut self.connection, schema::TABLES).await?;
            self.shape = schema.shape;
        }
        Ok(())
    }

    /// Refuses where our own table may exist all the same: a user without a right to a table is
    /// not shown it, and nothing is known of a former life of a tag.
    pub(super) async fn need_sight_of_own_table(&mut self) -> Result<(), CallError> {
        let select = sqlx::raw_sql("SELECT 1 FROM leafid_tag LIMIT 0");
        match select.execute(&mut self.connection).await {
            Err(error) if matches!(number(&error), Some(1142 | 1143)) => {
                Err(CallError::unsupported(
                    "cannot see whether a tag of this name was deleted, because the user has no right \
                to the table leafid_tag: run `leafid store init`, and GRANT SELECT, INSERT, \
                UPDATE, DELETE ON leafid_tag",
                ))
            }
            _ => Ok(()),
        }
    }

    async fn has_own_table(&mut self) -> Result<bool, sqlx::Error> {
        let row = sqlx::raw_sql(HAS_OWN_TABLE)
            .fetch_one(&mut self.connection)
            .await?;
        Ok(row.try_get::<i64, _>(0)? > 0)
    }

    /// Whether the connection is encrypted, which by itself depends on what the server offers.
    pub(super) async fn transport(&mut self) -> Result<Transport, sqlx::Error> {
        let mode = self.server.get_ssl_mode();
        let is_encrypted = match mode {
            MySqlSslMode::Disabled => false,
            MySqlSslMode::Preferred => {
                let show = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
                let row = show.fetch_optional(&mut self.connection).await?;
                let cipher = row.map(|row| row.try_get::<String, _>(1)).transpose()?;
                cipher.is_some_and(|cipher| !cipher.is_empty())
            }
            _ => true,
        };
        let is_verified = matches!(mode, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity);
        let encryption = Encryption {
            host: self.server.get_host(),
            is_socket: self.server.get_socket().is_some(),
            is_verified,
            is_encrypted,
            remedy: "add ssl-mode=verify_identity to its URL, and ssl-ca=FILE if its certificate \
                is of an authority of your own",
        };
        Ok(encryption.transport())
    }

    pub(super) async fn need_own_table(&mut self, what: &str) -> Result<(), CallError> {
        self.look_for_own_table().await?;
        if self.shape.own.exists {
            Ok(())
        } else {
            Err(CallError::no_own_table(what))
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

impl Mysql {
    /// Connects twice at first: where a balancer stands before databases that are not one, the
    /// second connection leads to another one.
    pub(super) async fn connect_to_one(&self) -> Result<Session, StoreError> {
        if self.identity_check.is_compared() {
            return self.first_usable().await;
        }
        let (session, other) = tokio::join!(self.first_usable(), self.first_usable());
        self.identity_check
            .compared(session.is_ok() && other.is_ok());
        self.identity_check.allow()?;
        session.or(other)
    }

    async fn first_usable(&self) -> Result<Session, StoreError> {
        let timeout = self.options.connect_timeout_of(self.servers.len());
        let tries = self.servers.iter();
        let tries = tries.map(|(server, name)| (name, self.open(server, name)));
        first_of(tries, timeout).await
    }

    async fn open(&self, server: &MySqlConnectOptions, name: &str) -> Result<Session, StoreError> {
        let fault = |error: sqlx::Error| server_fault(name, remedy(&error), error);
        let mut connection = server.connect().await.map_err(fault)?;
        self.set_session(&mut connection).await.map_err(fault)?;
        let (shape, has_identity) = self.check_server(&mut connection, name).await?;
        match probe(&mut connection).await {
            // What is missing is missing on every server, and may be what `init` is about to make.
            Err(error) if matches!(number(&error), Some(1054 | 1142 | 1143 | 1146)) => {}
            answer => answer.map_err(fault)?,
        }
        Ok(Session {
            connection,
            shape,
            name: name.to_owned(),
            has_identity,
            server: server.clone(),
        })
    }

    /// Whatever the server's defaults: what a column cannot hold is an error, not the nearest
    /// value, and each statement commits.
    async fn set_session(&self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        let lock_seconds = self.options.statement_timeout.as_secs().max(1);
        let settings = format!(
            "SET SESSION autocommit = 1, completion_type = 0, sql_select_limit = 18446744073709551615, \
            innodb_lock_wait_timeout = {lock_seconds}, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
        );
        let settings = sqlx::raw_sql(sqlx::AssertSqlSafe(settings));
        settings.execute(connection).await.map(drop)
    }

    /// Refuses a server that is read-only, cannot hold ids, or could lose what it acknowledges.
    /// Looked at for each connection: the same address may be another server by then, or the same
    /// server have another setting.
    pub(super) async fn check_server(
        &self,
        connection: &mut MySqlConnection,
        name: &str,
    ) -> Result<(Shape, bool), StoreError> {
        let fault = |error: sqlx::Error| server_fault(name, remedy(&error), error);
        let variables = Variables::read(connection).await.map_err(fault)?;
        if let Some(value) = variables.read_only() {
            let message = format!("{name} is read-only: it is a replica, or read_only is on");
            let cause = format!("read_only is {value}");
            return Err(StoreError::unavailable(message, cause));
        }
        let mut schema = Schema::read(connection, self.tables).await.map_err(fault)?;
        schema.check().map_err(|error| at_server(name, error))?;
        let (shape, has_pools) = (schema.shape, schema.has_pools);
        let report = variables.report(schema, self.is_listed);
        let location = name.to_owned();
        self.options
            .check_durability(StoreReport { location, ..report })?;
        let identity = match has_pools {
            true => database_identity(connection).await.map_err(fault)?,
            false => None,
        };
        let has_identity = identity.is_some();
        let place = variables.place();
        self.identity_check
            .check_connection(name, place, identity)?;
        Ok((shape, has_identity))
    }
}

/// Selects what tells the database from others.
pub(super) fn identity_sql() -> String {
    format!("SELECT layout FROM leafid_pool WHERE pool = '{IDENTITY}'")
}

/// What tells the database from others, if it says so and the user may look.
async fn database_identity(
    connection: &mut MySqlConnection,
) -> Result<Option<String>, sqlx::Error> {
    let row = sqlx::raw_sql(sqlx::AssertSqlSafe(identity_sql())).fetch_optional(connection);
    match row.await {
        Err(error) if matches!(number(&error), Some(1142 | 1143)) => Ok(None),
        row => row?.map(|row| row.try_get(0)).transpose(),
    }
}

/// Whether the server lets `leaf_alloc` be written. A node of Galera that has lost its majority
/// answers everything else.
pub(super) async fn probe(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(PROBE_SQL).execute(connection).await?;
    Ok(())
}

/// The server's number for an error.
pub(super) fn number(error: &sqlx::Error) -> Option<u16> {
    let error = error
        .as_database_error()?
        .try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

/// A deadlock, two nodes of Galera that changed one row at once, or a lock held for too long.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1205 | 1213))
}

pub(super) fn remedy(error: &sqlx::Error) -> Option<&'static str> {
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
        1047 => "the node is not part of a Galera cluster that has its majority",
        1146 => "a table is missing: run `leafid store init`",
        1054 => {
            "a column is missing: the table is not Leaf's leaf_alloc, or leafid_tag is of an older version: run `leafid store init`"
        }
        1264 => {
            "a column cannot hold the number: ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL"
        }
        1364 => "a column of the table has no default value: give it one",
        1205 => "the row is locked by another transaction for too long",
        1213 => {
            "the server chose this transaction to end a deadlock or a conflict between nodes; nothing was changed"
        }
        1290 | 1792 | 1836 | 3100 => "the server has become read-only",
        1053 | 1077 | 1079 | 1927 => "the server is shutting down",
        _ => return None,
    })
}
