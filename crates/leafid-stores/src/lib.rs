//! Stores for Leafid: SQLite, MySQL and MariaDB, PostgreSQL; Redis, etcd and ZooKeeper for worker
//! ids.
//!
//! [`open`] turns a [`StoreUrl`] into a [`SegmentStore`](leafid::store::SegmentStore), [`open_leases`] into a [`LeaseStore`](leafid::store::LeaseStore);
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
pub mod gear_key;

#[cfg(feature = "mysql")]
mod mysql;

#[cfg(feature = "postgres")]
mod postgres;

#[cfg(feature = "_registry")]
mod call;
#[cfg(feature = "_registry")]
mod kept_connection;

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

#[cfg(feature = "_store")]
mod open;

#[cfg(feature = "_sql")]
mod init;

#[cfg(feature = "_sql")]
mod connector;

#[cfg(feature = "_sql")]
pub mod blocking;

#[cfg(all(doctest, feature = "sqlite"))]
mod pages;

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
#[cfg(feature = "_sql")]
pub use crate::init::{InitReport, init};
pub use crate::journal::FileJournal;
pub use crate::leaf_worker_file::leaf_worker_file;
#[cfg(feature = "_store")]
pub use crate::lease_options::{LeaseOptions, POOL_LEN_MAX};
#[cfg(feature = "_sql")]
pub use crate::open::open;
#[cfg(feature = "_store")]
pub use crate::open::open_leases;
#[cfg(feature = "_store")]
pub use crate::options::{OnBadRow, StoreOptions};
pub use crate::read::{FILE_LEN_MAX, read_file, read_text};
#[cfg(feature = "_store")]
pub use crate::remedies::Remedies;
#[cfg(feature = "_store")]
pub use crate::url::{StoreUrl, UrlError, known_schemes};

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
        url::Place::Sqlite(path) => sqlite::file_notes(path),
        #[cfg(any(feature = "_url", feature = "zookeeper"))]
        _ => Vec::new(),
    }
}
