//! Creates the tables of a SQL store.

use leafid::store::StoreError;

use crate::StoreOptions;
#[cfg(feature = "_registry")]
use crate::open::leases_only;
#[cfg(feature = "_sqlx")]
use crate::servers::Servers;
use crate::store::SqlStore;
use crate::url::{Place, StoreUrl};

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
            let backend = crate::sqlite::Sqlite::new(path, options);
            SqlStore::new(backend, url, options).init().await
        }
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => {
            let backend = Servers::new(crate::mysql::Mysql::STORE, servers, options);
            SqlStore::new(backend, url, options).init().await
        }
        #[cfg(feature = "mysql")]
        Place::GearKey { servers, .. } => {
            let backend = Servers::new(crate::mysql::Mysql::GEAR_KEY, servers, options);
            SqlStore::new(backend, url, options).init().await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => {
            let backend = Servers::new(crate::postgres::Postgres, servers, options);
            SqlStore::new(backend, url, options).init().await
        }
        #[cfg(feature = "redis")]
        Place::Redis(_) => Err(leases_only("redis")),
        #[cfg(feature = "etcd")]
        Place::Etcd(_) => Err(leases_only("etcd")),
        #[cfg(feature = "zookeeper")]
        Place::ZooKeeper(_) => Err(leases_only("zookeeper")),
    }
}
