//! Opens the store or the registry behind a URL.

use std::sync::Arc;

#[cfg(feature = "_sql")]
use leafid::store::SegmentStore;
use leafid::store::{LeaseStore, StoreError};

#[cfg(feature = "_sql")]
use crate::leases::SqlLeases;
#[cfg(feature = "_sqlx")]
use crate::servers::Servers;
#[cfg(feature = "_sql")]
use crate::store::SqlStore;
use crate::url::{Place, StoreUrl};
use crate::{LeaseOptions, StoreOptions};

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
            let store = SqlStore::new(crate::sqlite::Sqlite::new(path, options), url, options);
            store.warm_up().await?;
            Arc::new(store)
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => Arc::new(SqlStore::new(
            Servers::new(crate::mysql::Mysql::STORE, servers, options),
            url,
            options,
        )),
        #[cfg(feature = "mysql")]
        Place::GearKey { servers, zone } => {
            let backend = Servers::new(crate::mysql::Mysql::GEAR_KEY, servers, options);
            let sql = SqlStore::new(backend, url, options);
            Arc::new(crate::gear_key::GearKeyStore::new(
                sql,
                zone.as_deref(),
                options,
            ))
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => Arc::new(SqlStore::new(
            Servers::new(crate::postgres::Postgres, servers, options),
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
pub(crate) fn leases_only(product: &str) -> StoreError {
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
/// database and they are not; in any other database [`init`](crate::init()) has to run first.
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
pub async fn open_leases(
    url: &StoreUrl,
    lease_options: &LeaseOptions,
    options: &StoreOptions,
) -> Result<Arc<dyn LeaseStore>, StoreError> {
    let pool = lease_options.checked_pool()?;
    Ok(match url.place() {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => {
            let leases = SqlLeases::new(
                crate::sqlite::Sqlite::new(path, options),
                url,
                pool,
                options,
            );
            leases.warm_up().await?;
            Arc::new(leases)
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) | Place::GearKey { servers, .. } => {
            let backend = Servers::new(crate::mysql::Mysql::STORE, servers, options);
            Arc::new(SqlLeases::new(backend, url, pool, options))
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => {
            let backend = Servers::new(crate::postgres::Postgres, servers, options);
            Arc::new(SqlLeases::new(backend, url, pool, options))
        }
        #[cfg(feature = "redis")]
        Place::Redis(server) => crate::redis::RedisLeases::new(server, url, pool, options),
        #[cfg(feature = "etcd")]
        Place::Etcd(servers) => crate::etcd::EtcdLeases::new(servers, url, pool, options),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(ensemble) => {
            let address = lease_options.address.as_deref();
            crate::zookeeper::ZooKeeperLeases::new(ensemble, url, pool, address, options)
        }
    })
}
