//! Whether a reservation could succeed: what a probe detects, and which server of a list is used.

use leafid::store::StoreError;
use leafid_stores::{Remedies, StoreOptions, init};
use leafid_testbed::{LEAF_ALLOC_SURROGATE, MariaDb, shared_mariadb, shared_postgres};
use sqlx::Connection as _;

use crate::{chain, create, open_at, open_with, take, url_of, wish};

async fn init_at(url: &str) {
    init(&url_of(url), &StoreOptions::default()).await.unwrap();
}

/// Why the store cannot be used.
async fn refusal(url: &str) -> String {
    chain(&open_at(url).await.probe().await.unwrap_err())
}

/// Guards that a Galera node which is not part of its cluster, and answers all but reads and writes
/// of tables, is skipped for the next server, which is named; and used again later.
#[tokio::test]
async fn a_galera_node_without_its_cluster_is_passed_over() {
    let galera = MariaDb::start_galera();
    let (first, second) = (galera.create_database(), shared_mariadb().create_database());
    init_at(&first.url).await;
    init_at(&second.url).await;
    create(&*open_at(&first.url).await, "order").await;
    create(&*open_at(&second.url).await, "order").await;
    let used = open_at(&first.url).await;
    let at_first = format!("mysql://leafid@127.0.0.1:{}/{}", galera.port(), first.name);
    assert_eq!(used.probe().await.unwrap(), at_first);

    galera.leave_cluster();
    // The node cuts its connections, so that this finds nothing but their end.
    assert!(used.probe().await.is_err());
    let error = refusal(&first.url).await;
    assert!(
        error.contains("Galera") && error.contains(&at_first),
        "{error}"
    );
    // The second one lacks what the first one committed.
    let options = StoreOptions::default().with_allow_weak(true);
    let both = open_with(&format!("{},{}", first.url, second.url), options).await;
    let port = shared_mariadb().port();
    let at_second = format!("mysql://leafid@127.0.0.1:{port}/{}", second.name);
    assert_eq!(both.probe().await.unwrap(), at_second);
    assert_eq!(take(&*both, "order", 10).await.start(), 1);

    galera.form_cluster();
    assert_eq!(used.probe().await.unwrap(), at_first);
    assert_eq!(take(&*used, "order", 10).await.start(), 1);
}

/// Guards that a database without the tables is no store, and that what makes it one is named: a
/// function, or the command of a program that has one.
#[tokio::test]
async fn an_empty_database_cannot_be_used() {
    let (mysql, postgres) = (shared_mariadb(), shared_postgres());
    for (database, at) in [
        (
            mysql.create_database(),
            format!("mysql://leafid@127.0.0.1:{}", mysql.port()),
        ),
        (
            postgres.create_database(),
            format!("postgres://leafid@127.0.0.1:{}", postgres.port()),
        ),
    ] {
        let store = open_at(&database.url).await;
        let error = chain(&store.probe().await.unwrap_err());
        assert!(error.contains("call leafid_stores::init"), "{error}");
        let remedies = Remedies::default().with_init("run `leafid store init --store {store}`");
        let options = StoreOptions::default().with_remedies(remedies);
        let server = open_with(&database.url, options).await;
        let error = chain(&server.probe().await.unwrap_err());
        let command = format!("run `leafid store init --store {at}/{}`", database.name);
        assert!(error.contains(&command), "{command} is not in: {error}");
        assert!(!error.contains("s3cret"), "{error}");
        init_at(&database.url).await;
        assert!(store.probe().await.is_ok(), "at once, without a new start");
    }
}

/// Guards that a probe detects what a read does not: a server that became a replica, and a missing
/// privilege.
#[tokio::test]
async fn a_probe_asks_for_all_that_a_reservation_needs() {
    let server = MariaDb::start();
    let database = server.create_database();
    init_at(&database.url).await;
    let store = open_at(&database.url).await;
    create(&*store, "order").await;
    server.sql("mysql", "SET GLOBAL read_only = 1");
    assert!(store.list(None, 1).await.is_ok());
    let error = chain(&store.probe().await.unwrap_err());
    assert!(error.contains("read-only"), "{error}");
    let error = refusal(&database.url).await;
    assert!(error.contains("read_only is on"), "{error}");
    server.sql("mysql", "SET GLOBAL read_only = 0");
    assert!(store.probe().await.is_ok());

    let name = &database.name;
    let sql = format!("CREATE USER r@'%' IDENTIFIED BY 'r'; GRANT SELECT ON {name}.* TO r@'%'");
    server.sql("mysql", &sql);
    let error = refusal(&format!("mysql://r:r@127.0.0.1:{}/{name}", server.port())).await;
    assert!(error.contains("grant SELECT, INSERT, UPDATE"), "{error}");
}

/// Guards that a caller that loses a deadlock gets a conflict, that nothing was changed, and that
/// the store is well; a real one, over the two keys of Leaf's variant of the table.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_a_conflict() {
    // A database of its own, in which only this test waits.
    let server = MariaDb::start();
    let database = server.create_database();
    let insert = "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 10)";
    server.sql(&database.name, &format!("{LEAF_ALLOC_SURROGATE}; {insert}"));
    let store = open_at(&database.url).await;
    assert_eq!(take(&*store, "order", 10).await.end(), 11);
    let mut other = sqlx::MySqlConnection::connect(&database.url).await.unwrap();
    let lock_row = "START TRANSACTION; UPDATE leaf_alloc SET step = step + 1 WHERE id = 1";
    sqlx::raw_sql(lock_row).execute(&mut other).await.unwrap();
    // It locks the name's key, and waits for the row.
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.reserve(&wish("order", 10)).await }
    });
    let waits = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    while server.sql("mysql", waits) == "0" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let lock_key = "SELECT id FROM leaf_alloc WHERE biz_tag = 'order' FOR UPDATE; COMMIT";
    sqlx::raw_sql(lock_key).execute(&mut other).await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    assert!(error.is_retryable());
    assert_eq!(
        take(&*store, "order", 10).await.start(),
        11,
        "nothing was changed"
    );
}
