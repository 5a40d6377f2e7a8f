//! Ids beside a pool of sqlx: where the pool leads, but never on its connections.

use std::time::Duration;

use leafid::{ErrorKind, Generators};
use leafid_stores::{ConnectError, Connector, connect};
use leafid_testbed::{shared_mariadb, shared_postgres};
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::sql_at;

fn pg_pool(options: PgConnectOptions) -> PgPool {
    let one = PgPoolOptions::new().max_connections(1);
    one.acquire_timeout(Duration::from_secs(30))
        .connect_lazy_with(options)
}

fn mysql_pool(options: MySqlConnectOptions) -> MySqlPool {
    let one = MySqlPoolOptions::new().max_connections(1);
    one.acquire_timeout(Duration::from_secs(30))
        .connect_lazy_with(options)
}

/// Takes ids of more than one segment, and answers the last.
async fn last_of_many(ids: &Generators) -> u64 {
    let orders = ids.ensure_tag("order").await.unwrap();
    let taken = orders.next_many(2500).await.unwrap();
    taken.ids().last().unwrap().get()
}

/// Guards that ids are reserved outside a transaction of the program, which holds the only
/// connection of its pool: rolling it back gives none of them back.
macro_rules! check_beside_a_transaction {
    ($pool:expr, $url:expr, $connector:expr) => {{
        let pool = $pool;
        let ids = $connector(&pool).create_tables(true).spawn().await.unwrap();
        let transaction = pool.begin().await.unwrap();
        let last = last_of_many(&ids).await;
        transaction.rollback().await.unwrap();
        let others = connect($url).await.unwrap();
        let next = others.next("order").await.unwrap().get();
        assert!(next > last, "{next} after {last}");
    }};
}

#[tokio::test]
async fn a_transaction_of_the_program_holds_no_ids() {
    let url = &shared_postgres().create_database().url;
    let pool = pg_pool(url.parse().unwrap());
    check_beside_a_transaction!(pool, url, Connector::from_pg_pool);
    let url = &shared_mariadb().create_database().url;
    let pool = mysql_pool(url.parse().unwrap());
    check_beside_a_transaction!(pool, url, Connector::from_mysql_pool);
}

/// Guards that a pool whose session differs from ours changes no name of a tag.
#[tokio::test]
async fn a_session_of_mysql_is_our_own() {
    let url = &shared_mariadb().create_database().url;
    let options: MySqlConnectOptions = url.parse().unwrap();
    let options = options
        .charset("latin1")
        .collation("latin1_swedish_ci")
        .timezone("+05:00".to_owned());
    let connector = Connector::from_mysql_pool(&mysql_pool(options));
    let ids = connector.create_tables(true).spawn().await.unwrap();
    ids.ensure_tag("订单 é").await.unwrap();
    let others = connect(url).await.unwrap();
    assert_eq!(others.next("订单 é").await.unwrap().get(), 1);
}

/// Guards that the schema of a pool is used, and its transaction settings are not.
#[tokio::test]
async fn a_search_path_of_postgres_is_used() {
    let url = &shared_postgres().create_database().url;
    sql_at(url, "CREATE SCHEMA shop".into()).await;
    let options: PgConnectOptions = url.parse().unwrap();
    let options = options.options([
        ("search_path", "shop"),
        ("default_transaction_isolation", "serializable"),
        ("synchronous_commit", "off"),
    ]);
    let connector = Connector::from_pg_pool(&pg_pool(options));
    let ids = connector.create_tables(true).spawn().await.unwrap();
    last_of_many(&ids).await;
    sql_at(url, "UPDATE shop.leaf_alloc SET step = 1000".into()).await;
}

/// Guards that a pool is held to what a URL is.
#[tokio::test]
async fn a_weak_store_is_refused() {
    let url = &shared_postgres().create_database().url;
    let pool = pg_pool(url.parse().unwrap());
    let connector = || Connector::from_pg_pool(&pool).create_tables(true);
    connector().spawn().await.unwrap();
    sql_at(url, "ALTER TABLE leaf_alloc SET UNLOGGED".into()).await;
    let error = connector().spawn().await.unwrap_err();
    let ConnectError::Store(store) = &error else {
        panic!("{error:?}");
    };
    assert!(store.weak_store().is_some(), "{error}");
    connector().allow_weak(true).spawn().await.unwrap();
}

/// Guards that a pool without a database is a mistake that is told, and that no text has the
/// password.
#[tokio::test]
async fn mistakes_are_told() {
    let url = "mysql://shop:s3cret@127.0.0.1:1";
    let connector = || Connector::from_mysql_pool(&mysql_pool(url.parse().unwrap()));
    let error = connector().spawn().await.unwrap_err();
    assert!(matches!(error, ConnectError::NoDatabase), "{error}");
    let url = "postgres://shop:s3cret@127.0.0.1:1/shop";
    let connector = Connector::from_pg_pool(&pg_pool(url.parse().unwrap()));
    assert!(!format!("{connector:?}").contains("s3cret"));
    let error = connector.spawn().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreDown);
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("shop@127.0.0.1:1/shop") && !shown.contains("s3cret"),
        "{shown}"
    );
}
