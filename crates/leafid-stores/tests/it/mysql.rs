//! MariaDB, on our own table and on both variants of Leaf's.

use leafid_stores::{StoreOptions, init};
use leafid_testbed::{Database, LEAF_ALLOC, LEAF_ALLOC_SURROGATE, MariaDb, shared_mariadb};

use crate::{check_conforms, url_of};

async fn initialised() -> Database {
    let database = shared_mariadb().create_database();
    init(&url_of(&database.url), &StoreOptions::default())
        .await
        .unwrap();
    database
}

/// A database that has Leaf's table and nothing else.
fn with_table(server: &MariaDb, table: &str) -> Database {
    let database = server.create_database();
    server.sql(&database.name, table);
    database
}

/// Guards the contract on the tables that `leafid store init` makes.
#[test]
fn mysql_conforms() {
    check_conforms(|| async { initialised().await.url });
}

/// Guards the contract on Leaf's own table beside ours.
#[test]
fn mysql_conforms_on_leafs_table() {
    check_conforms(|| async {
        let database = with_table(shared_mariadb(), LEAF_ALLOC);
        init(&url_of(&database.url), &StoreOptions::default())
            .await
            .unwrap();
        database.url
    });
}

/// Guards the contract on the variant with a surrogate key, beside ours.
#[test]
fn mysql_conforms_on_the_variant() {
    check_conforms(|| async {
        let database = with_table(shared_mariadb(), LEAF_ALLOC_SURROGATE);
        init(&url_of(&database.url), &StoreOptions::default())
            .await
            .unwrap();
        database.url
    });
}
