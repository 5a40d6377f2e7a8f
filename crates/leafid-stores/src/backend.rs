//! `Backend`: one kind of SQL database, as [`SqlStore`](crate::store::SqlStore) drives it.

use std::future::Future;

use leafid::store::{Reserve, Reserved, StoreError, StoreReport};

use crate::InitReport;
use crate::sql::{Dialect, Work};
use crate::sql_error::{CallError, SqlError};

/// One kind of database. Every call gets a connection of its own.
pub(crate) trait Backend: Send + Sync + 'static {
    type Connection: Send + 'static;
    type Dialect: Dialect;

    /// The most connections that help.
    const CONNECTIONS_MAX: usize;

    /// Connects to the first server that can be used.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, StoreError>> + Send;

    /// The server that a connection goes to, as people may see it; `None` where there is only one.
    fn server(connection: &Self::Connection) -> Option<&str>;

    fn is_alive(&self, connection: &mut Self::Connection) -> impl Future<Output = bool> + Send;

    /// Why this process may not use the store any more, whatever it answers later.
    fn refusal(&self) -> Option<String>;

    /// Checks again whether the connection's server keeps what it acknowledges, and is the same
    /// database as before.
    fn recheck(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Does work that changes nothing.
    fn run<W: Work>(
        &self,
        connection: &mut Self::Connection,
        work: W,
    ) -> impl Future<Output = Result<W::Answer, CallError>> + Send;

    /// Does work in one transaction, which is committed if it went well.
    fn transact<W: Work>(
        &self,
        connection: &mut Self::Connection,
        work: W,
    ) -> impl Future<Output = Result<W::Answer, CallError>> + Send;

    fn reserve(
        &self,
        connection: &mut Self::Connection,
        reserve: &Reserve,
    ) -> impl Future<Output = Result<Reserved, CallError>> + Send;

    /// What the store is; its location is filled in by the caller.
    fn inspect(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<StoreReport, CallError>> + Send;

    /// Creates the tables that are missing.
    fn init(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<InitReport, CallError>> + Send;

    /// Whether rows may be written now: a statement that changes none, and that the database
    /// refuses where it would refuse a reservation.
    fn probe(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// What told the database from others when a connection was last made to it.
    fn known_identity(&self) -> Option<String>;

    /// Refuses a database that is another one than before.
    fn check_identity(&self, connection: &Self::Connection, found: &str) -> Result<(), CallError>;

    /// Creates the tables of a registry where that is safe; see `schema.rs`.
    fn prepare(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Milliseconds since 1970-01-01T00:00:00Z; `None` if the clock is that of this machine.
    fn clock_ms(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<i64>, CallError>> + Send;
}

/// Changes no row of `leaf_alloc`, and asks for all that a reservation needs: the table, the right
/// to write it, a server that is no replica and, with Galera, one that has its majority.
const PROBE_SQL: &str = "UPDATE leaf_alloc SET max_id = max_id WHERE 1 = 0";

/// Whether the database lets `leaf_alloc` be written.
pub(crate) async fn probe<D: Dialect>(connection: &mut D) -> Result<(), SqlError> {
    connection.execute(PROBE_SQL, &[]).await.map(drop)
}

/// What calls get of a store that this process may not use any more.
pub(crate) fn refused(reason: &str) -> StoreError {
    StoreError::unavailable(
        format!("{reason}; then start this program again"),
        "nothing more is reserved from it by this process",
    )
}
