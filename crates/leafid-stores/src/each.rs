//! Opens each server of a list separately.

use std::sync::Arc;

use leafid::store::{SegmentStore, StoreError};

#[cfg(feature = "mysql")]
use crate::gear_key::GearKeyStore;
#[cfg(feature = "mysql")]
use crate::mysql::Mysql;
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;
#[cfg(feature = "_sqlx")]
use crate::servers::Servers;
#[cfg(feature = "_sqlx")]
use crate::store::SqlStore;
#[cfg(feature = "_sqlx")]
use crate::url::Place;
use crate::url::StoreUrl;
use crate::{StoreOptions, open};

/// Opens each server of a list as a store of its own, in the order in which they are tried, with
/// its URL: to check them all, where [`open`] uses the first that works. Each must meet the
/// requirements of a server with a fail-over partner. A store that is not a list is the only one.
/// # Errors
///
/// As [`open`].
///
/// # Example
///
/// ```
/// use leafid_stores::{StoreOptions, open_each};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let list = "mysql://leaf@db1:3306,db2:3306/leaf".parse()?;
/// let each = open_each(&list, &StoreOptions::default()).await?;
/// let urls: Vec<String> = each.iter().map(|(url, _)| url.to_string()).collect();
/// assert_eq!(urls, ["mysql://leaf@db1:3306/leaf", "mysql://leaf@db2:3306/leaf"]);
/// # Ok(()) })
/// # }
/// ```
pub async fn open_each(
    url: &StoreUrl,
    options: &StoreOptions,
) -> Result<Vec<(StoreUrl, Arc<dyn SegmentStore>)>, StoreError> {
    #[cfg(feature = "_sqlx")]
    {
        let each = url.each();
        if each.len() > 1 {
            let stores = each.into_iter().flat_map(|one| listed(&one, options));
            return Ok(stores.collect());
        }
    }
    Ok(vec![(url.clone(), open(url, options).await?)])
}

#[cfg(feature = "_sqlx")]
fn listed(one: &StoreUrl, options: &StoreOptions) -> Vec<(StoreUrl, Arc<dyn SegmentStore>)> {
    let stores: Vec<Arc<dyn SegmentStore>> = match one.place() {
        #[cfg(feature = "mysql")]
        Place::Mysql(servers) => servers
            .iter()
            .map(|server| Servers::listed(Mysql::STORE, server, options))
            .map(|backend| Arc::new(SqlStore::new(backend, one, options)) as _)
            .collect(),
        #[cfg(feature = "mysql")]
        Place::GearKey { servers, zone } => servers
            .iter()
            .map(|server| Servers::listed(Mysql::GEAR_KEY, server, options))
            .map(|backend| SqlStore::new(backend, one, options))
            .map(|sql| Arc::new(GearKeyStore::new(sql, zone.as_deref(), options)) as _)
            .collect(),
        #[cfg(feature = "postgres")]
        Place::Postgres(servers) => servers
            .iter()
            .map(|server| Servers::listed(Postgres, server, options))
            .map(|backend| Arc::new(SqlStore::new(backend, one, options)) as _)
            .collect(),
        #[cfg(any(feature = "sqlite", feature = "_registry"))]
        _ => Vec::new(),
    };
    stores
        .into_iter()
        .map(|store| (one.clone(), store))
        .collect()
}
