//! PostgreSQL.

use leafid_stores::{StoreOptions, init};
use leafid_testbed::{Database, shared_postgres};

use crate::{check_conforms, url_of};

async fn initialised() -> Database {
    let database = shared_postgres().create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    database
}

/// Guards the contract.
#[test]
fn postgres_conforms() {
    check_conforms(|| async { initialised().await.url });
}
