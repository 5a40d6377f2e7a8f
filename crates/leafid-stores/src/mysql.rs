//! MySQL and MariaDB: Leaf's own table unchanged, and ours beside it.
//!
//! A name is compared twice: `biz_tag = ?` finds the row through the index, with whatever collation
//! the column has, and then the comparison of bytes decides.

mod baidu;
mod create;
mod dialect;
mod report;
mod reserve;
mod schema;

use leafid::store::{Reserve, Transport};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{MySqlConnection, Row as _};
use url::Url;

use self::report::Variables;
use self::schema::Schema;
use crate::backend::probe;
use crate::row::{ReserveOutcome, SideTables};
use crate::schema::{Shape, TABLES};
use crate::servers::{Look, Product, create_beside, create_missing};
use crate::sql::{Dialect, Row as _};
use crate::sql_error::{CallError, SqlError};
use crate::transport::Encryption;
use crate::url::servers::{GEAR_KEY_OPTION, public};
use crate::{InitReport, StoreOptions};

/// Counts our own table.
const HAS_OWN_TABLE: &str = "SELECT COUNT(*) FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_name = 'leafid_tag'";

/// Has the names of the tables that it checks.
#[derive(Clone, Copy)]
pub(crate) struct Mysql(&'static str);

impl Mysql {
    /// For segments and a registry.
    pub(crate) const STORE: Self = Self(schema::TABLES);
    /// For the table `WORKER_NODE` alone.
    pub(crate) const WORKER_NODE: Self = Self(schema::WORKER_NODE);
    /// For the table `gear_key` alone.
    pub(crate) const GEAR_KEY: Self = Self(schema::GEAR_KEY);
}

impl Product for Mysql {
    type Database = sqlx::MySql;
    type Connection = MySqlConnection;
    type Options = MySqlConnectOptions;

    const ALWAYS_IN_TRANSACTION: bool = false;
    const CREATE: [&'static str; TABLES.len()] = create::CREATE;
    const CREATE_LOCK: Option<&'static str> = None;
    const ADD_COLUMN: &'static str = "ALTER TABLE leafid_tag ADD COLUMN";
    const FORMAT: &'static str = "varchar(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
    const FOUND_TABLES: &'static str = "SELECT CAST(table_name AS CHAR) \
        FROM information_schema.tables \
        WHERE table_schema = DATABASE() AND table_name LIKE 'leaf%'";
    /// Not `UNIX_TIMESTAMP(NOW())`, which is wrong in the hour in which summer time ends.
    const CLOCK_MS: &'static str = "SELECT CAST(TIMESTAMPDIFF(MICROSECOND, \
        '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000 AS SIGNED)";

    async fn create_missing(
        &self,
        connection: &mut MySqlConnection,
        shape: Shape,
    ) -> Result<InitReport, CallError> {
        if self.0 != schema::GEAR_KEY {
            return create_missing::<Self>(connection, shape).await;
        }
        let mut report = create_beside::<Self>(connection, shape).await?;
        let table = "gear_key".to_owned();
        match connection.execute(crate::gear_key::TABLE_SQL, &[]).await {
            Ok(_) => report.created.push(table),
            // The table exists.
            Err(error) if error.number() == Some(1050) => report.found.push(table),
            Err(error) => return Err(error.into()),
        }
        Ok(report)
    }

    fn server(url: &Url) -> MySqlConnectOptions {
        let options = url.as_str().parse();
        options.expect("a StoreUrl was parsed by this very function")
    }

    /// [`set_session`](Product::set_session) sets the character set.
    fn without_session(server: MySqlConnectOptions) -> MySqlConnectOptions {
        server.set_names(false).timezone("+00:00".to_owned())
    }

    fn public(&self, url: &Url) -> String {
        match self.0 == schema::GEAR_KEY {
            true => public(url) + GEAR_KEY_OPTION,
            false => public(url),
        }
    }

    fn name(server: &MySqlConnectOptions) -> String {
        let database = server.get_database().unwrap_or_default();
        let place = match server.get_socket() {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", server.get_host(), server.get_port()),
        };
        format!("mysql://{}@{place}/{database}", server.get_username())
    }

    fn begin(_: &StoreOptions) -> String {
        "BEGIN".into()
    }

    /// Whatever the server's defaults, and those of a pool: text is UTF-8, what a column cannot hold is an error, not the nearest
    /// value, and each statement commits.
    async fn set_session(
        &self,
        connection: &mut MySqlConnection,
        options: &StoreOptions,
    ) -> Result<(), SqlError> {
        let lock_seconds = options.statement_timeout.as_secs().max(1);
        // Others on this table write their own time zone into its DATETIME columns.
        let time_zone = match self.0 == schema::GEAR_KEY {
            true => ", time_zone = @@global.time_zone",
            false => "",
        };
        let settings = format!(
            "SET NAMES utf8mb4, SESSION autocommit = 1, completion_type = 0, sql_select_limit = 18446744073709551615, \
            innodb_lock_wait_timeout = {lock_seconds}, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'{time_zone}"
        );
        connection.execute(&settings, &[]).await.map(drop)
    }

    async fn look(
        &self,
        connection: &mut MySqlConnection,
        _begin: &str,
        is_listed: bool,
    ) -> Result<Look, SqlError> {
        let variables = Variables::read(connection).await?;
        let schema = Schema::read(connection, self.0).await?;
        let read_only = variables.read_only().map(|value| {
            let reason = "it is a replica, or read_only is on";
            (reason, format!("read_only is {value}"))
        });
        Ok(Look {
            read_only,
            shape: schema.shape,
            has_pools: schema.has_pools,
            place: variables.place(),
            #[cfg(feature = "postgres")]
            is_encrypted: false,
            report: variables.report(&schema, is_listed),
            unfit: schema.unfit,
        })
    }

    /// A missing table is missing on every server, and may be what `init` is about to create.
    async fn probe_new(connection: &mut MySqlConnection) -> Result<(), SqlError> {
        match probe(connection).await {
            Err(error) if matches!(error.number(), Some(1054 | 1142 | 1143 | 1146)) => Ok(()),
            answer => answer,
        }
    }

    async fn look_again(connection: &mut MySqlConnection, shape: Shape) -> Result<Shape, SqlError> {
        let has_own_table = shape.own.exists || {
            let row = connection.row(HAS_OWN_TABLE, &[]).await?;
            row.is_some_and(|row| row.number(0).is_ok_and(|count| count > 0))
        };
        match has_own_table {
            true => Ok(Schema::read(connection, schema::TABLES).await?.shape),
            false => Ok(shape),
        }
    }

    async fn check_sight(connection: &mut MySqlConnection) -> Result<(), CallError> {
        let select = "SELECT 1 FROM leafid_tag LIMIT 0";
        match connection.rows(select, &[]).await {
            Err(error) if MySqlConnection::is_denied(&error) => Err(CallError::unsupported(
                "cannot see whether a tag of this name was deleted, because the user has no \
                permission on the table leafid_tag: call leafid_stores::init, and GRANT SELECT, \
                INSERT, UPDATE, DELETE ON leafid_tag",
            )),
            _ => Ok(()),
        }
    }

    async fn transport(
        server: &MySqlConnectOptions,
        connection: &mut MySqlConnection,
        _: &Look,
    ) -> Result<Transport, SqlError> {
        let mode = server.get_ssl_mode();
        let is_encrypted = match mode {
            MySqlSslMode::Disabled => false,
            MySqlSslMode::Preferred => {
                let show = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
                let row = show.fetch_optional(connection).await?;
                let cipher = row.map(|row| row.try_get::<String, _>(1)).transpose()?;
                cipher.is_some_and(|cipher| !cipher.is_empty())
            }
            _ => true,
        };
        let is_verified = matches!(mode, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity);
        let encryption = Encryption {
            host: server.get_host(),
            is_socket: server.get_socket().is_some(),
            is_verified,
            is_encrypted,
            remedy: "add ssl-mode=verify_identity to its URL, and ssl-ca=FILE if its certificate \
                is of an authority of your own",
        };
        Ok(encryption.transport())
    }

    async fn reserve(
        connection: &mut MySqlConnection,
        _begin: &str,
        side_tables: SideTables,
        reserve: &Reserve,
    ) -> Result<ReserveOutcome, CallError> {
        reserve::reserve(connection, side_tables, reserve).await
    }

    fn is_column_there(error: &SqlError) -> bool {
        error.number() == Some(1060)
    }
}
