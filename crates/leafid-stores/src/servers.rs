//! `Servers`: a store on MySQL or PostgreSQL servers: connects to the first writable server of a
//! list, checks it, runs transactions, and creates the tables. A [`Product`] has the differences.

mod create;
mod product;

use std::sync::Arc;

use leafid::store::{Reserve, Reserved, StoreError, StoreReport};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Transaction};
use url::Url;

use crate::backend::{Backend, probe};
use crate::fail_over::{at_server, first_of, server_fault};
use crate::identity_check::IdentityCheck;
use crate::leases::IDENTITY;
use crate::options::Patience;
use crate::row::{ReserveOutcome, SideTables};
use crate::schema::Shape;
use crate::sql::{Dialect, Need, Row as _, Work};
use crate::sql_error::{CallError, SqlError};
use crate::{InitReport, StoreOptions};
#[cfg(feature = "mysql")]
pub(crate) use create::create_beside;
pub(crate) use create::create_missing;
use create::{create_registry, found_tables};
pub(crate) use product::{Look, Product};

pub(crate) struct Servers<P: Product> {
    product: P,
    /// In the order in which they are tried, with their URLs for messages.
    servers: Vec<(P::Options, String)>,
    /// Whether another one takes over from the one in use (fail-over).
    is_listed: bool,
    identity_check: Arc<IdentityCheck>,
    options: StoreOptions,
    /// Begins each transaction.
    begin: String,
}

/// A connection, and the shape of the tables when it was made.
pub(crate) struct Session<P: Product> {
    pub(crate) connection: P::Connection,
    shape: Shape,
    /// The server's URL, as shown to people.
    name: String,
    /// Whether the database has an identity.
    has_identity: bool,
    /// The transport security of the connection.
    server: P::Options,
}

impl<P: Product> Servers<P> {
    pub(crate) fn new(product: P, servers: &[Url], options: &StoreOptions) -> Self {
        let one = |url: &Url| {
            let server = P::server(url).disable_statement_logging();
            (server, product.public(url))
        };
        Self {
            product,
            servers: servers.iter().map(one).collect(),
            is_listed: servers.len() > 1,
            identity_check: IdentityCheck::at(servers),
            options: *options,
            begin: P::begin(options),
        }
    }

    /// For one server of a list.
    pub(crate) fn listed(product: P, server: &Url, options: &StoreOptions) -> Self {
        Self {
            is_listed: true,
            ..Self::new(product, std::slice::from_ref(server), options)
        }
    }

    /// For the server that a pool of the program connects to.
    pub(crate) fn of_pool(product: P, server: &P::Options, options: &StoreOptions) -> Self {
        let own = P::without_session(server.clone()).disable_statement_logging();
        Self {
            servers: vec![(own, P::name(server))],
            identity_check: Arc::default(),
            ..Self::new(product, &[], options)
        }
    }

    async fn first_usable(&self, patience: Patience) -> Result<Session<P>, StoreError> {
        let options = self.options.with_patience(patience);
        let timeout = options.connect_timeout_of(self.servers.len());
        let tries = self.servers.iter();
        let tries = tries.map(|(server, name)| (name, self.open(server, name)));
        first_of(tries, timeout).await
    }

    /// Connects twice at first: if a load balancer stands before different databases, the second
    /// connection leads to another one.
    async fn compared(&self, patience: Patience) -> Result<Session<P>, StoreError> {
        if self.identity_check.is_compared() {
            return self.first_usable(patience).await;
        }
        let (session, other) =
            tokio::join!(self.first_usable(patience), self.first_usable(patience));
        self.identity_check
            .compared(session.is_ok() && other.is_ok());
        self.identity_check.allow()?;
        session.or(other)
    }

    async fn open(&self, server: &P::Options, name: &str) -> Result<Session<P>, StoreError> {
        let fault = |error: SqlError| server_fault::<P::Connection>(name, error);
        let connected = server.connect().await;
        let mut connection = connected.map_err(|error| fault(error.into()))?;
        let set = self.product.set_session(&mut connection, &self.options);
        set.await.map_err(fault)?;
        let (shape, has_identity) = self.check_server(&mut connection, name).await?;
        P::probe_new(&mut connection).await.map_err(fault)?;
        Ok(Session {
            connection,
            shape,
            name: name.to_owned(),
            has_identity,
            server: server.clone(),
        })
    }

    /// Refuses a server that is read-only, cannot hold ids, or could lose what it acknowledges.
    /// Checked for each connection: the same address may be another server by then, or a setting
    /// may have changed.
    async fn check_server(
        &self,
        connection: &mut P::Connection,
        name: &str,
    ) -> Result<(Shape, bool), StoreError> {
        let fault = |error: SqlError| server_fault::<P::Connection>(name, error);
        let look = self.product.look(connection, &self.begin, self.is_listed);
        let look = look.await.map_err(fault)?;
        if let Some((reason, cause)) = look.read_only {
            let message = format!("{name} is read-only: {reason}");
            return Err(StoreError::unavailable(message, cause));
        }
        if let Some(error) = look.unfit {
            return Err(at_server(name, error));
        }
        let location = name.to_owned();
        self.options.check_durability(StoreReport {
            location,
            ..look.report
        })?;
        let identity = match look.has_pools {
            true => database_identity(connection).await.map_err(fault)?,
            false => None,
        };
        let has_identity = identity.is_some();
        self.identity_check
            .check_connection(name, look.place, identity)?;
        Ok((look.shape, has_identity))
    }

    /// A segment of a different database is lost: behind a proxy that keeps our connection only the
    /// reservation can detect it.
    async fn reserve_once(
        &self,
        session: &mut Session<P>,
        reserve: &Reserve,
    ) -> Result<ReserveOutcome, CallError> {
        let side_tables = SideTables {
            own: session.shape.own,
            has_identity: session.has_identity,
        };
        let connection = &mut session.connection;
        let found = P::reserve(connection, &self.begin, side_tables, reserve).await?;
        let identity = found.identity.clone();
        self.identity_check.check(&session.name, identity)?;
        Ok(found)
    }

    async fn begin<'a>(
        &self,
        connection: &'a mut P::Connection,
    ) -> Result<Transaction<'a, P::Database>, sqlx::Error> {
        let begin = AssertSqlSafe(self.begin.clone());
        connection.begin_with(begin).await
    }
}

impl<P: Product> Session<P> {
    async fn meet(&mut self, need: Need) -> Result<(), CallError> {
        if need == Need::Nothing {
            return Ok(());
        }
        if self.shape.own.may_have_grown() {
            self.shape = P::look_again(&mut self.connection, self.shape).await?;
        }
        match need {
            _ if self.shape.own.exists => Ok(()),
            Need::Table(what) => Err(CallError::no_own_table(what)),
            Need::Sight => P::check_sight(&mut self.connection).await,
            Need::Look | Need::Nothing => Ok(()),
        }
    }
}

/// Commits on success and rolls back otherwise.
async fn finish<D: sqlx::Database, T>(
    transaction: Transaction<'_, D>,
    answer: Result<T, CallError>,
) -> Result<T, CallError> {
    match answer {
        Ok(answer) => {
            transaction.commit().await?;
            Ok(answer)
        }
        Err(error) => {
            transaction.rollback().await?;
            Err(error)
        }
    }
}

impl<P: Product> Backend for Servers<P> {
    type Connection = Session<P>;
    type Dialect = P::Connection;

    const CONNECTIONS_MAX: usize = usize::MAX;

    /// A list is tried as fast as ever first: its first server may be gone.
    async fn connect(&self, patience: Patience) -> Result<Session<P>, StoreError> {
        if patience == Patience::Long
            && self.servers.len() > 1
            && let Ok(session) = self.compared(Patience::Usual).await
        {
            return Ok(session);
        }
        self.compared(patience).await
    }

    fn server(session: &Session<P>) -> Option<&str> {
        Some(&session.name)
    }

    async fn is_alive(&self, session: &mut Session<P>) -> bool {
        session.connection.ping().await.is_ok()
    }

    fn refusal(&self) -> Option<String> {
        self.identity_check.refusal()
    }

    async fn recheck(&self, session: &mut Session<P>) -> Result<(), StoreError> {
        let checked = self.check_server(&mut session.connection, &session.name);
        (session.shape, session.has_identity) = checked.await?;
        Ok(())
    }

    async fn run<W: Work>(
        &self,
        session: &mut Session<P>,
        work: W,
    ) -> Result<W::Answer, CallError> {
        if P::ALWAYS_IN_TRANSACTION {
            return self.transact(session, work).await;
        }
        session.meet(work.need()).await?;
        work.run(&mut session.connection, session.shape).await
    }

    async fn transact<W: Work>(
        &self,
        session: &mut Session<P>,
        work: W,
    ) -> Result<W::Answer, CallError> {
        session.meet(work.need()).await?;
        let shape = session.shape;
        let mut transaction = self.begin(&mut session.connection).await?;
        let answer = work.run(&mut *transaction, shape).await;
        finish(transaction, answer).await
    }

    async fn reserve(
        &self,
        session: &mut Session<P>,
        reserve: &Reserve,
    ) -> Result<Reserved, CallError> {
        let mut found = self.reserve_once(session, reserve).await?;
        if found.came_since {
            // Our own table may know of a former tag of this name. The segment is skipped.
            session.meet(Need::Look).await?;
            found = self.reserve_once(session, reserve).await?;
        }
        Ok(found.reserved)
    }

    async fn inspect(&self, session: &mut Session<P>) -> Result<StoreReport, CallError> {
        let connection = &mut session.connection;
        let look = self.product.look(connection, &self.begin, self.is_listed);
        let look = look.await?;
        session.shape = look.shape;
        let transport = P::transport(&session.server, connection, &look).await?;
        Ok(StoreReport {
            transport: Some(transport),
            ..look.report
        })
    }

    async fn init(&self, session: &mut Session<P>) -> Result<InitReport, CallError> {
        let connection = &mut session.connection;
        if !P::ALWAYS_IN_TRANSACTION {
            return self.product.create_missing(connection, session.shape).await;
        }
        let mut transaction = self.begin(connection).await?;
        let created = self.product.create_missing(&mut transaction, session.shape);
        let answer = created.await;
        finish(transaction, answer).await
    }

    async fn probe(&self, session: &mut Session<P>) -> Result<(), CallError> {
        Ok(probe(&mut session.connection).await?)
    }

    fn known_identity(&self) -> Option<String> {
        self.identity_check.identity()
    }

    fn check_identity(&self, session: &Session<P>, found: &str) -> Result<(), CallError> {
        let found = Some(found.to_owned());
        Ok(self.identity_check.check(&session.name, found)?)
    }

    async fn prepare(&self, session: &mut Session<P>) -> Result<(), CallError> {
        let connection = &mut session.connection;
        let found = found_tables::<P>(connection).await?;
        if !found.must_create_registry()? {
            return Ok(());
        }
        if !P::ALWAYS_IN_TRANSACTION {
            return Ok(create_registry::<P>(connection).await?);
        }
        let mut transaction = self.begin(connection).await?;
        let answer = create_registry::<P>(&mut transaction).await;
        finish(transaction, answer.map_err(CallError::from)).await
    }

    async fn clock_ms(&self, session: &mut Session<P>) -> Result<Option<i64>, CallError> {
        let row = session.connection.row(P::CLOCK_MS, &[]).await?;
        Ok(row.map(|row| row.number(0)).transpose()?)
    }
}

/// Selects the identity of the database.
pub(crate) fn identity_sql<D: Dialect>() -> String {
    let layout = D::LAYOUT;
    format!("SELECT {layout} FROM leafid_pool WHERE pool = '{IDENTITY}'")
}

/// The identity of the database, if it has one and the user may read it.
async fn database_identity<D: Dialect>(connection: &mut D) -> Result<Option<String>, SqlError> {
    match connection.row(&identity_sql::<D>(), &[]).await {
        Err(error) if D::is_denied(&error) => Ok(None),
        row => row?.map(|row| row.text(0)).transpose(),
    }
}
