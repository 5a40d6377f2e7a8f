//! Stores for Leafid: SQLite, MySQL and MariaDB, PostgreSQL; Redis, etcd and ZooKeeper for worker
//! ids.
//!
//! [`open`] turns a [`StoreUrl`] into a [`SegmentStore`], [`open_leases`] into a [`LeaseStore`];
//! [`init`] creates the tables. A store here translates between the contract and one database; it
//! does not retry, cache or log.
//!
//! # Features
//!
//! Each makes the URL schemes of one store or registry known, brings its driver, and changes
//! nothing else. All are on by default. Without any there is [`FileJournal`].
//!
//! | feature | what it brings | crates with it alone |
//! | --- | --- | --- |
//! | `sqlite` | `sqlite:` by rusqlite, with SQLite itself | 37 |
//! | `mysql` | `mysql://`, `mariadb://` by sqlx, and worker ids of Baidu's table | 128 |
//! | `postgres` | `postgres://`, `postgresql://` by sqlx | 126 |
//! | `redis` | `redis://`, for worker ids | 81 |
//! | `etcd` | `etcd://`, for worker ids | 93 |
//! | `zookeeper` | `zookeeper://`, for worker ids | 111 |
//! | `tls` | TLS to servers by rustls: `rediss://`, `etcd+https://`, `ssl-mode`, `sslmode` | |
//!
//! Names that begin with `_` are what several of these share, and may change.
//!
//! One program holds one copy of SQLite. Any rusqlite from 0.39 to 0.41 is shared, and so is sqlx
//! 0.9 with its feature `sqlite`, beside which Cargo chooses rusqlite 0.39.
//!
//! # Example
//!
//! ```
//! use leafid::store::{Reserve, TagSpec};
//! use leafid::{Limit, Tag};
//! use leafid_stores::{StoreOptions, StoreUrl, open};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let text = format!("sqlite:{}/leafid.db", folder.path().display());
//! let url: StoreUrl = text.parse()?;
//! let store = open(&url, &StoreOptions::default()).await?;
//! let tag = Tag::new("order")?;
//! store.create(&TagSpec::new(tag.clone())).await?;
//! let reserve = Reserve { tag, count: 1000, floor: None, margin: 0, limit: Limit::INT64, is_longest: false };
//! assert_eq!(store.reserve(&reserve).await?.segment.to_string(), "[1, 1001)");
//! # Ok(()) })
//! # }
//! ```

#[cfg(feature = "_store")]
mod url;

#[cfg(feature = "_store")]
mod lease_options;

#[cfg(feature = "_store")]
mod timeout;

#[cfg(feature = "_sql")]
mod backend;
#[cfg(feature = "_sql")]
mod store;

#[cfg(any(feature = "_sqlx", feature = "etcd"))]
mod fail_over;

#[cfg(any(feature = "_sql", feature = "redis"))]
mod durability;

#[cfg(any(feature = "_url", feature = "zookeeper"))]
mod transport;

#[cfg(feature = "_sqlx")]
mod identity_check;

#[cfg(feature = "_sql")]
mod pool;

mod private;

mod read;

#[cfg(feature = "_sql")]
mod schema;

#[cfg(feature = "_sql")]
mod sql;
#[cfg(feature = "_sql")]
mod sql_error;

#[cfg(feature = "_sql")]
mod tags;

#[cfg(feature = "_sqlx")]
mod servers;

#[cfg(feature = "_sql")]
mod row;

#[cfg(feature = "_sql")]
mod leases;

#[cfg(feature = "_sql")]
mod audit;

mod journal;

#[cfg(feature = "sqlite")]
mod backup;

#[cfg(feature = "mysql")]
pub mod baidu;

#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "mysql")]
mod mysql;

#[cfg(feature = "postgres")]
mod postgres;

#[cfg(feature = "_registry")]
mod call;

#[cfg(feature = "_dial")]
mod dial;

#[cfg(feature = "_registry")]
mod lease_row;

#[cfg(feature = "redis")]
mod redis;

#[cfg(feature = "etcd")]
mod etcd;

#[cfg(feature = "zookeeper")]
mod zookeeper;

mod leaf_worker_file;

#[cfg(feature = "_sql")]
mod each;

#[cfg(feature = "_store")]
mod options;

#[cfg(feature = "_store")]
mod remedies;

#[cfg(feature = "_sql")]
mod connector;

#[cfg(feature = "_sql")]
pub mod blocking;

#[cfg(all(doctest, feature = "sqlite"))]
mod pages;

#[cfg(feature = "_store")]
use std::sync::Arc;

#[cfg(feature = "_sql")]
use leafid::store::SegmentStore;
#[cfg(feature = "_store")]
use leafid::store::{LeaseStore, StoreError};

#[cfg(feature = "_sql")]
use crate::leases::SqlLeases;
#[cfg(feature = "_sqlx")]
use crate::servers::Servers;
#[cfg(feature = "_sql")]
use crate::store::SqlStore;
#[cfg(feature = "_store")]
use crate::url::Place;

#[cfg(feature = "_sql")]
pub use crate::audit::{AuditRecord, AuditStore, open_audit};
#[cfg(feature = "sqlite")]
pub use crate::backup::{
    Knowledge, RaisedTag, RestoreOptions, RestoreReport, backup, checkpoint, restore,
};
#[cfg(feature = "_sql")]
pub use crate::connector::{ConnectError, Connector, connect};
#[cfg(feature = "_sql")]
pub use crate::each::open_each;
pub use crate::journal::FileJournal;
pub use crate::leaf_worker_file::leaf_worker_file;
#[cfg(feature = "_store")]
pub use crate::lease_options::{LeaseOptions, POOL_LEN_MAX};
#[cfg(feature = "_store")]
pub use crate::options::StoreOptions;
pub use crate::read::{FILE_LEN_MAX, read_file, read_text};
#[cfg(feature = "_store")]
pub use crate::remedies::Remedies;
#[cfg(feature = "_store")]
pub use crate::url::{StoreUrl, UrlError, known_schemes};

/// Opens a store.
///
/// SQLite opens its file, and creates it with its folder and tables when they are missing. A
/// server is not contacted before the first call, so that a program can start while its database
/// is down; the first call then says so.
///
/// # Errors
///
/// [`StoreError::Unavailable`] when the SQLite file cannot be opened or made.
///
/// # Example
///
/// ```
/// use leafid_stores::{StoreOptions, open};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let store = open(&"mysql://leaf:secret@127.0.0.1:1/leaf".parse()?, &StoreOptions::default()).await?;
/// let error = store.inspect().await.unwrap_err();
/// assert!(error.is_retryable());
/// # Ok(()) })
/// # }
/// ```
#[cfg(feature = "_sql")]
pub async fn open(
    url: &StoreUrl,
    options: &StoreOptions,
) -> Result<Arc<dyn SegmentStore>, StoreError> {
    Ok(match url.place() {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => {
            let store = SqlStore::new(sqlite::Sqlite::new(path, options), url, options);
            store.warm_up().await?;
            Arc::new(store)
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => Arc::new(SqlStore::new(
            Servers::new(mysql::Mysql::STORE, servers, options),
            url,
            options,
        )),
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => Arc::new(SqlStore::new(
            Servers::new(postgres::Postgres, servers, options),
            url,
            options,
        )),
        #[cfg(feature = "redis")]
        Place::Redis(_) => return Err(leases_only("redis")),
        #[cfg(feature = "etcd")]
        Place::Etcd(_) => return Err(leases_only("etcd")),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(_) => return Err(leases_only("zookeeper")),
    })
}

#[cfg(all(feature = "_sql", feature = "_registry"))]
fn leases_only(product: &str) -> StoreError {
    StoreError::Unsupported {
        message: format!(
            "{product} is known as a registry of worker ids only; keep segments in sqlite, mysql or postgres"
        ),
    }
}

/// Opens a registry of worker ids.
///
/// As [`open`], this contacts no server before the first call. On MySQL and PostgreSQL
/// [`bind`](LeaseStore::bind) creates the tables of the registry if `leaf_alloc` is in the
/// database and they are not; in any other database [`init`] has to run first.
///
/// # Errors
///
/// [`StoreError::Unsupported`] when the pool has no such name; [`StoreError::Unavailable`] when the
/// SQLite file cannot be opened or made.
///
/// # Example
///
/// ```
/// use leafid_stores::{LeaseOptions, StoreOptions, open_leases};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let text = format!("sqlite:{}/leafid.db", folder.path().display());
/// # let url = text.parse()?;
/// let registry = open_leases(&url, &LeaseOptions::new("shop"), &StoreOptions::default()).await?;
/// assert_eq!(registry.bind("leaf").await?, "leaf");
/// assert!(registry.leases().await?.is_empty());
/// # Ok(()) })
/// # }
/// ```
#[cfg(feature = "_store")]
pub async fn open_leases(
    url: &StoreUrl,
    lease_options: &LeaseOptions,
    options: &StoreOptions,
) -> Result<Arc<dyn LeaseStore>, StoreError> {
    let pool = lease_options.checked_pool()?;
    Ok(match url.place() {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => {
            let leases = SqlLeases::new(sqlite::Sqlite::new(path, options), url, pool, options);
            leases.warm_up().await?;
            Arc::new(leases)
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => {
            let backend = Servers::new(mysql::Mysql::STORE, servers, options);
            Arc::new(SqlLeases::new(backend, url, pool, options))
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => {
            let backend = Servers::new(postgres::Postgres, servers, options);
            Arc::new(SqlLeases::new(backend, url, pool, options))
        }
        #[cfg(feature = "redis")]
        Place::Redis(server) => Arc::new(redis::RedisLeases::new(server, url, pool, options)),
        #[cfg(feature = "etcd")]
        Place::Etcd(servers) => Arc::new(etcd::EtcdLeases::new(servers, url, pool, options)),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(ensemble) => {
            let address = lease_options.address.as_deref();
            Arc::new(zookeeper::ZooKeeperLeases::new(
                ensemble, url, pool, address, options,
            ))
        }
    })
}

/// What whoever starts a server on this store should know first: that its file is not there yet,
/// or that it goes with the container it is in. Empty for stores that are no file.
///
/// # Example
///
/// ```
/// use leafid_stores::{StoreUrl, file_notes};
///
/// let notes = file_notes(&"sqlite:/nowhere/leafid.db".parse()?);
/// assert!(notes[0].starts_with("new store: the file /nowhere/leafid.db is missing"));
/// # Ok::<(), leafid_stores::UrlError>(())
/// ```
#[must_use]
#[cfg(feature = "_store")]
pub fn file_notes(url: &StoreUrl) -> Vec<String> {
    match url.place() {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => sqlite::file_notes(path),
        #[cfg(any(feature = "_url", feature = "zookeeper"))]
        _ => Vec::new(),
    }
}

/// What [`init`] did.
///
/// # Example
///
/// ```
/// use leafid_stores::InitReport;
///
/// let mut report = InitReport::default();
/// report.created.push("leafid_worker".into());
/// report.added.push("leafid_tag.segment_max".into());
/// report.found.extend(["leaf_alloc".into(), "leafid_tag".into()]);
/// assert_eq!(
///     report.to_string(),
///     "created leafid_worker; added leafid_tag.segment_max; found leaf_alloc, leafid_tag"
/// );
/// ```
#[cfg(feature = "_sql")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InitReport {
    /// Tables that were missing and are there now.
    pub created: Vec<String>,
    /// Columns that our own tables lacked, because an older version made them, and that are there
    /// now.
    pub added: Vec<String>,
    /// Tables that were there. Nothing else of them was changed.
    pub found: Vec<String>,
}

#[cfg(feature = "_sql")]
impl std::fmt::Display for InitReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            ("created", &self.created),
            ("added", &self.added),
            ("found", &self.found),
        ];
        let parts = parts.iter().filter(|(_, tables)| !tables.is_empty());
        let parts: Vec<String> = parts
            .map(|(verb, tables)| format!("{verb} {}", tables.join(", ")))
            .collect();
        f.write_str(&parts.join("; "))
    }
}

/// Creates the tables that are missing: Leaf's `leaf_alloc`, our own `leafid_tag`, those of a
/// registry of worker ids, `leafid_worker` and `leafid_pool`, and `leafid_audit`, which records
/// changes; and adds to `leafid_tag` the columns that an older version did not make. What exists is
/// left as it is. Servers may run meanwhile, also those of the older version.
///
/// # Errors
///
/// [`StoreError::Unavailable`] when the store cannot be reached or the user may not create
/// tables.
///
/// # Example
///
/// ```
/// use leafid_stores::{StoreOptions, init};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let text = format!("sqlite:{}/leafid.db", folder.path().display());
/// let report = init(&text.parse()?, &StoreOptions::default()).await?;
/// let tables = ["leaf_alloc", "leafid_tag", "leafid_worker", "leafid_pool", "leafid_audit"];
/// assert_eq!(report.created, tables);
/// # Ok(()) })
/// # }
/// ```
#[cfg(feature = "_sql")]
pub async fn init(url: &StoreUrl, options: &StoreOptions) -> Result<InitReport, StoreError> {
    // Nothing is reserved yet that could be lost.
    let allow_weak = true;
    let options = &StoreOptions {
        allow_weak,
        ..*options
    };
    match url.place() {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => {
            SqlStore::new(sqlite::Sqlite::new(path, options), url, options)
                .init()
                .await
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => {
            SqlStore::new(
                Servers::new(mysql::Mysql::STORE, servers, options),
                url,
                options,
            )
            .init()
            .await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => {
            SqlStore::new(
                Servers::new(postgres::Postgres, servers, options),
                url,
                options,
            )
            .init()
            .await
        }
        #[cfg(feature = "redis")]
        Place::Redis(_) => Err(leases_only("redis")),
        #[cfg(feature = "etcd")]
        Place::Etcd(_) => Err(leases_only("etcd")),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(_) => Err(leases_only("zookeeper")),
    }
}
