//! Connecting to PostgreSQL: the first server of the list that may be written to.

use std::borrow::Cow;

use leafid::store::{StoreError, StoreReport, Transport};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, PgConnection, Row};
use url::Url;

use super::schema::Schema;
use super::{Postgres, report};
use crate::StoreOptions;
use crate::fail_over::{at_server, first_of, server_fault};
use crate::leases::IDENTITY;
use crate::schema::OwnTable;
use crate::store::{CallError, PROBE_SQL};
use crate::transport::Encryption;
use crate::url::servers::public;

/// A connection, and what there was of our own table when it was made.
pub(crate) struct Session {
    pub(super) connection: PgConnection,
    pub(super) own: OwnTable,
    /// The server's URL, as people may see it.
    pub(super) name: String,
    /// Whether the database says which one it is.
    pub(super) has_identity: bool,
    /// How the server was reached.
    server: PgConnectOptions,
}

impl Session {
    /// Looks again: `leafid store init` may have run since.
    pub(super) async fn look_for_own_table(&mut self) -> Result<(), CallError> {
        if self.own.may_have_grown() {
            self.own = own_table(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Whether the connection is encrypted, which by itself depends on what the server offers.
    pub(super) fn transport(&self, schema: &Schema) -> Transport {
        let mode = self.server.get_ssl_mode();
        let is_encrypted = match mode {
            PgSslMode::Disable | PgSslMode::Allow => false,
            PgSslMode::Prefer => schema.get("tls") == "true",
            _ => true,
        };
        let host = self.server.get_host();
        let encryption = Encryption {
            host,
            is_socket: self.server.get_socket().is_some() || host.starts_with('/'),
            is_verified: matches!(mode, PgSslMode::VerifyCa | PgSslMode::VerifyFull),
            is_encrypted,
            remedy: "add sslmode=verify-full to its URL, and sslrootcert=FILE if its certificate \
                is of an authority of your own",
        };
        encryption.transport()
    }

    pub(super) async fn need_own_table(&mut self, what: &str) -> Result<(), CallError> {
        self.look_for_own_table().await?;
        if self.own.exists {
            Ok(())
        } else {
            Err(CallError::no_own_table(what))
        }
    }
}

/// What there is of our own table; the one that a statement finds without naming a schema.
pub(super) async fn own_table(connection: &mut PgConnection) -> Result<OwnTable, sqlx::Error> {
    let select = "SELECT attname::text FROM pg_attribute \
        WHERE attrelid = to_regclass('leafid_tag') AND attnum > 0 AND NOT attisdropped";
    let rows = sqlx::raw_sql(select).fetch_all(connection).await?;
    let columns: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
    Ok(OwnTable::of(&columns?))
}

/// The servers. No setting travels with the first packet: PgBouncer refuses those that it does not
/// know.
pub(super) fn servers(servers: &[Url]) -> Vec<(PgConnectOptions, String)> {
    let one = |server: &Url| {
        let options: PgConnectOptions = server
            .as_str()
            .parse()
            .expect("a StoreUrl was parsed by this very function");
        let options = options.extra_float_digits(None);
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name("leafid"),
        };
        (options.disable_statement_logging(), public(server))
    };
    servers.iter().map(one).collect()
}

/// What begins a transaction. Whatever the server's defaults: each statement sees what others
/// committed before it, an answer means that the commit is on disk, and a row that is locked is
/// told from a server that is slow.
pub(super) fn begin(options: &StoreOptions) -> String {
    let timeout_ms = options.statement_timeout.as_millis().max(4);
    let lock_ms = timeout_ms * 3 / 4;
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; \
        SET LOCAL statement_timeout = {timeout_ms}; SET LOCAL lock_timeout = {lock_ms}"
    )
}

impl Postgres {
    /// What the server is, as a transaction of ours sees it.
    pub(super) async fn schema(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Schema, sqlx::Error> {
        let begin = sqlx::AssertSqlSafe(self.begin.clone());
        sqlx::raw_sql(begin).execute(&mut *connection).await?;
        let schema = Schema::read(connection).await;
        let ended = sqlx::raw_sql("ROLLBACK").execute(connection).await;
        let schema = schema?;
        ended?;
        Ok(schema)
    }

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

    async fn open(&self, server: &PgConnectOptions, name: &str) -> Result<Session, StoreError> {
        let fault = |error: sqlx::Error| server_fault(name, remedy(&error), error);
        let mut connection = server.connect().await.map_err(fault)?;
        let (own, has_identity) = self.check_server(&mut connection, name).await?;
        Ok(Session {
            connection,
            own,
            name: name.to_owned(),
            has_identity,
            server: server.clone(),
        })
    }

    /// Refuses a server that is read-only, cannot hold ids, or could lose what it acknowledges;
    /// answers what there is of our own table. Looked at for each connection: the same address may be
    /// another server by then, or the same server have another setting.
    pub(super) async fn check_server(
        &self,
        connection: &mut PgConnection,
        name: &str,
    ) -> Result<(OwnTable, bool), StoreError> {
        let fault = |error: sqlx::Error| server_fault(name, remedy(&error), error);
        let mut schema = self.schema(connection).await.map_err(fault)?;
        let read_only = |reason: &str, cause: &str| {
            let message = format!("{name} is read-only: {reason}");
            Err(StoreError::unavailable(message, cause))
        };
        if schema.get("recovery") == "true" {
            return read_only("it is a standby", "pg_is_in_recovery() is true");
        }
        if schema.get("transaction_read_only") == "on" {
            return read_only(
                "default_transaction_read_only is on",
                "transaction_read_only is on",
            );
        }
        schema.check().map_err(|error| at_server(name, error))?;
        let (own, has_pools) = (schema.own, schema.has_pools);
        let place = format!("{} {}", schema.get("system"), schema.get("database"));
        let report = report::report(schema, self.is_listed);
        let location = name.to_owned();
        self.options
            .check_durability(StoreReport { location, ..report })?;
        let identity = match has_pools {
            true => database_identity(connection).await.map_err(fault)?,
            false => None,
        };
        let has_identity = identity.is_some();
        self.identity_check
            .check_connection(name, place, identity)?;
        Ok((own, has_identity))
    }
}

/// Selects what tells the database from others.
pub(super) fn identity_sql() -> String {
    format!("SELECT layout::text FROM leafid_pool WHERE pool = '{IDENTITY}'")
}

/// What tells the database from others, if it says so and the user may look.
async fn database_identity(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    let row = sqlx::raw_sql(sqlx::AssertSqlSafe(identity_sql())).fetch_optional(connection);
    match row.await {
        Err(error) if code(&error).as_deref() == Some("42501") => Ok(None),
        row => row?.map(|row| row.try_get(0)).transpose(),
    }
}

/// Whether the server lets `leaf_alloc` be written.
pub(super) async fn probe(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(PROBE_SQL).execute(connection).await?;
    Ok(())
}

pub(super) fn code(error: &sqlx::Error) -> Option<Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// A deadlock, two transactions that cannot be put in an order, or a lock held for too long.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    matches!(code(error).as_deref(), Some("40001" | "40P01" | "55P03"))
}

pub(super) fn remedy(error: &sqlx::Error) -> Option<&'static str> {
    Some(match &*code(error)? {
        "53300" => "the server has too many connections: raise max_connections, or lower ours",
        "28P01" | "28000" => "user or password is wrong",
        "3D000" => "the database does not exist: create it",
        "42501" => {
            "the user lacks a right: grant SELECT, INSERT, UPDATE and DELETE on the tables (CREATE on the schema for `leafid store init`)"
        }
        "42P01" => "a table is missing: run `leafid store init`",
        "42703" => {
            "a column is missing: the table is not Leaf's leaf_alloc, or leafid_tag is of an older version: run `leafid store init`"
        }
        "55P03" | "57014" => {
            "the server did not finish in time: the row is locked, or the server is slow"
        }
        "40001" | "40P01" => {
            "the server chose this transaction to end a conflict; nothing was changed"
        }
        "25006" => "the server has become read-only",
        "57P01" | "57P02" | "57P03" => "the server is starting or shutting down",
        "53100" => "the server's disk is full",
        "22001" => "a text is too long for its column",
        _ => return None,
    })
}
