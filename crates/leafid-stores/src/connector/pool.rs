//! Where a pool of sqlx connects to. The store connects there itself, so that no id is ever
//! reserved inside a transaction of the program.

use std::fmt;
use std::sync::Arc;

use leafid::store::SegmentStore;
#[cfg(feature = "mysql")]
use sqlx::mysql::MySqlConnectOptions;
#[cfg(feature = "postgres")]
use sqlx::postgres::PgConnectOptions;

#[cfg(feature = "mysql")]
use crate::mysql::Mysql;
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;
use crate::servers::{Product, Servers};
use crate::store::SqlStore;
use crate::{ConnectError, StoreOptions};

/// How the server of a pool is reached.
pub(super) enum PoolServer {
    #[cfg(feature = "mysql")]
    Mysql(Box<MySqlConnectOptions>),
    #[cfg(feature = "postgres")]
    Postgres(Box<PgConnectOptions>),
}

impl PoolServer {
    pub(super) async fn open(
        &self,
        options: &StoreOptions,
        creates_tables: bool,
    ) -> Result<Arc<dyn SegmentStore>, ConnectError> {
        match self {
            #[cfg(feature = "mysql")]
            Self::Mysql(server) if server.get_database().is_none() => Err(ConnectError::NoDatabase),
            #[cfg(feature = "mysql")]
            Self::Mysql(server) => open_at(Mysql::STORE, server, options, creates_tables).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => open_at(Postgres, server, options, creates_tables).await,
        }
    }
}

async fn open_at<P: Product>(
    product: P,
    server: &P::Options,
    options: &StoreOptions,
    creates_tables: bool,
) -> Result<Arc<dyn SegmentStore>, ConnectError> {
    let store = |options: &StoreOptions| {
        let backend = Servers::of_pool(product, server, options);
        SqlStore::at(backend, P::name(server), options)
    };
    if creates_tables {
        let allow_weak = true; // nothing is reserved yet that could be lost
        let options = StoreOptions {
            allow_weak,
            ..*options
        };
        store(&options).init().await?;
    }
    Ok(Arc::new(store(options)))
}

/// Never shows the password.
impl fmt::Debug for PoolServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            #[cfg(feature = "mysql")]
            Self::Mysql(server) => Mysql::name(server),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => Postgres::name(server),
        })
    }
}
