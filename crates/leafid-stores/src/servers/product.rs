//! `Product`: the differences between MySQL and PostgreSQL, as one trait.

use leafid::store::{Reserve, StoreError, StoreReport, Transport};
use sqlx::ConnectOptions;
use url::Url;

use crate::row::{ReserveOutcome, SideTables};
use crate::schema::{Shape, TABLES};
use crate::sql::Dialect;
use crate::sql_error::{CallError, SqlError};
use crate::{InitReport, StoreOptions};

/// One kind of database server.
pub(crate) trait Product: Copy + Send + Sync + 'static {
    type Database: sqlx::Database<Connection = Self::Connection>;
    type Connection: Dialect + sqlx::Connection<Database = Self::Database>;
    type Options: ConnectOptions<Connection = Self::Connection>;

    /// Whether every statement runs in a transaction of ours, which carries the settings.
    const ALWAYS_IN_TRANSACTION: bool;
    /// The statements that create [`TABLES`], in their order.
    const CREATE: [&'static str; TABLES.len()];
    /// Locks others out of creating tables until the transaction ends.
    const CREATE_LOCK: Option<&'static str>;
    /// Adds a column, whose name and type follow.
    const ADD_COLUMN: &'static str;
    /// The type of the column of formats.
    const FORMAT: &'static str;
    /// Selects the names of the tables.
    const FOUND_TABLES: &'static str;
    /// The clock, in milliseconds since 1970-01-01T00:00:00Z.
    const CLOCK_MS: &'static str;

    /// Creates what `init` creates, and returns a report of it.
    fn create_missing(
        &self,
        connection: &mut Self::Connection,
        shape: Shape,
    ) -> impl Future<Output = Result<InitReport, CallError>> + Send;

    /// How to connect to the server of a checked URL.
    fn server(url: &Url) -> Self::Options;

    /// Takes out of options of the program's own what our statements do not expect.
    fn without_session(server: Self::Options) -> Self::Options;

    /// The same by its URL: what people may write themselves, but for the password.
    fn public(&self, url: &Url) -> String;

    /// The server as people may see it.
    fn name(server: &Self::Options) -> String;

    /// Begins a transaction.
    fn begin(options: &StoreOptions) -> String;

    /// Gives a new connection its settings.
    fn set_session(
        &self,
        connection: &mut Self::Connection,
        options: &StoreOptions,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Inspects the server and its tables, as a transaction of ours sees them.
    fn look(
        &self,
        connection: &mut Self::Connection,
        begin: &str,
        is_listed: bool,
    ) -> impl Future<Output = Result<Look, SqlError>> + Send;

    /// Checks a new connection, whose tables may be missing.
    fn probe_new(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// The present shape, if our own table may have been created or upgraded.
    fn look_again(
        connection: &mut Self::Connection,
        shape: Shape,
    ) -> impl Future<Output = Result<Shape, SqlError>> + Send;

    /// Refuses if our own table may exist but be hidden from the user: then nothing is known of
    /// former tags.
    fn check_sight(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Whether the connection is encrypted, which depends on what the server offers.
    fn transport(
        server: &Self::Options,
        connection: &mut Self::Connection,
        look: &Look,
    ) -> impl Future<Output = Result<Transport, SqlError>> + Send;

    fn reserve(
        connection: &mut Self::Connection,
        begin: &str,
        side_tables: SideTables,
        reserve: &Reserve,
    ) -> impl Future<Output = Result<ReserveOutcome, CallError>> + Send;

    /// Whether an error says that the column exists already.
    fn is_column_there(error: &SqlError) -> bool;
}

/// The result of inspecting a server and its tables.
pub(crate) struct Look {
    /// The caller fills in its location.
    pub(crate) report: StoreReport,
    /// Why it may not be written to, and the setting that says so.
    pub(crate) read_only: Option<(&'static str, String)>,
    /// A column that cannot hold every value written to it.
    pub(crate) unfit: Option<StoreError>,
    pub(crate) shape: Shape,
    /// Whether there is the table of the pools of worker ids.
    pub(crate) has_pools: bool,
    /// The database server, and the name of the database there.
    pub(crate) place: String,
    /// Whether PostgreSQL says that the connection is encrypted.
    #[cfg(feature = "postgres")]
    pub(crate) is_encrypted: bool,
}
