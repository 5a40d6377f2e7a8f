//! `Backend`: one kind of SQL database, as [`SqlStore`](crate::store::SqlStore) drives it.

use std::future::Future;

use leafid::store::{Reserve, Reserved, StoreError, StoreReport};

use crate::InitReport;
use crate::options::Patience;
use crate::sql::{Dialect, Work};
use crate::sql_error::{CallError, SqlError};

/// One kind of database. Every call gets a connection of its own.
pub(crate) trait Backend: Send + Sync + 'static {
    type Connection: Send + 'static;
    type Dialect: Dialect;

    /// The maximum useful number of connections.
    const CONNECTIONS_MAX: usize;

    /// Connects to the first server that can be used.
    fn connect(
        &self,
        patience: Patience,
    ) -> impl Future<Output = Result<Self::Connection, StoreError>> + Send;

    /// The server that a connection goes to, as shown to people; `None` if there is only one.
    fn server(connection: &Self::Connection) -> Option<&str>;

    fn is_alive(&self, connection: &mut Self::Connection) -> impl Future<Output = bool> + Send;

    /// Why this process may no longer use the store, whatever it answers later.
    fn refusal(&self) -> Option<String>;

    /// Checks again whether the connection's server is durable, and is the same database as before.
    fn recheck(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Runs work that changes nothing.
    fn run<W: Work>(
        &self,
        connection: &mut Self::Connection,
        work: W,
    ) -> impl Future<Output = Result<W::Answer, CallError>> + Send;

    /// Runs work in one transaction, which is committed if it succeeded.
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

    /// What the store is; the caller fills in its location.
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
    /// refuses if it would refuse a reservation.
    fn probe(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// The identity of the database when a connection was last made to it.
    fn known_identity(&self) -> Option<String>;

    /// Refuses a database that is not the same as before.
    fn check_identity(&self, connection: &Self::Connection, found: &str) -> Result<(), CallError>;

    /// Creates the tables of a registry where that is safe; see `schema.rs`.
    fn prepare(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Milliseconds since 1970-01-01T00:00:00Z; `None` if its clock is that of this machine.
    fn clock_ms(
        &self,
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Option<i64>, CallError>> + Send;
}

/// Changes no row of `leaf_alloc`, and needs all that a reservation needs: the table, the
/// permission to write it, a server that is not a replica and, with Galera, one in the majority.
const PROBE_SQL: &str = "UPDATE leaf_alloc SET max_id = max_id WHERE 1 = 0";

/// Whether the database accepts writes to `leaf_alloc`.
pub(crate) async fn probe<D: Dialect>(connection: &mut D) -> Result<(), SqlError> {
    connection.execute(PROBE_SQL, &[]).await.map(drop)
}

/// The error of calls to a store that this process may no longer use.
pub(crate) fn refused(reason: &str) -> StoreError {
    StoreError::unavailable(
        format!("{reason}; then start this program again"),
        "nothing more is reserved from it by this process",
    )
}
