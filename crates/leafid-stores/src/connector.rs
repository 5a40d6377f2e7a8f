//! `connect` and `Connector`: from a URL to generators in one call, with the driver running.

mod error;
mod hosted;
#[cfg(feature = "_sqlx")]
mod pool;

use std::fmt;
use std::sync::Arc;

use leafid::store::{SegmentStore, TagSettings};
use leafid::{Clock, Driver, Generators, Observer, Options, SystemClock};
use tokio::runtime::Handle;

pub use self::error::ConnectError;
use self::hosted::{Host, Hosted};
#[cfg(feature = "_sqlx")]
use self::pool::PoolServer;
use crate::url::{StoreUrl, UrlError};
use crate::{StoreOptions, init, open};

/// Connects to a store, and spawns the driver on the current tokio runtime. The driver ends when
/// the last clone of the generators is dropped.
///
/// SQLite creates its file and tables. In MySQL and PostgreSQL the tables must exist: see
/// [`Connector::create_tables`].
///
/// # Errors
///
/// [`ConnectError`]. A store that could lose a reservation it acknowledged is refused: see
/// [`Connector::allow_weak`].
///
/// # Example
///
/// ```standalone_crate
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir_in(".")?;
/// # std::env::set_current_dir(&folder)?;
/// let ids = leafid_stores::connect("sqlite:ids.db").await?;
/// let orders = ids.ensure_tag("order").await?;
/// assert_eq!(orders.next().await?.get(), 1);
/// # Ok(()) })
/// # }
/// ```
pub async fn connect(url: &str) -> Result<Generators, ConnectError> {
    Connector::new(url).spawn().await
}

/// Connects to a store with settings of your own.
///
/// # Example
///
/// ```standalone_crate
/// use std::time::Duration;
/// use leafid::{Options, store::TagSettings};
/// use leafid_stores::Connector;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir_in(".")?;
/// # std::env::set_current_dir(&folder)?;
/// let ids = Connector::new("sqlite:ids.db")
///     .create_missing(TagSettings::default()) // a tag is created on first use
///     .spawn()
///     .await?;
/// assert_eq!(ids.next("order").await?.get(), 1);
/// # Ok(()) })
/// # }
/// ```
#[must_use = "a connector does nothing until `spawn`, `spawn_thread` or `build` is called"]
pub struct Connector {
    source: Source,
    options: Options,
    store_options: StoreOptions,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    creates_tables: bool,
}

/// What a connector connects to.
#[derive(Debug)]
enum Source {
    Url(Result<StoreUrl, UrlError>),
    #[cfg(feature = "_sqlx")]
    Pool(PoolServer),
}

impl Connector {
    /// Connects to the store at this URL. [`StoreUrl`] describes the schemes; a malformed URL is
    /// an error once the connection is made.
    pub fn new(url: &str) -> Self {
        Self::of(Source::Url(url.parse()))
    }

    /// Connects to the PostgreSQL database of this pool (sqlx 0.9): same server, user, password,
    /// TLS, `search_path` and other `options`.
    ///
    /// The pool lends no connection: the store opens up to
    /// [`connections_max`](StoreOptions::connections_max) of its own, checks each as it checks
    /// those of a URL, and gives its transactions their own settings. So an id never depends on a
    /// transaction of yours, nor on a free connection of the pool. Hooks such as `after_connect`
    /// do not run. What `set_connect_options` changes later is not noticed. Only a URL can list
    /// several servers.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use leafid_stores::Connector;
    /// use sqlx::PgPool;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = PgPool::connect("postgres://shop:secret@db/shop").await?;
    /// let ids = Connector::from_pg_pool(&pool).create_tables(true).spawn().await?;
    /// let orders = ids.ensure_tag("order").await?;
    ///
    /// let mut transaction = pool.begin().await?;
    /// sqlx::query("INSERT INTO orders (id) VALUES ($1)")
    ///     .bind(i64::from(orders.next().await?))
    ///     .execute(&mut *transaction)
    ///     .await?;
    /// transaction.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "postgres")]
    pub fn from_pg_pool(pool: &sqlx::PgPool) -> Self {
        let server = pool.connect_options().as_ref().clone();
        Self::of(Source::Pool(PoolServer::Postgres(Box::new(server))))
    }

    /// Connects to the MySQL or MariaDB database of this pool (sqlx 0.9): same server, user,
    /// password and TLS. Character set, time zone and SQL mode are the store's own.
    ///
    /// The pool lends no connection: the store opens up to
    /// [`connections_max`](StoreOptions::connections_max) of its own, checks each as it checks
    /// those of a URL, and sets their session itself. So an id never depends on a transaction of
    /// yours, nor on a free connection of the pool. Hooks such as `after_connect` do not run. What
    /// `set_connect_options` changes later is not noticed. Only a URL can list several servers.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use leafid_stores::Connector;
    /// use sqlx::MySqlPool;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = MySqlPool::connect("mysql://shop:secret@db/shop").await?;
    /// let ids = Connector::from_mysql_pool(&pool).create_tables(true).spawn().await?;
    /// let order = ids.ensure_tag("order").await?.next().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "mysql")]
    pub fn from_mysql_pool(pool: &sqlx::MySqlPool) -> Self {
        let server = pool.connect_options().as_ref().clone();
        Self::of(Source::Pool(PoolServer::Mysql(Box::new(server))))
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            options: Options::default(),
            store_options: StoreOptions::default(),
            clock: Arc::new(SystemClock::new()),
            observer: Arc::new(()),
            creates_tables: false,
        }
    }

    /// Creates a tag on its first use, with these settings. Without it an unknown tag is refused,
    /// so that a misspelt name does not become a tag.
    pub fn create_missing(mut self, settings: TagSettings) -> Self {
        self.options.create_missing = Some(settings);
        self
    }

    /// Sets how ids are issued and supplied, [`create_missing`](Self::create_missing) included.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets the bounds of the store: connections and timeouts.
    pub fn store_options(mut self, options: StoreOptions) -> Self {
        self.store_options = options;
        self
    }

    /// Uses another clock than the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Reports events to this observer, for logs, metrics and alarms.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Uses a store although one of its settings can lose a reservation that it acknowledged:
    /// **ids can then come twice**. For tests.
    pub fn allow_weak(mut self, allow: bool) -> Self {
        self.store_options.allow_weak = allow;
        self
    }

    /// Creates the tables that are missing, as [`init`] does. The user of the URL needs the right
    /// to create tables. SQLite always creates them.
    pub fn create_tables(mut self, create: bool) -> Self {
        self.creates_tables = create;
        self
    }

    /// Connects, and spawns the driver on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    pub async fn spawn(self) -> Result<Generators, ConnectError> {
        let (generators, driver) = self.build().await?;
        tokio::spawn(driver);
        Ok(generators)
    }

    /// Connects, and runs driver and store on a thread of their own, for programs without a
    /// runtime. Waits on this thread. The thread ends when the last clone of the generators is
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    ///
    /// # Example
    ///
    /// See [`blocking::connect`](crate::blocking::connect).
    pub fn spawn_thread(self) -> Result<Generators, ConnectError> {
        let host = Host::start().map_err(ConnectError::Thread)?;
        let handle = host.handle();
        let store = leafid::blocking::block_on(host.run(Box::pin(self.open())))?;
        let (generators, driver) = self.generators(Hosted::new(store, host));
        handle.spawn(driver);
        Ok(generators)
    }

    /// Connects, and returns the generators with their driver, for you to place. Both must run
    /// inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    ///
    /// # Example
    ///
    /// ```standalone_crate
    /// use leafid_stores::Connector;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let folder = tempfile::tempdir_in(".")?;
    /// # std::env::set_current_dir(&folder)?;
    /// let (ids, driver) = Connector::new("sqlite:ids.db").build().await?;
    /// let driver = tokio::spawn(driver);
    /// ids.ensure_tag("order").await?.next().await?;
    /// ids.stop();
    /// driver.await?;
    /// # Ok(()) })
    /// # }
    /// ```
    pub async fn build(self) -> Result<(Generators, Driver), ConnectError> {
        let store = self.open().await?;
        Ok(self.generators(store))
    }

    /// Opens the store, and refuses one that could lose what it acknowledges.
    async fn open(&self) -> Result<Arc<dyn SegmentStore>, ConnectError> {
        Handle::try_current().map_err(|_| ConnectError::NoRuntime)?;
        let store = match &self.source {
            Source::Url(url) => {
                let url = url.as_ref().map_err(Clone::clone)?;
                if self.creates_tables {
                    init(url, &self.store_options).await?;
                }
                open(url, &self.store_options).await?
            }
            #[cfg(feature = "_sqlx")]
            Source::Pool(pool) => pool.open(&self.store_options, self.creates_tables).await?,
        };
        let report = store.inspect().await?;
        self.store_options.check_durability(report)?;
        Ok(store)
    }

    fn generators(self, store: impl SegmentStore) -> (Generators, Driver) {
        let Self {
            options,
            clock,
            observer,
            ..
        } = self;
        Generators::open_with(Arc::new(store), clock, observer, options)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("source", &self.source)
            .field("options", &self.options)
            .field("store_options", &self.store_options)
            .finish_non_exhaustive()
    }
}
