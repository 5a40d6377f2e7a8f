//! Worker ids as Baidu's uid-generator assigns them: each start inserts a row into the table
//! `WORKER_NODE`, and the row's number is the worker id.
//!
//! A number never repeats as long as the table keeps its rows ([`is_assigned`] checks that), so there
//! is nothing to renew or to give back; but each start uses one up. The caller checks whether a number
//! still fits the layout.

use leafid::store::StoreError;

use crate::backend::Backend as _;
use crate::mysql::Mysql;
use crate::schema::Shape;
use crate::servers::Servers;
use crate::sql::{Dialect, Work};
use crate::sql_error::CallError;
use crate::store::SqlStore;
use crate::url::Place;
use crate::{StoreOptions, StoreUrl};

/// The table. Baidu's own statement is the same without the two defaults, which MySQL 5.7 requires.
///
/// # Example
///
/// ```
/// assert!(leafid_stores::baidu::TABLE_SQL.contains("ID BIGINT NOT NULL AUTO_INCREMENT"));
/// ```
pub const TABLE_SQL: &str = "CREATE TABLE WORKER_NODE (\
    ID BIGINT NOT NULL AUTO_INCREMENT, HOST_NAME VARCHAR(64) NOT NULL, PORT VARCHAR(64) NOT NULL, \
    TYPE INT NOT NULL, LAUNCH_DATE DATE NOT NULL, \
    MODIFIED TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, \
    CREATED TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (ID)) ENGINE=InnoDB";

/// In characters, as the columns are declared.
const TEXT_LEN_MAX: usize = 64;

/// The row's description of the server that inserted it; for people only.
///
/// # Example
///
/// See [`assign`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerNode {
    /// The host, up to 64 characters.
    pub host: String,
    /// The port of a container, or any text that distinguishes starts on one host, up to 64
    /// characters. Baidu writes `MILLISECONDS-RANDOM`.
    pub port: String,
    /// Where the server runs.
    pub kind: WorkerKind,
}

/// Where a server runs, by the numbers of the column `TYPE`.
///
/// # Example
///
/// ```
/// use leafid_stores::baidu::WorkerKind;
///
/// assert_eq!(WorkerKind::Container as i32, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerKind {
    /// In a container.
    Container = 1,
    /// On a machine of its own, real or virtual.
    Actual = 2,
}

/// Inserts a row and returns its number, which is 1 or more. **Unique** in the table.
///
/// # Errors
///
/// [`StoreError::Unsupported`] if the store is not MySQL or MariaDB, has no such table, or a text
/// is too long; [`StoreError::Unavailable`] if the store cannot be used now, or the outcome is
/// unknown: then a number may be used up.
///
/// # Example
///
/// ```no_run
/// use leafid_stores::StoreOptions;
/// use leafid_stores::baidu::{WorkerKind, WorkerNode, assign};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let url = "mysql://uid:secret@db1:3306/uid".parse()?;
/// let node = WorkerNode {
///     host: "10.0.0.5".into(),
///     port: "1900000000000-4711".into(),
///     kind: WorkerKind::Actual,
/// };
/// let worker = assign(&url, &node, &StoreOptions::default()).await?;
/// println!("worker id {worker}");
/// # Ok(()) })
/// # }
/// ```
pub async fn assign(
    url: &StoreUrl,
    node: &WorkerNode,
    options: &StoreOptions,
) -> Result<u64, StoreError> {
    let texts = [&node.host, &node.port];
    if texts.iter().any(|text| text.chars().count() > TEXT_LEN_MAX) {
        return Err(unsupported(format!(
            "host and port of a row in WORKER_NODE have at most {TEXT_LEN_MAX} characters each"
        )));
    }
    let store = open(url, options)?;
    let insert = async {
        let mut pooled = store.pool.take().await?;
        let backend = store.pool.backend();
        let answer = backend.assign(&mut pooled.connection, node).await;
        pooled.give_back(answer)
    };
    store
        .bounded(|| "insert a row into WORKER_NODE".into(), insert)
        .await
}

/// Whether the row with this number is still the one that [`assign`] inserted. Where the table was
/// emptied, or restored from an older copy, its numbers are given again: then another server may
/// have the same worker id, and this one must issue no more.
///
/// # Errors
///
/// As [`assign`]; nothing is known of the row then.
///
/// # Example
///
/// ```no_run
/// use leafid_stores::StoreOptions;
/// use leafid_stores::baidu::{WorkerNode, assign, is_assigned};
///
/// # async fn example(node: WorkerNode) -> Result<(), Box<dyn std::error::Error>> {
/// let (url, options) = ("mysql://uid:secret@db1:3306/uid".parse()?, StoreOptions::default());
/// let worker = assign(&url, &node, &options).await?;
/// assert!(is_assigned(&url, worker, &node, &options).await?);
/// # Ok(()) }
/// ```
pub async fn is_assigned(
    url: &StoreUrl,
    number: u64,
    node: &WorkerNode,
    options: &StoreOptions,
) -> Result<bool, StoreError> {
    AssignedRow::new(url, number, node, options)?
        .is_there()
        .await
}

/// The row that [`assign`] inserted, to be looked at again and again over a connection that is kept.
///
/// A connection older than [`StoreOptions::connection_age_max`] is replaced in the background: it
/// may lead to a server that is no longer the one that assigns numbers.
///
/// # Example
///
/// ```no_run
/// use leafid_stores::StoreOptions;
/// use leafid_stores::baidu::{AssignedRow, WorkerNode, assign};
///
/// # async fn example(node: WorkerNode) -> Result<(), Box<dyn std::error::Error>> {
/// let (url, options) = ("mysql://uid:secret@db1:3306/uid".parse()?, StoreOptions::default());
/// let worker = assign(&url, &node, &options).await?;
/// let row = AssignedRow::new(&url, worker, &node, &options)?;
/// assert!(row.is_there().await?);
/// # Ok(()) }
/// ```
pub struct AssignedRow {
    store: SqlStore<Servers<Mysql>>,
    number: u64,
    node: WorkerNode,
}

impl AssignedRow {
    /// The row with this number. Connects at the first look.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unsupported`] if the store is not MySQL or MariaDB.
    ///
    /// # Example
    ///
    /// See [`AssignedRow`].
    pub fn new(
        url: &StoreUrl,
        number: u64,
        node: &WorkerNode,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            store: open(url, options)?,
            number,
            node: node.clone(),
        })
    }

    /// As [`is_assigned`]; `false` also if the database is another one than before. Looks may
    /// overlap. Each waits for up to [`StoreOptions::look_timeout`] for its answer, and longer by
    /// [`StoreOptions::statement_timeout`] if it has to make a connection first.
    ///
    /// # Errors
    ///
    /// As [`assign`]; nothing is known of the row then.
    ///
    /// # Example
    ///
    /// See [`AssignedRow`].
    pub async fn is_there(&self) -> Result<bool, StoreError> {
        let what = || "look at a row of WORKER_NODE".into();
        let row = Assigned {
            number: self.number,
            node: self.node.clone(),
        };
        match self.store.look(what, row).await {
            Err(_) if self.store.pool.backend().refusal().is_some() => Ok(false),
            answer => answer,
        }
    }

    /// Whether the database has the table in which worker ids are leased: servers with other kinds
    /// of worker ids may use it, and know nothing of rows in `WORKER_NODE`.
    ///
    /// # Errors
    ///
    /// As [`assign`]; also for a user without the right to SELECT from `leafid_worker`, who is told
    /// the same whether the table exists or not.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use leafid_stores::baidu::AssignedRow;
    ///
    /// # async fn example(row: AssignedRow) -> Result<(), Box<dyn std::error::Error>> {
    /// assert!(!row.has_leases().await?);
    /// # Ok(()) }
    /// ```
    pub async fn has_leases(&self) -> Result<bool, StoreError> {
        let what = || "look for the table leafid_worker".into();
        self.store.look(what, LeaseTable).await
    }
}

impl std::fmt::Debug for AssignedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AssignedRow")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Whether the row with a number is the one of a node.
struct Assigned {
    number: u64,
    node: WorkerNode,
}

impl Work for Assigned {
    type Answer = bool;

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<bool, CallError> {
        let Self { number, node } = self;
        // The table has no greater ones.
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let sql = "SELECT 1 FROM WORKER_NODE WHERE ID = ? AND HOST_NAME = ? AND PORT = ?";
        let values = [
            number.into(),
            node.host.as_str().into(),
            node.port.as_str().into(),
        ];
        Ok(connection.row(sql, &values).await?.is_some())
    }
}

/// Whether the database has the table of leases.
struct LeaseTable;

impl Work for LeaseTable {
    type Answer = bool;

    async fn run<D: Dialect>(self, connection: &mut D, _: Shape) -> Result<bool, CallError> {
        let row = connection.row("SELECT 1 FROM leafid_worker LIMIT 1", &[]);
        match row.await {
            Ok(_) => Ok(true),
            Err(error) if D::is_no_table(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn open(url: &StoreUrl, options: &StoreOptions) -> Result<SqlStore<Servers<Mysql>>, StoreError> {
    match url.place() {
        Place::Mysql(servers) | Place::GearKey { servers, .. } => {
            let backend = Servers::new(Mysql::WORKER_NODE, servers, options);
            Ok(SqlStore::new(backend, url, options))
        }
        #[allow(unreachable_patterns, reason = "in a build with MySQL alone")]
        _ => Err(unsupported(format!(
            "{url} has no table WORKER_NODE, which is in MySQL or MariaDB only: take worker ids \
            from the registry of this store instead"
        ))),
    }
}

fn unsupported(message: String) -> StoreError {
    StoreError::Unsupported { message }
}
