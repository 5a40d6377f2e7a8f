//! PostgreSQL: connections, their settings, and the list of tables.

mod create;
mod dialect;
mod report;
mod reserve;
mod schema;

use leafid::store::{Reserve, Transport};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{AssertSqlSafe, PgConnection};
use url::Url;

use self::schema::Schema;
use crate::row::{ReserveOutcome, SideTables};
use crate::schema::{OwnTable, Shape, TABLES};
use crate::servers::{Look, Product, create_missing};
use crate::sql::{Dialect, Row as _};
use crate::sql_error::{CallError, SqlError};
use crate::transport::Encryption;
use crate::url::servers::public;
use crate::{InitReport, StoreOptions};

#[derive(Clone, Copy)]
pub(crate) struct Postgres;

impl Product for Postgres {
    type Database = sqlx::Postgres;
    type Connection = PgConnection;
    type Options = PgConnectOptions;

    /// A pooler such as PgBouncer may use another server connection for each one.
    const ALWAYS_IN_TRANSACTION: bool = true;
    const CREATE: [&'static str; TABLES.len()] = create::CREATE;
    /// Of many first starts at once one creates the tables; `IF NOT EXISTS` alone does not prevent
    /// conflicts. The number is the letters `leafid` in ASCII.
    const CREATE_LOCK: Option<&'static str> = Some("SELECT pg_advisory_xact_lock(119182681598308)");
    const ADD_COLUMN: &'static str = "ALTER TABLE leafid_tag ADD COLUMN IF NOT EXISTS";
    const FORMAT: &'static str = "varchar(500)";
    /// The tables that a statement finds without naming a schema.
    const FOUND_TABLES: &'static str = "SELECT name FROM unnest(ARRAY['leaf_alloc', \
        'leafid_tag', 'leafid_worker', 'leafid_pool', 'leafid_audit']) AS name \
        WHERE to_regclass(name) IS NOT NULL";
    const CLOCK_MS: &'static str =
        "SELECT floor(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint";

    async fn create_missing(
        &self,
        connection: &mut PgConnection,
        shape: Shape,
    ) -> Result<InitReport, CallError> {
        create_missing::<Self>(connection, shape).await
    }

    fn server(url: &Url) -> PgConnectOptions {
        let options = url.as_str().parse();
        Self::without_session(options.expect("a StoreUrl was parsed by this very function"))
    }

    /// No setting travels with the first packet: PgBouncer refuses those that it does not know.
    fn without_session(server: PgConnectOptions) -> PgConnectOptions {
        let server = server.extra_float_digits(None);
        match server.get_application_name() {
            Some(_) => server,
            None => server.application_name("leafid"),
        }
    }

    fn public(&self, url: &Url) -> String {
        public(url)
    }

    fn name(server: &PgConnectOptions) -> String {
        let user = server.get_username();
        let database = server.get_database().unwrap_or(user);
        let place = match server.get_socket() {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", server.get_host(), server.get_port()),
        };
        format!("postgres://{user}@{place}/{database}")
    }

    /// Whatever the server's defaults: each statement sees what others committed before it, an
    /// answer means that the commit is on disk, and a row that is locked is told from a server that
    /// is slow.
    fn begin(options: &StoreOptions) -> String {
        let timeout_ms = options.statement_timeout.as_millis().max(4);
        let lock_ms = timeout_ms * 3 / 4;
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; \
            SET LOCAL statement_timeout = {timeout_ms}; SET LOCAL lock_timeout = {lock_ms}"
        )
    }

    /// Each transaction sets its own.
    async fn set_session(&self, _: &mut PgConnection, _: &StoreOptions) -> Result<(), SqlError> {
        Ok(())
    }

    async fn look(
        &self,
        connection: &mut PgConnection,
        begin: &str,
        is_listed: bool,
    ) -> Result<Look, SqlError> {
        let begin = AssertSqlSafe(begin.to_owned());
        sqlx::raw_sql(begin).execute(&mut *connection).await?;
        let schema = Schema::read(connection).await;
        let ended = sqlx::raw_sql("ROLLBACK").execute(connection).await;
        let schema = schema?;
        ended?;
        let read_only = if schema.get("recovery") == "true" {
            Some(("it is a standby", "pg_is_in_recovery() is true".into()))
        } else if schema.get("transaction_read_only") == "on" {
            let reason = "default_transaction_read_only is on";
            Some((reason, "transaction_read_only is on".into()))
        } else {
            None
        };
        Ok(Look {
            read_only,
            shape: Shape::of(schema.own),
            has_pools: schema.has_pools,
            place: format!("{} {}", schema.get("system"), schema.get("database")),
            is_encrypted: schema.get("tls") == "true",
            report: report::report(&schema, is_listed),
            unfit: schema.unfit,
        })
    }

    /// A standby says that it is one.
    async fn probe_new(_: &mut PgConnection) -> Result<(), SqlError> {
        Ok(())
    }

    /// The table that a statement finds without naming a schema.
    async fn look_again(connection: &mut PgConnection, _: Shape) -> Result<Shape, SqlError> {
        let select = "SELECT attname::text FROM pg_attribute \
            WHERE attrelid = to_regclass('leafid_tag') AND attnum > 0 AND NOT attisdropped";
        let rows = connection.rows(select, &[]).await?;
        let columns: Result<Vec<String>, _> = rows.iter().map(|row| row.text(0)).collect();
        Ok(Shape::of(OwnTable::of(&columns?)))
    }

    /// Everyone may see which tables exist.
    async fn check_sight(_: &mut PgConnection) -> Result<(), CallError> {
        Ok(())
    }

    async fn transport(
        server: &PgConnectOptions,
        _: &mut PgConnection,
        look: &Look,
    ) -> Result<Transport, SqlError> {
        let mode = server.get_ssl_mode();
        let is_encrypted = match mode {
            PgSslMode::Disable | PgSslMode::Allow => false,
            PgSslMode::Prefer => look.is_encrypted,
            _ => true,
        };
        let host = server.get_host();
        let encryption = Encryption {
            host,
            is_socket: server.get_socket().is_some() || host.starts_with('/'),
            is_verified: matches!(mode, PgSslMode::VerifyCa | PgSslMode::VerifyFull),
            is_encrypted,
            remedy: "add sslmode=verify-full to its URL, and sslrootcert=FILE if its certificate \
                is of an authority of your own",
        };
        Ok(encryption.transport())
    }

    async fn reserve(
        connection: &mut PgConnection,
        begin: &str,
        side_tables: SideTables,
        reserve: &Reserve,
    ) -> Result<ReserveOutcome, CallError> {
        reserve::reserve(connection, begin, side_tables, reserve).await
    }

    fn is_column_there(_: &SqlError) -> bool {
        false
    }
}
